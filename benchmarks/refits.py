"""Whether fewer fits would do where candidates are very many: answers and processor time, rule against rule.

    python -m benchmarks.refits            2 seeds of each function among 30,000 candidates (five minutes of a core)
    python -m benchmarks.refits 4 100000   4 seeds among 100,000

The functions are those of the development set of `benchmarks/outofthebox`, on scattered candidates; 300 measurements.
Every rule is compared with today's, seed by seed.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import process_time
from typing import Any
from zlib import crc32

import numpy as np

from benchmarks import explain
from benchmarks.outofthebox import functions as f
from benchmarks.outofthebox.functions import Function
from benchmarks.outofthebox.ours import ours
from benchmarks.outofthebox.trial import Outcome, trial
from ostinato.arrays import Vector
from ostinato.errors import OstinatoWarning
from ostinato.learning import Learner, learner
from ostinato.optimizer.knowledge import Knowledge
from ostinato.problems import Gaussian, Problem
from ostinato.problems.base import standardised

SEEDS, CANDIDATES, STEPS, RESAMPLES = 2, 30_000, 300, 4_000
GOALS = ("find", "earn")
FUNCTIONS: dict[str, tuple[Function, int, float]] = {  # with columns, and noise in units of the function's spread
    "branin": (f.branin, 2, 0.3),
    "branin-loud": (f.branin, 2, 1.0),
    "two-peaks": (f.two_peaks, 2, 0.5),
    "hartmann3": (f.hartmann3, 3, 0.3),
    "hartmann6": (f.hartmann6, 6, 0.3),
    "hartmann6-loud": (f.hartmann6, 6, 1.0),
    "levy4": (f.levy, 4, 0.1),
    "rosenbrock4": (f.rosenbrock, 4, 0.5),
    "styblinski5-tiny": (f.styblinski, 5, 0.01),
    "cosines8-loud": (f.cosines, 8, 1.0),
    "sparse20": (f.sparse, 20, 0.5),
    "ackley4": (f.ackley, 4, 0.3),
    "michalewicz3": (f.michalewicz, 3, 0.5),
    "rastrigin4": (f.rastrigin, 4, 0.3),
    "schaffer-tiny": (f.schaffer, 2, 0.02),
    "easom": (f.easom, 2, 0.3),
    "stairs5": (f.stairs, 5, 0.5),
    "shekel4-loud": (f.shekel, 4, 1.0),
    "cliffs4": (f.cliffs, 4, 0.2),
}


@dataclass(frozen=True)
class Rule:
    """Growth of unique candidates from one fit to the next, after a fit of so many; and the gain worth a new model."""

    growth: Callable[[int], float]
    worth: float = learner.MIN_GAIN


TODAY, LATE, SELDOM = learner.GROWTH, 30, 2.0
RULES = {
    "today's": Rule(lambda unique: TODAY),
    "a new model for a gain of 1": Rule(lambda unique: TODAY, worth=1.0),
    f"growth of {SELDOM:g} from {LATE} on": Rule(lambda unique: TODAY if unique < LATE else SELDOM),
    f"growth of {SELDOM:g}": Rule(lambda unique: SELDOM),
}


class Ruled:
    """A rule in the place of today's, and how many rows of covariances are made anew after fits."""

    def __init__(self, rule: Rule) -> None:
        self.rows, self._rule, self._due, self._rebuild = 0, rule, Learner.due, Knowledge._rebuild

    def __enter__(self) -> "Ruled":
        def due(fitted: Any, tally: Any) -> bool:
            learner.GROWTH = self._rule.growth(fitted._at[0])  # pyright: ignore[reportConstantRedefinition]
            return self._due(fitted, tally)

        def rebuild(known: Any, model: Any, prior: Any, tally: Any) -> None:
            self.rows += len(tally) if model is not known.model else 0
            self._rebuild(known, model, prior, tally)

        Learner.due, Knowledge._rebuild = due, rebuild  # type: ignore[method-assign]
        learner.MIN_GAIN = self._rule.worth  # pyright: ignore[reportConstantRedefinition]
        return self

    def __exit__(self, *_: object) -> None:
        Learner.due, Knowledge._rebuild = self._due, self._rebuild  # type: ignore[method-assign]
        learner.GROWTH, learner.MIN_GAIN = TODAY, RULES["today's"].worth  # pyright: ignore[reportConstantRedefinition]


def problem(name: str, size: int) -> Problem:
    function, columns, noise = FUNCTIONS[name]
    X = np.random.default_rng(crc32(name.encode())).random((size, columns))
    return Problem(name, X, standardised(function(X)), Gaussian(noise))


def measured(of: Problem, goal: str, seed: int, rule: Rule) -> tuple[float, float, float, float]:
    """Recommended regret, measured regret, rows and seconds of one run."""
    outcome = Outcome(problem=of.name, optimizer=f"Ostinato {goal}", seed=seed, horizon=STEPS)
    with Ruled(rule) as ruled:
        start = process_time()
        trial(of, ours(outcome.optimizer, seed, STEPS, of), outcome)
        seconds = process_time() - start
    return outcome.recommended[-1], outcome.regret[-1], ruled.rows, seconds


def interval(differences: Vector) -> tuple[float, float]:
    drawn = np.random.default_rng(0).choice(differences, (RESAMPLES, len(differences))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def report(runs: dict[tuple[str, str], list[tuple[float, float, float, float]]]) -> None:
    for goal in GOALS:
        before = np.array(runs[goal, "today's"])
        print(f"{goal}, {len(before)} pairs; {before[:, 2].mean():.0f} rows a run, {before[:, 3].mean():.2f} s")
        for name in list(RULES)[1:]:
            now = np.array(runs[goal, name])
            rows, seconds = now[:, 2:].sum(axis=0) / before[:, 2:].sum(axis=0)
            print(f"  {name}: {rows:.2f} of the rows, {seconds:.2f} of the processor time")
            for column, what in enumerate(("recommended", "measured")):
                old, gap = before[:, column].mean(), now[:, column] - before[:, column]
                low, high = interval(gap)
                print(
                    f"    {what} regret {old:.3g} {gap.mean():+.3g} ({low:+.3g} to {high:+.3g}); "
                    f"worse in {np.mean(gap > 0):.0%}, better in {np.mean(gap < 0):.0%}"
                )


def main(seeds: int = SEEDS, size: int = CANDIDATES) -> None:
    warnings.simplefilter("ignore", OstinatoWarning)
    runs: dict[tuple[str, str], list[tuple[float, float, float, float]]] = {}
    for name in FUNCTIONS:
        of = problem(name, size)
        for goal in GOALS:
            for seed in range(seeds):
                for rule, each in RULES.items():
                    runs.setdefault((goal, rule), []).append(measured(of, goal, seed, each))
    report(runs)


if __name__ == "__main__":
    explain(__doc__)
    main(*map(int, sys.argv[1:]))
