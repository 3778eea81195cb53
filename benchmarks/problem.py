"""The problem all benchmarks share, and how a figure is reported.

The 22³ grid over [−5, 5]³, a Gaussian kernel of length-scale 2, noise of the prior's own size, β = 6.5, C = 1.1: much
exploration, so that several hundred different candidates are measured in 5,000 steps. The function is drawn from
the prior.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ostinato import Batch, MiniUCB, Optimizer
from ostinato.demo import grid
from ostinato.kernels import RBF
from ostinato.posterior.draws import prior_draw

STEPS = 5_000
C, BETA, NOISE_STD = 1.1, 6.5, 1.0
KERNEL = RBF(lengthscale=2.0, std=1.0)
SEED = 2


@dataclass(frozen=True)
class Row:
    """One figure, and what was wanted of it. `ok` is None where nothing was."""

    what: str
    measured: str
    wanted: str
    ok: bool | None


class Problem:
    """A function drawn from the prior on a grid, measured with seeded noise."""

    def __init__(self, side: int = 22, seed: int = SEED) -> None:
        self.X = grid(side)
        self._rng = np.random.default_rng(seed)
        self.truth = prior_draw(KERNEL, self.X)(self._rng).everywhere

    def measure(self, index: int, repeats: int) -> np.ndarray:
        return self.truth[index] + NOISE_STD * self._rng.standard_normal(repeats)

    def optimizer(self, *, as_grid: bool = True) -> Optimizer:
        """With `as_grid=False` the grid's structure is not used, as if the candidates were scattered."""
        return Optimizer(
            self.X,
            kernel=KERNEL,
            noise_std=NOISE_STD,
            policy=MiniUCB(C, BETA),
            seed=0,
            block_size=None if as_grid else len(self.X),
        )


def epochs_of(problem: Problem, opt: Optimizer, steps: int) -> Iterator[tuple[Batch, float]]:
    """Run to `steps` measurements; for every epoch its batch, and the seconds of ask and tell (not the function's)."""
    while opt.steps < steps:
        start = perf_counter()
        batch = opt.ask(limit=steps - opt.steps)
        asked = perf_counter() - start
        values = problem.measure(batch.index, batch.repeats)
        start = perf_counter()
        opt.tell(batch, values)
        yield batch, asked + perf_counter() - start
