"""The probability that no candidate is better than a given one.

Joint draws at the candidates that may be better give it, where these are few. Where they are many, the likeliest
RIVALS/2 and a spread of the others are drawn, and the others' share is scaled up by how independent that spread is:
neighbours of a smooth function stand for each other, unrelated candidates do not.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
UNLIKELY = 1e-5  # chance of being better below which a candidate is not a rival, where those are few
NO_GAP = 1e-24  # variance of a difference, in units of the prior's, that counts as none
EQUAL = 1e-4  # difference of values, in units of their size, that counts as none: the roots' jitter is a tenth of it


@dataclass(frozen=True, eq=False)
class Shortfalls:
    """Draws of how far each of some candidates falls short of the best, one row a draw and one column a candidate.

    `likely` counts the likely rivals, `everyone` the spread of the others too, of which each stands for 1 + `power`.
    """

    likely: Matrix
    everyone: Matrix
    power: float
    equal: float

    def chances(self, within: float = 0.0) -> Vector:
        """P(f(x) ≤ f(candidate) + within for all x)."""
        bar = within + self.equal
        likely, wins = np.mean(self.likely <= bar, axis=0), np.mean(self.everyone <= bar, axis=0)
        return wins * np.divide(wins, likely, out=np.zeros_like(wins), where=likely > 0) ** self.power

    @property
    def largest(self) -> float:
        """The largest shortfall drawn."""
        return float(np.max(self.everyone))


def shortfalls(
    posterior: Posterior,
    numbers: list[int],
    rng: Generator,
    wider: Vector | None = None,
    apart: Sequence[int] = (),
) -> Shortfalls:
    """Joint draws at the given candidates and their rivals; the first of the list says who these are.

    wider: a factor on every candidate's standard deviation. apart: candidates that are no rivals.
    """
    mean, variance = posterior.over_candidates()
    leader, wide = numbers[0], np.ones_like(mean) if wider is None else wider
    variance = wide**2 * variance
    gap2 = variance + variance[leader] - 2 * wide * wide[leader] * posterior.covariance_with(leader)
    gap = np.sqrt(np.maximum(gap2, NO_GAP * (posterior.kappa2 or 1.0)))
    better = cast("Any", ndtr)((mean - mean[leader]) / gap)
    better[list(apart)] = 0.0
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
    own = draws[:, : len(numbers)]
    top_of_likely, top_of_all = (np.max(draws[:, :count], axis=1)[:, None] for count in (len(likely), len(drawn)))
    return Shortfalls(top_of_likely - own, top_of_all - own, power, equal)


def chances_of_being_best(
    posterior: Posterior, numbers: list[int], rng: Generator, within: float = 0.0, wider: Vector | None = None
) -> list[float]:
    """P(f(x) ≤ f(candidate) + within for all x), for some candidates."""
    return shortfalls(posterior, numbers, rng, wider).chances(within).tolist()


def _independence(covariance: Matrix) -> float:
    """1 for unrelated values, towards 0 for values that move together: (Σλ)²/(n Σλ²) of their correlation matrix."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
    correlation = covariance / scale[:, None] / scale[None, :]
    return len(scale) / float(np.sum(correlation**2))
