"""The probability that no candidate is better than a given one.

Joint draws at the candidates that may be better give it, where these are few. Where they are many, the likeliest
RIVALS/2 and a spread of the others are drawn, and the others' share is scaled up by how independent that spread is:
neighbours of a smooth function stand for each other, unrelated candidates do not.
"""

from typing import Any, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtr

from ostinato.arrays import Matrix
from ostinato.posterior.draws import square_root
from ostinato.posterior.exact import Posterior

DRAWS = 4_096
RIVALS = 1_024  # candidates, at most, that are drawn jointly
UNLIKELY = 1e-5  # chance of being better below which a candidate is no rival
NO_GAP = 1e-24  # variance of a difference, in units of the prior's, that counts as none
EQUAL = 1e-4  # difference of values, in units of their size, that counts as none: the roots' jitter is a tenth of it


def chance_of_being_best(posterior: Posterior, number: int, rng: Generator) -> float:
    """P(f(x) ≤ f(candidate) for all x)."""
    mean, variance = posterior.over_candidates()
    gap2 = variance + variance[number] - 2 * posterior.covariance_with(number)
    gap = np.sqrt(np.maximum(gap2, NO_GAP * (posterior.kappa2 or 1.0)))
    better = cast("Any", ndtr)((mean - mean[number]) / gap)
    better[number] = 2.0  # the first of its own list
    rivals: NDArray[np.int64] = np.argsort(-better, kind="stable")[: np.count_nonzero(better > UNLIKELY)]
    likely, rest = (rivals, rivals[:0]) if len(rivals) <= RIVALS else (rivals[: RIVALS // 2], rivals[RIVALS // 2 :])
    spread = rest[np.linspace(0, len(rest) - 1, RIVALS // 2).astype(int)] if len(rest) else rest
    drawn = np.concatenate([likely, spread])
    covariance = posterior.covariance(posterior.features[drawn])
    draws = mean[drawn] + np.matmul(rng.standard_normal((DRAWS, len(drawn))), square_root(covariance).T)
    equal = EQUAL * float(np.max(np.sqrt(variance[drawn]))) + np.finfo(np.float64).eps * float(np.max(np.abs(mean)))
    wins: NDArray[np.bool_] = draws[:, :1] >= draws - equal
    beats_likely = wins[:, : len(likely)].all(axis=1)
    chance = np.count_nonzero(wins.all(axis=1)) / DRAWS
    if not len(rest) or chance == 0:
        return chance
    share = (
        chance * DRAWS / np.count_nonzero(beats_likely)
    )  # of the draws that beat the likely ones, those that beat the spread
    return chance * share ** ((len(rest) / len(spread) - 1) * _independence(covariance[len(likely) :, len(likely) :]))


def _independence(covariance: Matrix) -> float:
    """1 for unrelated values, towards 0 for values that move together: (Σλ)²/(n Σλ²) of their correlation matrix."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
    correlation = covariance / scale[:, None] / scale[None, :]
    return len(scale) / float(np.sum(correlation**2))
