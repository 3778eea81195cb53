"""A narrow peak that is higher than a broad one: how often the recommended candidate is as good as it is said to be.

A grid of 25 × 25 candidates with two peaks: a broad one of height 1 (standard deviation 0.25) and a narrow one of
height 1.3, at places drawn anew for each seed, at least 0.45 apart. Noise of a quarter, everything learned, nothing
tuned. Held is how often the best candidate was no better than the recommended one by more than `within`, which is
said to be so with 90% probability. What no measurement came near, no model can know: so nothing is wanted of
these figures.
"""

from collections.abc import Iterator

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.problem import Row
from ostinato import Optimizer

SIDE, BROAD, HIGHER, APART, NOISE = 25, 0.25, 1.3, 0.45, 0.25
WIDTHS, LENGTHS, SEEDS = (0.05, 0.1, 0.2), (60, 200), range(40)


def run(console: Console) -> Iterator[Row]:
    for width in WIDTHS:
        for budget in LENGTHS:
            jobs = track(SEEDS, f"{width}, {budget}", console=console, transient=True)
            held = sum(holds(width, budget, seed) for seed in jobs)
            yield Row(f"narrow peak {width} wide, {budget} measurements: held", f"{held} of {len(SEEDS)}", "", None)


def holds(width: float, budget: int, seed: int) -> bool:
    """Whether no candidate is better than the recommended one by more than was said."""
    rng = np.random.default_rng(seed)
    axis = np.linspace(0, 1, SIDE)
    X = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    broad, narrow = rng.uniform(0.1, 0.9, (2, 2))
    while np.linalg.norm(broad - narrow) < APART:
        broad, narrow = rng.uniform(0.1, 0.9, (2, 2))
    truth = _peak(X, broad, BROAD) + HIGHER * _peak(X, narrow, width)
    opt = Optimizer(X, budget=budget, seed=seed)
    while opt.steps < budget:
        batch = opt.ask(limit=budget - opt.steps)
        opt.tell(batch, truth[batch.index] + NOISE * rng.standard_normal(batch.repeats))
    best = opt.best()
    return float(truth.max() - truth[best.index]) <= best.within + 1e-9


def _peak(X: np.ndarray, place: np.ndarray, width: float) -> np.ndarray:
    return np.exp(-((X - place) ** 2).sum(1) / 2 / width**2)
