"""Hyper-parameters by penalised marginal likelihood: priors that keep them sane at 2 candidates as at 2,000.

In units where outcomes have standard deviation 1 and every column the range 1:

    log ℓ_j ~ N(log(√d/4), ¾²)     d columns: the more there are, the less each can matter alone; that a column does not
                                   matter (a long ℓ) takes evidence
    log s   ~ N(0, ½²)             the values' own spread says it nearly
    log λ   ~ N(−3, 1.5²)          vague; repeats overrule it as soon as there are some
    log τ²  ~ N(−3, 1.5²)          vague; returns overrule it
"""

from contextlib import suppress
from dataclasses import dataclass
from math import log
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.learning.likelihood import NO_SETUP, CovarianceAt, Point, log_likelihood
from ostinato.learning.sample import Sample

MAX_EVALUATIONS = 20  # evaluations of the likelihood in one fit
TOLERANCE = 0.01  # of the log-likelihood gained so far (or of 1): a step that gains less ends a fit
SLOPE = 0.01  # by any logarithm: where all are less, too
EPSILON = 2.0**-52  # in units of which L-BFGS-B takes a tolerance
RESTART_GAIN = 10.0  # a gain in log-likelihood after which a fit goes on from where it came, its tolerance set anew
LOWEST, HIGHEST = 1e-8, 1e3  # noise and set-ups, in units of the outcomes' variance
SHORTEST, LONGEST = 1e-2, 1e3  # length-scales, in units of the columns' range


@dataclass(frozen=True)
class Priors:
    """Normal priors of the logarithms: middles and widths, in the order of `Point.vector`. `least`: of log λ."""

    middle: Vector
    width: Vector
    least: float = log(LOWEST)

    @classmethod
    def of(cls, columns: int) -> "Priors":
        scales = np.full(columns, log(0.25 * np.sqrt(columns)))
        return cls(np.append(scales, [0.0, -3.0, -3.0]), np.append(np.full(columns, 0.75), [0.5, 1.5, 1.5]))

    def with_noise(self, middle: float, width: float, least: float | None) -> "Priors":
        """Another prior of log λ."""
        middles, widths = self.middle.copy(), self.width.copy()
        middles[-2], widths[-2] = middle, width
        return Priors(middles, widths, self.least if least is None else least)

    @property
    def start(self) -> Point:
        return Point.of(self.middle)

    @property
    def bounds(self) -> NDArray[np.float64]:
        scales = [(log(SHORTEST), log(LONGEST))] * (len(self.middle) - 3)
        highest = max(log(HIGHEST), self.least + 1)
        return np.array([*scales, (-3.0, 3.0), (self.least, highest), (log(LOWEST), log(HIGHEST))])

    def log_density(self, vector: Vector) -> tuple[float, Vector]:
        z = (vector - self.middle) / self.width
        return -0.5 * float(z @ z), -z / self.width


class _EvaluationsSpent(Exception):
    """The evaluations are spent."""


@dataclass(frozen=True)
class Fit:
    """What a fit came to: the point, its penalised log-likelihood and that of the start, and how many evaluations."""

    point: Point
    value: float
    first: float
    evaluations: int


def fit(
    kernel: CovarianceAt,
    sample: Sample,
    priors: Priors,
    start: Point,
    free: NDArray[np.bool_],
) -> Fit:
    """The most plausible hyper-parameters, from `start`; only those that are `free` move."""
    fixed = start.vector()
    best: tuple[float, Vector] = (-np.inf, fixed)
    first, base, evaluations = -np.inf, 0.0, 0

    def loss(moved: Vector) -> tuple[float, Vector]:
        nonlocal best, first, base, evaluations
        if evaluations == MAX_EVALUATIONS:
            raise _EvaluationsSpent
        evaluations += 1
        vector = fixed.copy()
        vector[free] = moved
        try:
            value, slope = log_likelihood(kernel, sample, Point.of(vector))
        except ArithmeticError:
            return 1e10, np.zeros_like(moved)
        penalty, pull = priors.log_density(np.where(np.isfinite(vector), vector, priors.middle))
        value += penalty
        first, base = (value, value) if evaluations == 1 else (first, base)
        if value > best[0]:
            best = value, vector
        return base - value, -(slope + pull)[free]  # from 0 on, so that the tolerance is one of gains

    if not free.any():
        return Fit(start, 0.0, 0.0, 0)
    from scipy.optimize import fmin_l_bfgs_b  # it takes a tenth of a second to import, and many commands fit nothing

    bounds = priors.bounds[free]
    with suppress(_EvaluationsSpent):
        while best[0] > base + RESTART_GAIN or evaluations == 0:
            base = max(best[0], base) if evaluations else 0.0
            cast("Any", fmin_l_bfgs_b)(loss, best[1][free], bounds=bounds, factr=TOLERANCE / EPSILON, pgtol=SLOPE)
    return Fit(Point.of(best[1]), best[0], first, evaluations)


def free(columns: int, *, kernel: bool, noise: bool, setup: bool) -> NDArray[np.bool_]:
    """Which of the hyper-parameters are learned."""
    return np.array([kernel] * (columns + 1) + [noise, setup])


__all__ = ["NO_SETUP", "Fit", "Priors", "fit", "free"]
