"""Expected improvement: the largest expected improvement on the highest posterior mean is asked next."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log1p, sqrt
from typing import NamedTuple, TypeAlias

import numpy as np

from ostinato.arrays import Array, Vector, is_numpy, namespace_of
from ostinato.confidence import Schedule, as_schedule, width_at
from ostinato.kernels.single import Single
from ostinato.policies.acquisition import chords, improvement_slope, log_expected_improvement, smallest_width
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.scored import NEAR, Score
from ostinato.posterior import BlockedVector, Indices, Listed, Screen

MANY = 1_000  # candidates from which EI is computed only where it may be the highest
LIKELY = 64  # candidates, of those that a screen leaves, that are computed first; then four times as many, and so on
STALE = 1_000  # candidates that may be better still, from which bounds are brought nearer where that can be done
SHARE = 0.1  # of all candidates: where more are left, they are all computed

Improvement: TypeAlias = Callable[[Array, Array], Array]  # log EI from means and variances
Applied: TypeAlias = Callable[[Improvement, Belief, float, float], BlockedVector | Listed]


@dataclass(frozen=True)
class EI(Score):
    """u = β σ [z Φ(z) + φ(z)], z = (μ − max μ)/(β σ); kept as a logarithm. beta: a number, or a schedule."""

    beta: float | Schedule = 1.0

    @property
    def seeks(self) -> str:
        return "promises most improvement on the leader, with exploration weight {width:.3g}"

    def width(self, belief: Belief) -> float:
        return width_at(as_schedule(self.beta), belief.progress)

    def target(self, belief: Belief) -> float:
        """What is to be improved on: the highest mean of all candidates, as in the paper."""
        return belief.top

    def __call__(self, belief: Belief) -> Scores:
        return self._scores(belief, _where_it_counts)

    def everywhere(self, belief: Belief) -> Scores:
        return self._scores(belief, _everywhere)

    def _scores(self, belief: Belief, applied: Applied) -> Scores:
        beta, target = self.width(belief), self.target(belief)

        def improvement(mean: Array, variance: Array) -> Array:
            return log_expected_improvement(mean, variance, beta, target, belief.kappa)

        values = applied(improvement, belief, beta, target)
        mean, variance = belief.at(Scores(values, 0.0).first_best(belief))
        return Scores(values, _tolerance(belief, beta, mean - target, variance))

    def slack(self, belief: Belief, best: int) -> float:
        return -log1p(-NEAR)


def _everywhere(improvement: Improvement, belief: Belief, beta: float, target: float) -> BlockedVector:
    return belief.means.map(improvement, belief.variances)


def _where_it_counts(improvement: Improvement, belief: Belief, beta: float, target: float) -> BlockedVector | Listed:
    """log EI of the candidates that may be chosen; of many candidates, minus infinity for the others.

    Of very many, by a screen in single precision.
    """
    screen = belief.screen
    found = None if screen is None else _screened(improvement, screen, belief, beta, target)
    return _in_blocks(improvement, belief, beta, target) if found is None else found


def _in_blocks(improvement: Improvement, belief: Belief, beta: float, target: float) -> BlockedVector:
    """The same, from means and variances that are kept for all candidates."""
    means, variances = belief.means, belief.variances
    few = belief.candidates <= MANY or not is_numpy(namespace_of(means.parts[0]))
    taken = _taken(belief)
    if few or len(taken) == belief.candidates:
        return _everywhere(improvement, belief, beta, target)
    widths = variances.map(partial(_width, beta))
    hopeful = means.map(np.add, widths).without(taken).places_of_highest
    found = _Found.of(improvement, belief, hopeful[~np.isin(hopeful, list(taken))])
    lines = chords(found.bar(belief, beta, target), max(widths.highest, smallest_width(belief.kappa)))

    def counting(mean: Array, variance: Array, width: Array) -> Array:
        values = np.full_like(mean, -np.inf)
        here = np.logical_or.reduce([mean + steep * width >= target + high for high, steep in lines])
        values[here] = improvement(mean[here], variance[here])
        return values

    return means.map(counting, variances, widths)


def _screened(improvement: Improvement, screen: Screen, belief: Belief, beta: float, target: float) -> Listed | None:
    """The same by means and variances in single precision, and exactly where it may be the highest.

    None where that would be too many.
    """
    taken, centre, kappa = _taken(belief), belief.centre, belief.kappa
    hopeful = screen.hopeful(beta, taken)
    if not len(hopeful):
        return None
    exact = _Found.of(improvement, belief, hopeful)

    def above() -> tuple[float, Indices, Vector]:
        bar = exact.without(taken).bar(belief, beta, target)
        lines = chords(bar, max(beta * kappa * screen.widest, smallest_width(kappa)))
        return bar, *screen.above([((target + high - centre) / kappa, steep * beta) for high, steep in lines])

    def bounds_of(candidates: Indices) -> Vector:
        mean, variance = screen.most(candidates)
        return improvement(centre + kappa * mean, kappa**2 * variance)

    bar, found, excess = above()
    if len(found) > STALE:
        exact = exact.and_(improvement, belief, _highest(found, excess, LIKELY))
        bar, found, _ = above()
    found = found[bounds_of(found) >= bar]
    screen.refine(found)
    found, bounds = _without(exact.candidates, found, bounds_of(found))
    size = LIKELY
    while len(found):
        exact = exact.and_(improvement, belief, _highest(found, bounds, size))
        bar = exact.without(taken).bar(belief, beta, target)
        found, bounds = _without(exact.candidates, found[bounds >= bar], bounds[bounds >= bar])
        if len(found) > STALE and screen.tighten():
            return _screened(improvement, screen, belief, beta, target)
        if len(found) > SHARE * belief.candidates:
            return None
        size *= 4
    screen.know(exact.candidates, exact.variance)
    screen.likely = _highest(exact.candidates, exact.values, LIKELY)
    return Listed(exact.candidates, exact.values, belief.candidates)


def _highest(candidates: Indices, values: Vector | Single, count: int) -> Indices:
    return candidates[np.argpartition(-values, count)[:count]] if len(candidates) > count else candidates


def _without(candidates: Indices, found: Indices, bounds: Vector) -> tuple[Indices, Vector]:
    """What was found and is not among some candidates in increasing order."""
    places = np.minimum(np.searchsorted(candidates, found), len(candidates) - 1)
    others = candidates[places] != found
    return found[others], bounds[others]


class _Found(NamedTuple):
    """log EI of some candidates, exactly; in increasing order."""

    candidates: Indices
    mean: Vector
    variance: Vector
    values: Vector

    @classmethod
    def of(cls, improvement: Improvement, belief: Belief, candidates: Indices) -> "_Found":
        mean, variance = belief.at_each(candidates)
        return cls(candidates, mean, variance, improvement(mean, variance))

    def and_(self, improvement: Improvement, belief: Belief, candidates: Indices) -> "_Found":
        """With more candidates; those that are there already are not computed again."""
        new, _ = _without(self.candidates, candidates, candidates)
        others = _Found.of(improvement, belief, new)
        order = np.argsort(np.concatenate([self.candidates, others.candidates]))
        return _Found(*(np.concatenate(pair)[order] for pair in zip(self, others, strict=True)))

    def without(self, taken: set[int]) -> "_Found":
        free = np.array([candidate not in taken for candidate in self.candidates.tolist()], dtype=bool)
        return _Found(*(each[free] for each in self))

    def bar(self, belief: Belief, beta: float, target: float) -> float:
        """What a candidate must reach to be chosen, as long as one of these may be."""
        best = int(np.argmax(self.values))
        gap, variance = float(self.mean[best]) - target, float(self.variance[best])
        nearly = _tolerance(belief, beta, gap, variance) - belief.travels * log1p(-NEAR)
        return float(self.values[best]) - 2 * nearly


def _taken(belief: Belief) -> set[int]:
    """Candidates that may be closed to further measurements: whatever is, those never measured are not."""
    return {*belief.counts(), *belief.barred}


def _width(beta: float, variance: Array) -> Array:
    return beta * np.sqrt(variance)


def _tolerance(belief: Belief, beta: float, gap: float, variance: float) -> float:
    """The resolution of values, as the winner's log EI feels it: its slope is Φ(z)/(β σ h(z))."""
    width = max(beta * sqrt(variance), smallest_width(belief.kappa))
    return belief.resolution(beta) / width * improvement_slope(gap / width)
