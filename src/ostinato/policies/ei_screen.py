"""Expected improvement of very many candidates: bounds in single precision say which may have the most of it.

These few are computed exactly, those of the highest bounds first: the best of them is a bar, which leaves fewer. The
choice is the one that computing all of them makes.
"""

from collections.abc import Callable, Collection
from math import log1p, sqrt
from typing import NamedTuple, TypeAlias

import numpy as np

from ostinato.arrays import Array, Vector
from ostinato.kernels.single import Single
from ostinato.policies.acquisition import chords, improvement_slope, smallest_width
from ostinato.policies.belief import Belief
from ostinato.policies.scored import NEAR
from ostinato.posterior import Indices, Listed, Screen

LIKELY = 64  # candidates, of those that a screen leaves, that are computed first; then four times as many, and so on
STALE = 1_000  # candidates that may be better still, from which bounds are brought nearer where that can be done
SHARE = 0.1  # of all candidates: where more are left, they are all computed

Improvement: TypeAlias = Callable[[Array, Array], Array]  # log EI from means and variances


class Found(NamedTuple):
    """log EI of some candidates, exactly; in increasing order."""

    candidates: Indices
    mean: Vector
    variance: Vector
    values: Vector

    @classmethod
    def of(cls, improvement: Improvement, belief: Belief, candidates: Indices) -> "Found":
        mean, variance = belief.at_each(candidates)
        return cls(candidates, mean, variance, improvement(mean, variance))

    def plus(self, others: "Found") -> "Found":
        candidates = np.concatenate([self.candidates, others.candidates])
        order = np.argsort(candidates)
        numbers = (np.concatenate(pair)[order] for pair in zip(self[1:], others[1:], strict=True))
        return Found(candidates[order], *numbers)

    def without(self, taken: Collection[int]) -> "Found":
        free = np.array([candidate not in taken for candidate in self.candidates.tolist()], dtype=np.bool_)
        return Found(self.candidates[free], *(numbers[free] for numbers in self[1:]))

    def bar(self, belief: Belief, beta: float, target: float) -> float:
        """What a candidate must reach to be chosen, as long as one of these may be."""
        best = int(np.argmax(self.values))
        gap, variance = float(self.mean[best]) - target, float(self.variance[best])
        nearly = tolerance_of(belief, beta, gap, variance) - belief.travels * log1p(-NEAR)
        return float(self.values[best]) - 2 * nearly


class Search:
    """One search for the candidates that may be chosen."""

    def __init__(self, improvement: Improvement, screen: Screen, belief: Belief, beta: float, target: float) -> None:
        self._improvement, self._screen, self._belief = improvement, screen, belief
        self._beta, self._target, self._taken = beta, target, taken_in(belief)

    def listed(self) -> Listed | None:
        """log EI of the candidates that may be chosen; None where these would be too many."""
        hopeful = self._screen.hopeful(self._beta, self._taken)
        if not len(hopeful):
            return None
        self._exact = Found.of(self._improvement, self._belief, hopeful)
        self._raise_bar()
        found, excess = self._above()
        if len(found) > STALE:
            self._compute(_highest(found, excess, LIKELY))
            found, _ = self._above()
        found = self._reaching(found)[0]
        self._screen.refine(found)
        found, bounds = self._reaching(found)
        size = LIKELY
        while len(found):
            self._compute(_highest(found, bounds, size))
            found, bounds = self._left(found, bounds)
            if len(found) > STALE and self._screen.tighten():
                return self.listed()
            if len(found) > SHARE * self._belief.candidates:
                return None
            size *= 4
        exact = self._exact
        self._screen.know(exact.candidates, exact.variance)
        self._screen.likely = _highest(exact.candidates, exact.values, LIKELY)
        return Listed(exact.candidates, exact.values, self._belief.candidates)

    def _raise_bar(self) -> None:
        self._bar = self._exact.without(self._taken).bar(self._belief, self._beta, self._target)

    def _compute(self, candidates: Indices) -> None:
        new = candidates[self._unknown(candidates)]
        self._exact = self._exact.plus(Found.of(self._improvement, self._belief, new))
        self._raise_bar()

    def _unknown(self, candidates: Indices) -> Indices:
        """Places of those that are not computed yet."""
        known = self._exact.candidates
        places = np.minimum(np.searchsorted(known, candidates), len(known) - 1)
        return np.flatnonzero(known[places] != candidates)

    def _above(self) -> tuple[Indices, Single]:
        """Candidates that may reach the bar, by straight lines; with how far above these they are."""
        centre, kappa = self._belief.centre, self._belief.kappa
        lines = chords(self._bar, max(self._beta * kappa * self._screen.widest, smallest_width(kappa)))
        return self._screen.above(
            [((self._target + high - centre) / kappa, slope * self._beta) for high, slope in lines]
        )

    def _reaching(self, candidates: Indices) -> tuple[Indices, Vector]:
        """Those that may reach the bar by what log EI may be at most, which comes with them."""
        mean, variance = self._screen.most(candidates)
        centre, kappa = self._belief.centre, self._belief.kappa
        return self._left(candidates, self._improvement(centre + kappa * mean, kappa**2 * variance))

    def _left(self, candidates: Indices, bounds: Vector) -> tuple[Indices, Vector]:
        """Those whose bounds reach the bar, and that are not computed yet."""
        high = bounds >= self._bar
        candidates, bounds = candidates[high], bounds[high]
        new = self._unknown(candidates)
        return candidates[new], bounds[new]


def taken_in(belief: Belief) -> set[int]:
    """Candidates that may be closed to further measurements: whatever is, those never measured are not."""
    return {*belief.counts(), *belief.barred}


def tolerance_of(belief: Belief, beta: float, gap: float, variance: float) -> float:
    """The resolution of values, as the winner's log EI feels it: its slope is Φ(z)/(β σ h(z))."""
    width = max(beta * sqrt(variance), smallest_width(belief.kappa))
    return belief.resolution(beta) / width * improvement_slope(gap / width)


def _highest(candidates: Indices, values: Vector | Single, count: int) -> Indices:
    return candidates[np.argpartition(-values, count)[:count]] if len(candidates) > count else candidates
