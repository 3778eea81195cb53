"""Noise that depends on the mean: of yes or no, counts and amounts.

The noise of a measurement is φ V(μ), V being the outcome's own (`outcomes.py`). μ at a measured candidate is what the
model makes of it, and not its own average: an average that is low by chance would otherwise count for more than one
that is high by chance. Candidates never measured have the noise of the middle of all.

Zero of twenty does not mean without noise: after n measurements μ is kept off the bounds by 1/(n + 2) of the way from
them to the middle of all.
"""

from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.measurements.outcomes import Outcome
from ostinato.measurements.tally import Tally

WEIGHT_CAP = 20.0  # measurements of one candidate beyond which it counts no more in the middle of all
ADDED = 1.0  # successes and failures that are added to all, so that the middle is never at a bound
ALIKE = 1.0  # of what means differ by where logits or logarithms differ by 1: less than that they are not taken to
LEAST = 1e-12  # of the largest value: amounts below count as that


class MeanDependentNoise:
    """The noise of an outcome as a function of the mean, and what was measured of it."""

    def __init__(self, outcome: Outcome, sign: int, tally: Tally) -> None:
        self._outcome, self._sign = outcome, sign
        self.numbers: NDArray[np.int64] = tally.numbers
        self._n: Vector = np.array([statistics.n for _, statistics in tally], dtype=np.float64)
        self._averages: Vector = sign * np.array([statistics.mean for _, statistics in tally], dtype=np.float64)
        self.middle = self._middle()

    @property
    def noise(self) -> float:
        """V at the middle of all."""
        return float(self._outcome.variance(np.array([self.middle]))[0])

    def relative(self, means: Vector, stds: Vector) -> Vector:
        """V at the measured candidates over that of the middle, where their means (in the run's own sign) are these.

        Of means a standard deviation to either side the one with more noise: what looks best at a bound is lucky.
        """
        if not np.any(self._averages):
            return np.ones(len(means))
        apart = 1 / (self._n + 2)
        low = self._outcome.low + (self.middle - self._outcome.low) * apart
        bounded = isfinite(self._outcome.high)
        high = self._outcome.high - (self._outcome.high - self.middle) * apart if bounded else inf
        plausible = [np.clip(self._sign * means + off * stds, low, high) for off in (-1, 0, 1)]
        return np.max([self._outcome.variance(each) for each in plausible], axis=0) / self.noise

    def initial_means(self) -> Vector:
        """Means before anything is fitted: averages drawn to the middle, as far as noise explains their spread."""
        share = self._n / (self._n + self.noise / self.spread**2)
        return self._sign * (self.middle + share * (self._averages - self.middle))

    @property
    def spread(self) -> float:
        """How far true values seem to differ: the variance of averages less that of their noise."""
        beyond = float(np.var(self._averages)) - self.noise * float(np.mean(1 / self._n))
        return max(beyond, (ALIKE * self._outcome.scale(self.middle)) ** 2) ** 0.5

    def _middle(self) -> float:
        weights = np.minimum(self._n, WEIGHT_CAP)
        added = ADDED if self._outcome.whole else 0.0
        bounded = isfinite(self._outcome.high)
        middle = (float(weights @ self._averages) + added) / (float(np.sum(weights)) + 2 * ADDED * bounded)
        return max(middle, LEAST * float(np.max(self._averages)), np.finfo(np.float64).tiny ** 0.25)
