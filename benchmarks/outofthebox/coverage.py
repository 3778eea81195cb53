"""How often 90% intervals hold what is true, on the problems of the comparison, with everything learned."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.outofthebox.ours import told
from benchmarks.outofthebox.problems import PROBLEMS
from benchmarks.outofthebox.report import save
from benchmarks.outofthebox.trial import SHIFT, STRETCH
from ostinato import Optimizer
from ostinato.experiments.trial import Measurements
from ostinato.problems import Problem, load

MEASUREMENTS, LEVEL, Z90 = 200, 0.9, 1.645


def coverage(seeds: int, path: Path) -> Iterator[str]:
    """Run, write a table, and say each row."""
    rows: list[dict[str, object]] = []
    for name in PROBLEMS:
        problem = load(name)
        shares = np.mean([covered(problem, name, seed) for seed in range(seeds)], axis=0)
        row: dict[str, object] = {"problem": name, "seeds": seeds}
        row |= {what: f"{share:.3f}" for what, share in zip(("all", "measured", "best"), shares, strict=True)}
        rows.append(row)
        yield ", ".join(f"{key} {value}" for key, value in row.items())
    save(path, rows)


def covered(problem: Problem, name: str, seed: int) -> tuple[float, float, float]:
    """The share of intervals that hold the truth: of all candidates, of those measured, and of the best one."""
    opt = Optimizer(problem.candidates, budget=MEASUREMENTS, seed=seed, **told(name))
    measure, seen = Measurements(problem, seed), set[int]()
    while opt.steps < MEASUREMENTS:
        batch = opt.ask(limit=MEASUREMENTS - opt.steps)
        seen.add(batch.index)
        opt.tell(batch, SHIFT + STRETCH * measure(batch.index, batch.repeats))
    truth = SHIFT + STRETCH * problem.truth
    prediction, best = opt.predict(), opt.best(LEVEL)
    inside = np.abs(truth - prediction.mean) <= Z90 * prediction.std
    low, high = best.interval
    return float(np.mean(inside)), float(np.mean(inside[list(seen)])), float(low <= truth[best.index] <= high)
