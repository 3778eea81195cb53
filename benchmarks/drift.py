"""Customers who change: what `half_life=3000` earns when the optimum moves, and what it costs where nothing moves.

200 items in two columns with three peaks; every measurement has the noise of two fifths of what values range over, or
is a click. After 10,000 events the peaks are others. `goal="earn"`, nothing tuned, ten seeds; the last 2,000 of the
next 10,000 events are compared with what the best item would have brought.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track

from benchmarks.problem import Row
from ostinato import Optimizer

ITEMS, EVENTS, LAST, SEEDS, HALF_LIFE = 200, 10_000, 2_000, 10, 3_000


def run(console: Console) -> Iterator[Row]:
    for outcome in ("real", "binary"):
        moved, still = {}, {}
        for half_life in (None, HALF_LIFE):
            seeds = track(range(SEEDS), f"{outcome}, half_life={half_life}", console=console, transient=True)
            runs = [
                (_earned(seed, outcome, half_life, True), _earned(seed, outcome, half_life, False)) for seed in seeds
            ]
            moved[half_life] = np.array([each[0][0] for each in runs])
            still[half_life] = np.array([each[1][1] for each in runs])
        after = moved[HALF_LIFE]
        yield Row(
            f"{outcome}: earned after the optimum moved, on average and in the worst seed",
            f"{after.mean():.1%}, {after.min():.1%}",
            "≥ 80%",
            bool(after.min() >= 0.8),
        )
        without = moved[None]
        yield Row(f"{outcome}: the same without a half-life", f"{without.mean():.1%}, {without.min():.1%}", "", None)
        cost = 1 - still[HALF_LIFE].mean() / still[None].mean()
        yield Row(f"{outcome}: what it costs where nothing moves", f"{cost:.1%}", "≤ 10%", bool(cost <= 0.1))


def _rates(X: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.float64]:
    heights = sum(rng.random() * np.exp(-np.sum((X - rng.random(2)) ** 2, axis=1) / 0.1) for _ in range(3))
    return 0.05 + 0.25 * np.argsort(np.argsort(heights)) / (ITEMS - 1)


def _earned(seed: int, outcome: str, half_life: int | None, moves: bool) -> tuple[float, float]:
    """What was shown at last, and all the time, as a share of the best."""
    rng = np.random.default_rng(seed)
    X = rng.random((ITEMS, 2))
    before = _rates(X, rng)
    after = _rates(X, rng) if moves else before
    opt = Optimizer(X, outcome=outcome, goal="earn", half_life=half_life, budget=2 * EVENTS, seed=seed)
    shown: list[float] = []
    while len(shown) < 2 * EVENTS:
        rates = before if len(shown) < EVENTS else after
        most = (EVENTS if len(shown) < EVENTS else 2 * EVENTS) - len(shown)
        batch = opt.ask(limit=most)
        rate = float(rates[batch.index])
        noise = (
            rng.random(batch.repeats) < rate if outcome == "binary" else rate + 0.1 * rng.standard_normal(batch.repeats)
        )
        opt.tell(batch, noise)
        shown += [rate] * batch.repeats
    return float(np.mean(shown[-LAST:])) / 0.3, float(np.mean(shown)) / 0.3
