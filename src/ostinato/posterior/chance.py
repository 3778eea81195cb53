"""The probability that no candidate is better than a given one."""

from math import sqrt
from typing import Any, cast

import numpy as np
from numpy.random import Generator
from scipy.special import ndtr

from ostinato.posterior.draws import square_root
from ostinato.posterior.exact import Posterior

DRAWS = 4_096
RIVALS = 2_048  # candidates, at most, that are weighed jointly
UNLIKELY = 1e-5  # chance of being better below which a candidate is no rival
NO_GAP = 1e-24  # variance of a difference, in units of the prior's, that counts as none
EQUAL = 1e-7  # difference of values, in units of their size, that counts as none: roots of singular matrices err by it


def chance_of_being_best(posterior: Posterior, number: int, rng: Generator) -> float:
    """P(f(x) ≤ f(candidate) for all x): by joint draws at its likeliest rivals; all others count as independent."""
    mean, variance = posterior.over_candidates()
    gap2 = variance + variance[number] - 2 * posterior.covariance_with(number)
    gap = np.sqrt(np.maximum(gap2, NO_GAP * (posterior.kappa2 or 1.0)))
    better = cast("Any", ndtr)((mean - mean[number]) / gap)
    better[number] = 2.0  # the first of its own list
    order: Any = np.argsort(-better, kind="stable")
    count = min(RIVALS, int(np.count_nonzero(better > UNLIKELY)))
    rivals, others = order[:count], order[count:]
    root = square_root(posterior.covariance(posterior.features[rivals]))
    draws = mean[rivals] + np.matmul(rng.standard_normal((DRAWS, count)), root.T)
    equal = EQUAL * (sqrt(posterior.kappa2) + float(np.max(np.abs(mean))))
    best = np.count_nonzero(draws[:, 0] >= np.max(draws, axis=1) - equal)
    return float(best) / DRAWS * float(np.exp(np.sum(np.log1p(-better[others]))))
