"""Chances on small sets: 20 to 900 candidates of 1 to 3 columns, everything learned, nothing tuned.

Smooth hills, a few bumps, ridges and waves, on grids and scattered, at noise from 0.06 to 2 of the truth's standard
deviation. The constants of `calibration.py` were found on problems 0, 2, …, 32 (and the development set of
`benchmarks.outofthebox`); these are problems 100 to 123. Said is the chance that no candidate is better than the
recommended one, by anything or by more than some hundredths of the truth's standard deviation; happened is how often
it was so.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from benchmarks.problem import Row
from ostinato import Optimizer

PROBLEMS, SEEDS, LENGTHS, GOALS = range(100, 124), range(3), (30, 100, 300, 1_000), ("find", "earn")
GAPS = (0.01, 0.03, 0.1, 0.3)
OFF, HELD = 0.1, (0.85, 1.0)
FEW = 25  # claims in a tenth from which it is said


class Small(NamedTuple):
    """Candidates, the truth of each, and the standard deviation of the noise."""

    X: NDArray[np.float64]
    truth: NDArray[np.float64]
    noise: float


def small(number: int) -> Small:
    """A problem, by its number."""
    rng = np.random.default_rng(1000 + number)
    columns, kind = int(rng.integers(1, 4)), number % 4
    if rng.random() < 0.6:
        side = {1: int(rng.integers(12, 200)), 2: int(rng.integers(5, 30)), 3: int(rng.integers(3, 10))}[columns]
        axes = [np.linspace(0, 1, max(3, side + int(rng.integers(-2, 3)))) for _ in range(columns)]
        X = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, columns)
    else:
        X = rng.random((int(rng.integers(20, 600)), columns))
    centre = rng.random(columns) * 0.8 + 0.1
    truth = (_hill, _bumps, _ridges, _waves)[kind](X, centre, rng)
    return Small(X, truth, float(10 ** rng.uniform(-1.2, 0.3)) * float(np.std(truth)))


def _hill(X: NDArray[np.float64], centre: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    return -((X - centre) ** 2 * rng.uniform(0.3, 3, X.shape[1])).sum(1)


def _bumps(X: NDArray[np.float64], centre: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    each = []
    for _ in range(4):
        height, place = rng.uniform(0.4, 1), rng.random(X.shape[1])
        each.append(height * np.exp(-((X - place) ** 2).sum(1) / 2 / rng.uniform(0.08, 0.3) ** 2))
    return np.sum(each, axis=0)


def _ridges(X: NDArray[np.float64], centre: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    return -np.abs((X - centre) * rng.uniform(0.3, 2, X.shape[1])).sum(1)


def _waves(X: NDArray[np.float64], centre: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    each = [np.sin(X @ rng.normal(size=X.shape[1]) * rng.uniform(3, 9) + rng.uniform(0, 6)) for _ in range(3)]
    return np.sum(each, axis=0)


def run(console: Console) -> Iterator[Row]:
    jobs = [(p, s, n, goal) for p in PROBLEMS for s in SEEDS for n in LENGTHS for goal in GOALS]
    said: list[float] = []
    happened: list[bool] = []
    within: list[bool] = []
    for job in track(jobs, "runs", console=console, transient=True):
        claims, held = _claims(*job)
        said += [chance for chance, _ in claims]
        happened += [true for _, true in claims]
        within.append(held)
    chances, truths = np.array(said), np.array(happened)
    for low in np.arange(0, 1, 0.1):
        here = (chances >= low) & ((chances < low + 0.1) | (low > 0.85))
        if np.count_nonzero(here) >= FEW:
            one, other = float(chances[here].mean()), float(truths[here].mean())
            what = f"said {low:.1f} to {low + 0.1:.1f} ({np.count_nonzero(here)} claims)"
            yield Row(what, f"{one:.2f} said, {other:.2f} happened", f"within {OFF}", abs(one - other) <= OFF + 0.005)
    share = float(np.mean(within))
    wanted = f"{HELD[0]:.0%} to {HELD[1]:.0%}"
    yield Row("within … of the best with 90% probability: how often", f"{share:.0%}", wanted, HELD[0] <= share)


def _claims(number: int, seed: int, budget: int, goal: str) -> tuple[list[tuple[float, bool]], bool]:
    """What was said and whether it was so; and whether the recommended candidate is within what was said."""
    problem, rng = small(number), np.random.default_rng(seed)
    opt = Optimizer(problem.X, goal=goal, budget=budget, seed=seed)
    while opt.steps < budget:
        batch = opt.ask(limit=budget - opt.steps)
        opt.tell(batch, 40 + 7 * (problem.truth[batch.index] + problem.noise * rng.standard_normal(batch.repeats)))
    best, spread = opt.best(), float(np.std(problem.truth))
    short = float(np.max(problem.truth) - problem.truth[best.index])
    claims = [(best.chance, short <= 0.0)]
    claims += [(opt.chance_within(7 * gap * spread), short <= gap * spread) for gap in GAPS]
    return claims, 7 * short <= best.within * (1 + 1e-9)
