"""The probability that no candidate is better than a given one.

Joint draws at the candidates that may be better give it, where these are few. Where they are many, the likeliest
RIVALS/2 and a spread of the others are drawn, and the others' share is scaled up by how independent that spread is:
neighbours of a smooth function stand for each other, unrelated candidates do not.

Of a very large set not all candidates are asked (`Contenders`): those that look best to the model that chooses, and
every so-manieth of the others, which then stands for as many.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import ndtr

from ostinato.arrays import Array, Matrix, Vector, namespace_of
from ostinato.posterior.cache import Indices
from ostinato.posterior.draws import square_root
from ostinato.posterior.exact import Posterior
from ostinato.posterior.model import Model
from ostinato.posterior.sharded import ShardedPosterior

DRAWS = 4_096
PART = 256  # columns of a triangular root that are multiplied at a time
RIVALS = 1_024  # candidates, at most, that are drawn jointly
NEGLECTED = 1e-2  # chance that any of the candidates left out is better, at most
UNLIKELY = 1e-5  # chance of being better below which a candidate is not a rival, where those are few
NO_GAP = 1e-24  # variance of a difference, in units of the prior's, that counts as none
ALL_CONTEND_UP_TO = 20_000  # candidates up to which all of them are contenders
LIKELIEST, SAMPLED = 5_000, 5_000  # of more: those that look best, and how many stand for the others
ERROR = 0.2  # of a sketch's means and variances, at most, in units of the prior's: by far more than it ever is
HOPE = 3.0  # standard deviations above its mean that a candidate's value may well be
EQUAL = 1e-4  # difference of values, in units of their size, that counts as none: the roots' jitter is a tenth of it


@dataclass(frozen=True, eq=False)
class Contenders:
    """Candidates among which the best is looked for, in increasing order, and how many each of them stands for."""

    numbers: Indices
    stands_for: Vector

    @classmethod
    def only(cls, numbers: Indices) -> "Contenders":
        """These and no others."""
        return cls(np.sort(numbers), np.ones(len(numbers)))

    @classmethod
    def of(cls, model: Model, always: Indices) -> "Contenders":
        """All candidates, or, of many, those that look best to a model, those that always are, and a sample."""
        size = len(model.features)
        if size <= ALL_CONTEND_UP_TO:
            return cls.only(np.arange(size))
        near = np.unique(np.concatenate([_most_hopeful(model), always]))
        far = size - len(near)
        sample = others_than(near, np.linspace(0, far - 1, SAMPLED).astype(np.int64))
        numbers = np.concatenate([near, sample])
        stands_for = np.concatenate([np.ones(len(near)), np.full(len(sample), far / len(sample))])
        order = np.argsort(numbers)
        return cls(numbers[order], stands_for[order])

    def places(self, numbers: Collection[int]) -> Indices:
        """Where some candidates are among them; of those that are."""
        return np.flatnonzero(np.isin(self.numbers, list(numbers)))


def others_than(some: Indices, places: Indices) -> Indices:
    """The candidates at some places among all but those, which are in increasing order."""
    return places + np.searchsorted(some - np.arange(len(some)), places, side="right")


def _most_hopeful(model: Model) -> Indices:
    """The candidates whose values may well be the highest.

    A sketch will do, since whoever is found here is computed exactly afterwards.
    """
    if isinstance(model, ShardedPosterior):
        return model.most_hopeful(HOPE, LIKELIEST, ERROR)
    sketch = model.rough_screen if isinstance(model, Posterior) else None
    if sketch is not None and max(sketch.mean_error, sketch.variance_error) <= ERROR:
        return sketch.highest_reach(HOPE, LIKELIEST)
    hopes = model.means.map(_hope, model.variances).flat()
    return np.argpartition(-hopes, LIKELIEST)[:LIKELIEST]


def _hope(mean: Array, variance: Array) -> Array:
    return mean + HOPE * namespace_of(mean).sqrt(variance)


@dataclass(frozen=True, eq=False)
class ShortfallDraws:
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


def draw_shortfalls(
    posterior: Posterior,
    numbers: list[int],
    rng: Generator,
    contenders: Contenders,
    wider: Callable[[Indices], Vector] = lambda numbers: np.ones(len(numbers)),
    apart: Collection[int] = (),
) -> ShortfallDraws:
    """Joint draws at the given candidates and their rivals among the contenders; the first of the list says who.

    wider: a factor on some candidates' standard deviations. apart: candidates that are no rivals.
    """
    among, wide = contenders.numbers, wider(contenders.numbers)
    own = np.searchsorted(among, numbers)
    mean, variance = posterior.answer_at(among)
    variance = wide**2 * variance
    leader = own[0]
    covariance_with_leader = wide * wide[leader] * posterior.covariance_between(numbers[0], among)
    gap = np.sqrt(np.maximum(variance + variance[leader] - 2 * covariance_with_leader, _no_gap(posterior)))
    better = cast("Any", ndtr)((mean - mean[leader]) / gap)
    better[contenders.places(apart)] = 0.0
    better[own] = 3.0 - np.arange(len(numbers)) / len(numbers)  # the first of the list, in their own order
    unlikely = min(UNLIKELY, NEGLECTED / float(np.sum(contenders.stands_for)))
    rivals: NDArray[np.int64] = np.argsort(-better, kind="stable")[: np.count_nonzero(better > unlikely)]
    likely, rest = (rivals, rivals[:0]) if len(rivals) <= RIVALS else (rivals[: RIVALS // 2], rivals[RIVALS // 2 :])
    spread = rest[np.linspace(0, len(rest) - 1, RIVALS // 2).astype(int)] if len(rest) else rest
    drawn = np.concatenate([likely, spread])
    covariance = wide[drawn][:, None] * posterior.covariance(posterior.features[among[drawn]]) * wide[drawn]
    draws = (mean[drawn] - mean[leader]).astype(np.float32) + _normal(square_root(covariance), rng)
    equal = EQUAL * float(np.max(np.sqrt(variance[drawn]))) + np.finfo(np.float64).eps * float(np.max(np.abs(mean)))
    independence = _independence(covariance[len(likely) :, len(likely) :]) if len(rest) else 0.0
    many = float(np.sum(contenders.stands_for[rest]))
    power = (many / len(spread) - 1) * independence if len(rest) else 0.0
    given = draws[:, : len(numbers)].astype(np.float64)
    top_of_likely, top_of_all = (np.max(draws[:, :count], axis=1)[:, None] for count in (len(likely), len(drawn)))
    return ShortfallDraws(top_of_likely - given, top_of_all - given, power, equal)


def _normal(root: Matrix, rng: Generator) -> NDArray[np.float32]:
    """Draws of covariance R Rᵀ, one a row; in single precision, whose error is far below theirs."""
    z = rng.standard_normal((DRAWS, len(root)), dtype=np.float32)
    upper = root.T.astype(np.float32)
    if np.any(np.tril(upper, -1)):
        return np.matmul(z, upper)
    draws = np.empty_like(z)  # of a triangular root, without most of the products by 0
    for stop in range(PART, len(root) + PART, PART):
        part = slice(stop - PART, min(stop, len(root)))
        np.matmul(z[:, : part.stop], upper[: part.stop, part], out=draws[:, part])
    return draws


def _no_gap(posterior: Posterior) -> float:
    return NO_GAP * (posterior.kappa2 or 1.0)


def _independence(covariance: Matrix) -> float:
    """1 for unrelated values, towards 0 for values that move together: (Σλ)²/(n Σλ²) of their correlation matrix."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
    correlation = covariance / scale[:, None] / scale[None, :]
    return len(scale) / float(np.sum(correlation**2))
