"""BoTorch's LogEI with a lean arithmetic: the same decisions up to rounding, in a tenth of the time.

BoTorch itself draws the first points, picks where climbs start, climbs, and picks the best. Only the functions that are
climbed, and their slopes, are computed here.
"""

import warnings
from functools import cache
from typing import Any

import numpy as np
import torch
from botorch.generation.gen import _process_scipy_result
from botorch.optim import optimize_acqf
from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched
from threadpoolctl import ThreadpoolController

from benchmarks.continuous.contestants import RAW, RESTARTS, LogEI
from benchmarks.continuous.lean.botorch_fit import fitted
from benchmarks.continuous.lean.botorch_score import Posterior, Score
from benchmarks.outofthebox.rivals import INITIAL, refits
from ostinato.arrays import Matrix, Vector

CLIMB = {"maxiter": 2000}  # BoTorch's gen_candidates_scipy
LEAST = 1e-8  # a standard deviation by which BoTorch still divides


class LeanLogEI(LogEI):
    """The same method, start, limits and draws."""

    theta: Vector | None = None

    def fit(self) -> None:
        torch.manual_seed(len(self.y))
        X, y = np.array(self.X[: len(self.y)]), np.array(self.y)
        center, scale = np.mean(y), np.std(y, ddof=1)
        scale = scale if scale >= LEAST else 1.0
        with threads().limit(limits=1, user_api="blas"):
            if self.theta is None or refits(len(y)):
                self.theta = fitted(X, (y - center) / scale)
            self.model = Posterior(X, (y - center) / scale, center, scale, self.theta)

    def means(self) -> Vector:
        self.fit()
        return self.model.means(self.model.X)

    def chosen(self) -> Vector:
        if len(self.y) < INITIAL:
            return super().chosen()
        best = float(np.float32(np.max(self.means())))  # BoTorch keeps it in single precision
        self.score = Score(self.model, best)
        return searched(self.score, self.columns)


def searched(score: Score, columns: int) -> Vector:
    """BoTorch's optimize_acqf."""

    def values(X: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(score.values(X[:, 0].numpy()))

    box = torch.stack([torch.zeros(columns), torch.ones(columns)]).double()
    with warnings.catch_warnings(), threads().limit(limits=1, user_api="blas"):
        warnings.simplefilter("ignore")
        point, _ = optimize_acqf(
            values,
            box,
            q=1,
            num_restarts=RESTARTS,
            raw_samples=RAW,
            gen_candidates=lambda starts, *_, **__: climbed(score, starts),
        )
    return point.numpy().ravel()


def climbed(score: Score, starts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Where climbs end, and their values. A climb that fails warns, and BoTorch then begins again."""

    def down(X: Matrix, batch_indices: list[int]) -> tuple[Vector, Matrix]:
        value, slopes = score.climb(X)
        return -value, -slopes

    x0 = starts[:, 0].numpy()
    ends, _, results = fmin_l_bfgs_b_batched(
        down, x0, bounds=[(0.0, 1.0)] * x0.shape[1], pass_batch_indices=True, **CLIMB
    )
    for result in results:
        _process_scipy_result(result, CLIMB)
    ends = np.clip(ends, 0.0, 1.0)
    return torch.from_numpy(ends)[:, None], torch.from_numpy(score.values(ends))


@cache
def threads() -> Any:
    """One thread is faster for small matrices, and what BoTorch takes, too."""
    return ThreadpoolController()
