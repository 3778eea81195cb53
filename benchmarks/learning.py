"""What learning costs, and how right it is. One evaluation of the likelihood with its gradient against one Cholesky
factorisation of the same size (the floor is about 3: a factorisation, and an inverse of twice its cost); the
evaluations of a refit, and its share of a run's time. Then noise and 90% intervals after 200 measurements, on functions
drawn from the model.
"""

from collections.abc import Iterator
from time import perf_counter
from typing import Any, cast

import numpy as np
from rich.console import Console
from scipy.linalg.lapack import dpotrf

from benchmarks.problem import Row
from ostinato import Optimizer
from ostinato.kernels import Matern52
from ostinato.learning import Learner
from ostinato.learning.learner import EXTRA_START_UP_TO
from ostinato.learning.likelihood import NO_SETUP, Features, LearnedKernel, Point, log_likelihood
from ostinato.learning.sample import Sample
from ostinato.optimizer.knowledge import Knowledge
from ostinato.problems import load
from ostinato.problems.base import Problem

SEEDS = 40
MEASUREMENTS = 200


def run(console: Console) -> Iterator[Row]:
    with console.status("running …"):
        for q in (500, 1_000, 2_000):
            ratio = evaluation(q)
            wanted = q == 2_000
            yield Row(
                f"likelihood and gradient at q = {q:,}, 9 columns, against a Cholesky factorisation",
                f"{ratio:.1f} ×",
                "≤ 5 ×" if wanted else "",
                ratio <= 5 if wanted else None,
            )
        for name, steps in (("rosenbrock", 200), ("rosenbrock", 10_000), ("hpobench-phoneme", 2_000)):
            total, fits, models, most = shares(load(name), steps)
            yield Row(
                f"{name}, {steps:,} measurements in {total:.2f} s: fits, and fits with the models they make",
                f"{fits:.0%}, {models:.0%}",
                "< 25%" if steps > 200 else "",
                fits < 0.25 if steps > 200 else None,
            )
            yield Row(f"{name}: evaluations of a refit, at most", f"{most}", "≤ 20", most <= 20)
        noise, everywhere, best = accuracy()
        yield Row("noise off by, in the median", f"{np.median(noise):.1%}", "≤ 10%", bool(np.median(noise) <= 0.1))
        share = float(np.mean(noise <= 0.2))
        yield Row("runs with the noise off by 20% or less", f"{share:.0%}", "≥ 95%", share >= 0.95)
        covered = float(np.mean(everywhere))
        yield Row("90% intervals cover the truth, all candidates", f"{covered:.0%}", "85–95%", 0.85 <= covered <= 0.95)
        yield Row("90% intervals cover the truth, recommended candidate", f"{np.mean(best):.0%}", "", None)


def evaluation(q: int, columns: int = 9) -> float:
    rng = np.random.default_rng(0)
    kernel = LearnedKernel(Features(rng.random((q, columns)), np.arange(columns), columns), 1.0)
    sample = Sample(np.arange(q), np.full(q, 3.0), rng.standard_normal(q), np.ones(q), np.ones(q), np.zeros(q))
    point = Point(np.log(np.full(columns, 1.0)), 0.0, -1.0, NO_SETUP)
    K = kernel.matrix(point) + np.eye(q)
    evaluations, factorisations = [], []
    for _ in range(5):
        start = perf_counter()
        log_likelihood(kernel, sample, point)
        evaluations.append(perf_counter() - start)
        copy = np.asfortranarray(K)
        start = perf_counter()
        dpotrf(copy, lower=1, overwrite_a=1)
        factorisations.append(perf_counter() - start)
    return min(evaluations) / min(factorisations)


class Clock:
    """Counts the seconds of a method while it is in place."""

    def __init__(self, owner: type[Any], name: str) -> None:
        self.seconds, self._owner, self._name = 0.0, owner, name

    def __enter__(self) -> "Clock":
        self._method = getattr(self._owner, self._name)

        def timed(*args: Any) -> Any:
            start = perf_counter()
            try:
                return self._method(*args)
            finally:
                self.seconds += perf_counter() - start

        setattr(self._owner, self._name, timed)
        return self

    def __exit__(self, *_: object) -> None:
        setattr(self._owner, self._name, self._method)


def shares(problem: Problem, steps: int) -> tuple[float, float, float, int]:
    """Seconds of ask and tell, the shares of fits and of fits with their models, and the most evaluations of a fit."""
    opt, rng = Optimizer(problem.candidates, seed=0), np.random.default_rng(0)
    total, most = 0.0, 0
    with Clock(Learner, "learn") as fits, Clock(Knowledge, "learn") as models:
        while opt.steps < steps:
            before, few = (
                evaluations(opt),
                opt.unique <= EXTRA_START_UP_TO,
            )  # beyond, a fit starts from the last one alone
            start = perf_counter()
            batch = opt.ask(limit=steps - opt.steps)
            asked = perf_counter()
            values = problem.measure(batch.index, batch.repeats, rng)
            told = perf_counter()
            opt.tell(batch, values)
            total += asked - start + perf_counter() - told
            if not few:
                most = max(most, evaluations(opt) - before)
    if most == 0:
        raise AssertionError("No fit was seen: evaluations are not counted any more.")
    return total, fits.seconds / total, models.seconds / total, most


def evaluations(opt: Optimizer) -> int:
    """Of all fits so far; a decision learns in a learner of its own, which then becomes the optimiser's."""
    return cast("Learner", opt.core.known.learner).evaluations


def accuracy() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For functions drawn from the model's own priors: how far off the noise is, and whether intervals cover."""
    axis = np.linspace(0, 1, 20)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    rows = []
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        scales = np.clip(np.exp(rng.normal(np.log(0.5 * np.sqrt(2)), 1, 2)), 0.1, 5)
        noise = float(np.exp(rng.normal(-3, 1.5) / 2))
        root = np.linalg.cholesky(Matern52(tuple(scales))(grid, grid) + 1e-8 * np.eye(len(grid)))
        truth = 50 + 3 * (root @ rng.standard_normal(len(grid)))
        opt = Optimizer(grid, seed=seed)
        while opt.steps < MEASUREMENTS:
            batch = opt.ask(limit=MEASUREMENTS - opt.steps)
            opt.tell(batch, truth[batch.index] + 3 * noise * rng.standard_normal(batch.repeats))
        prediction, best = opt.predict(), opt.best(level=0.9)
        inside = np.mean(np.abs(truth - prediction.mean) <= 1.645 * prediction.std)
        low, high = best.interval
        rows.append((abs(opt.learned.noise_std[0] / (3 * noise) - 1), inside, low <= truth[best.index] <= high))
    off, inside, covered = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    return off, inside, covered
