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

from ostinato.arrays import Matrix, Vector
from ostinato.posterior.draws import square_root
from ostinato.posterior.exact import Posterior

DRAWS = 4_096
RIVALS = 1_024  # candidates, at most, that are drawn jointly
NEGLECTED = 1e-2  # chance that any of the candidates left out is better, at most
UNLIKELY = 1e-5  # chance of being better below which a candidate is no rival, where those are few
NO_GAP = 1e-24  # variance of a difference, in units of the prior's, that counts as none
EQUAL = 1e-4  # difference of values, in units of their size, that counts as none: the roots' jitter is a tenth of it


def chances_of_being_best(
    posterior: Posterior, numbers: list[int], rng: Generator, within: float = 0.0, wider: Vector | None = None
) -> list[float]:
    """P(f(x) ≤ f(candidate) + within for all x), for some candidates; the first of them says who the rivals are.

    wider: a factor on every candidate's standard deviation.
    """
    mean, variance = posterior.over_candidates()
    leader, wide = numbers[0], np.ones_like(mean) if wider is None else wider
    variance = wide**2 * variance
    gap2 = variance + variance[leader] - 2 * wide * wide[leader] * posterior.covariance_with(leader)
    gap = np.sqrt(np.maximum(gap2, NO_GAP * (posterior.kappa2 or 1.0)))
    better = cast("Any", ndtr)((mean - within - mean[leader]) / gap)
    better[numbers] = 3.0 - np.arange(len(numbers)) / len(numbers)  # the first of the list, in their own order
    unlikely = min(UNLIKELY, NEGLECTED / len(mean))
    rivals: NDArray[np.int64] = np.argsort(-better, kind="stable")[: np.count_nonzero(better > unlikely)]
    likely, rest = (rivals, rivals[:0]) if len(rivals) <= RIVALS else (rivals[: RIVALS // 2], rivals[RIVALS // 2 :])
    spread = rest[np.linspace(0, len(rest) - 1, RIVALS // 2).astype(int)] if len(rest) else rest
    drawn = np.concatenate([likely, spread])
    covariance = wide[drawn][:, None] * posterior.covariance(posterior.features[drawn]) * wide[drawn]
    draws = mean[drawn] + np.matmul(rng.standard_normal((DRAWS, len(drawn))), square_root(covariance).T)
    equal = EQUAL * float(np.max(np.sqrt(variance[drawn]))) + np.finfo(np.float64).eps * float(np.max(np.abs(mean)))
    independence = _independence(covariance[len(likely) :, len(likely) :]) if len(rest) else 0.0
    power = (len(rest) / len(spread) - 1) * independence if len(rest) else 0.0
    tops = np.max(draws[:, : len(likely)], axis=1), np.max(draws, axis=1)
    return [_share(draws[:, place] + within + equal, *tops, power) for place in range(len(numbers))]


def _share(own: Vector, likely: Vector, everyone: Vector, power: float) -> float:
    """How often a candidate wins; of the draws that beat the likely ones, the share that beats the spread is scaled."""
    beats_likely, wins = np.count_nonzero(own >= likely), np.count_nonzero(own >= everyone)
    return float(wins / DRAWS * (wins / beats_likely) ** power) if wins else 0.0


def _independence(covariance: Matrix) -> float:
    """1 for unrelated values, towards 0 for values that move together: (Σλ)²/(n Σλ²) of their correlation matrix."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
    correlation = covariance / scale[:, None] / scale[None, :]
    return len(scale) / float(np.sum(correlation**2))
