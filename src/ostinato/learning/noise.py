"""Noise that differs between candidates, learned smoothly from the scatter of repeats.

ν + 1 repeats with squared deviations Q say of the candidate's log λ

    z = log(Q/ν) − (ψ(ν/2) − log(ν/2)),      with variance ψ₁(ν/2)

(the logarithm of a χ² variable over ν is biased, and its variance does not depend on λ). A Gaussian process on
these, with the length-scales learned for the values or multiples of them, gives every candidate a noise of its own,
measured or not.
"""

from typing import Any, cast

import numpy as np
from scipy.special import digamma, polygamma

from ostinato.arrays import Matrix, Vector
from ostinato.kernels import Kernel
from ostinato.measurements.tally import Tally

STRETCHES = (1.0, 2.0, 4.0)  # of the values' length-scales
AMPLITUDES = (0.25, 0.5, 1.0, 2.0)  # standard deviation of log λ
FURTHEST = 5.0  # log λ from its middle, at most
LEAST = 1e-6  # of the pooled noise: what repeats that do not differ at all count as
MIN_REPEATED = 4  # candidates with repeats from which noise may differ


class Scatter:
    """What the repeats of each candidate say of its log λ."""

    def __init__(self, tally: Tally) -> None:
        rows = [(candidate, *_within(tally, candidate)) for candidate, _ in tally]
        repeated = [(candidate, freedom, squares) for candidate, freedom, squares in rows if freedom > 0]
        self.candidates = np.array([candidate for candidate, _, _ in repeated], dtype=np.int64)
        self.freedom: Vector = np.array([freedom for _, freedom, _ in repeated], dtype=np.float64)
        self.squares: Vector = np.array([squares for _, _, squares in repeated], dtype=np.float64)
        self.pooled = float(self.squares.sum() / self.freedom.sum()) if len(repeated) else np.nan
        if self.pooled > 0:
            half = self.freedom / 2
            variance: Vector = np.maximum(self.squares / self.freedom, LEAST * self.pooled)
            bias: Vector = cast("Any", digamma)(half) - np.log(half)
            self.z: Vector = np.log(variance) - bias
            self.errors: Vector = cast("Any", polygamma)(1, half)


def _within(tally: Tally, candidate: int) -> tuple[float, float]:
    """Degrees of freedom and squared deviations of repeats within the candidate's groups."""
    groups = [group for group in tally.groups(candidate) if not group.known]
    return sum(group.freedom for group in groups), sum(group.squares for group in groups if group.freedom)


def relative_noise(kernels: list[Kernel], tally: Tally, features: Matrix) -> Vector:
    """λ(x) at all candidates over the pooled one: ones until enough candidates were repeated.

    `kernels` are those tried for log λ, of variance 1.
    """
    scatter = Scatter(tally)
    if len(scatter.candidates) < MIN_REPEATED or not scatter.pooled > 0:
        return np.ones(len(features))
    X = features[scatter.candidates]
    middle = float(np.average(scatter.z, weights=1 / scatter.errors))
    y: Vector = scatter.z - middle
    best: tuple[float, Kernel | None, float] = (_evidence(np.diag(scatter.errors), y), None, 0.0)
    for kernel in kernels:
        K = kernel(X, X)
        for amplitude in AMPLITUDES:
            value = _evidence(amplitude**2 * K + np.diag(scatter.errors), y)
            best = max(best, (value, kernel, amplitude), key=lambda each: each[0])
    _, kernel, amplitude = best
    if kernel is None:
        return np.ones(len(features))
    covariance: Matrix = amplitude**2 * kernel(X, X) + np.diag(scatter.errors)
    log_noise: Vector = amplitude**2 * (np.linalg.solve(covariance, y) @ kernel(X, features))
    return np.exp(np.clip(log_noise, -FURTHEST, FURTHEST)) * np.exp(middle) / scatter.pooled


def _evidence(K: Matrix, y: Vector) -> float:
    """log N(y | 0, K), without its constant."""
    L = np.linalg.cholesky(K)
    z = np.linalg.solve(L, y)
    return -0.5 * float(z @ z) - float(np.sum(np.log(np.diagonal(L))))
