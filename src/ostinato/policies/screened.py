"""The best-scoring of very many candidates: bounds in single precision say which may be it.

These few are computed exactly, those of the highest bounds first: the best of them is a bar, which leaves fewer. The
choice is the one that computing all of them makes.
"""

from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from ostinato.arrays import Array, Vector
from ostinato.policies.belief import Belief, Scores
from ostinato.posterior import Indices, ListedVector, Screen
from ostinato.posterior.screen_block import SearchCriterion

FIRST_COMPUTED = (
    64  # candidates, of those that a screen leaves, that are computed first; then four times as many, and so on
)
RECENT_BEST = 16  # candidates, of those that scored highest last time, that are computed before the screen is looked at
SOONER_COMPUTED = 256  # candidates that are sooner computed exactly than bounded better
STALE = 1_000  # candidates that may be better still, from which bounds are brought nearer where that can be done


class MonotoneScore(Protocol):
    """A score that is higher where the mean is, and where the standard deviation is.

    linear: whether it is mean + β · standard deviation.
    """

    linear: ClassVar[bool]

    @property
    def beta(self) -> float:
        """About how much a standard deviation counts."""
        ...

    def __call__(self, mean: Array, variance: Array) -> Array:
        """The score."""
        ...

    def nearly(self, mean: float, variance: float) -> float:
        """How far below the best a score may lie and still be chosen, for the best's mean and variance."""
        ...

    def scores(self, belief: Belief) -> Scores:
        """Of the candidates of a belief that may be chosen; minus infinity is enough for the others."""
        ...

    def lines(self, bar: float, widest: float) -> Sequence[tuple[float, float]]:
        """Pairs (h, s): scores reach a bar only where mean + s σ ≥ h for one of them, for σ up to the widest."""
        ...


class ExactScores(NamedTuple):
    """The exact scores of some candidates, in increasing order of the candidates."""

    candidates: Indices
    mean: Vector
    variance: Vector
    values: Vector

    @classmethod
    def of(cls, score: MonotoneScore, belief: Belief, candidates: Indices) -> "ExactScores":
        mean, variance = belief.at_each(candidates)
        return cls(candidates, mean, variance, score(mean, variance))

    def plus(self, others: "ExactScores") -> "ExactScores":
        candidates = np.concatenate([self.candidates, others.candidates])
        order = np.argsort(candidates)
        numbers = (np.concatenate(pair)[order] for pair in zip(self[1:], others[1:], strict=True))
        return ExactScores(candidates[order], *numbers)

    def without(self, taken: Collection[int]) -> "ExactScores":
        free = np.array([candidate not in taken for candidate in self.candidates.tolist()], dtype=np.bool_)
        return ExactScores(self.candidates[free], *(numbers[free] for numbers in self[1:]))

    def bar(self, score: MonotoneScore) -> float:
        """What a candidate must reach to be chosen, as long as one of these may be."""
        best = int(np.argmax(self.values))
        nearly = score.nearly(float(self.mean[best]), float(self.variance[best]))
        return float(self.values[best]) - 2 * nearly


class ScreenedSearch:
    """One search for the candidates that may be chosen."""

    def __init__(self, score: MonotoneScore, screen: Screen, belief: Belief) -> None:
        self._score, self._screen, self._belief, self._taken = score, screen, belief, measured_or_barred(belief)

    def listed(self) -> ListedVector | None:
        """The scores of the candidates that may be chosen; None where these would be too many."""
        if self._screen.settles:
            return self._leading()
        hopeful = self._screen.hopeful(self._score.beta, self._taken)
        if not len(hopeful):
            return None
        self._exact = ExactScores.of(self._score, self._belief, hopeful)
        self._raise_bar()
        found, excess = self._above()
        if len(found) > STALE:
            self._compute(_highest(found, excess, FIRST_COMPUTED))
            found, _ = self._above()
        found, bounds = self._reaching(found)
        if len(found) > SOONER_COMPUTED:
            self._screen.refine(found)
            found, bounds = self._reaching(found)
        size = FIRST_COMPUTED
        while len(found):
            self._compute(_highest(found, bounds, size))
            found, bounds = self._left(found, bounds)
            if len(found) > STALE and self._screen.tighten():
                return self.listed()
            if not self._screen.affords(len(found)):
                return None
            size *= 4
        exact = self._exact
        self._screen.set_variances(exact.candidates, exact.variance)
        self._screen.likely = _highest(exact.candidates, exact.values, RECENT_BEST)
        return ListedVector(exact.candidates, exact.values, self._belief.candidates)

    def _leading(self) -> ListedVector:
        """The same, where the screen finds them by itself; what was measured or is barred is looked at here."""
        belief, score = self._belief, self._score
        taken = np.array(sorted(each for each in self._taken if each < belief.candidates), dtype=np.int64)

        def value(mean: Array, variance: Array, places: Array) -> Array:
            return score(mean, variance)

        def least(value: float, mean: float, variance: float) -> float:
            return value - 2 * score.nearly(mean, variance)

        order = None if belief.travels else tie_order_on_card(belief)
        slope = score.beta if score.linear else None
        led = self._screen.leading(
            SearchCriterion(score, value, least, order, belief.centre, belief.kappa, slope), taken
        )
        found = ExactScores.of(score, belief, taken).plus(ExactScores(*led))
        return ListedVector(found.candidates, found.values, belief.candidates)

    def _raise_bar(self) -> None:
        self._bar = self._exact.without(self._taken).bar(self._score)

    def _compute(self, candidates: Indices) -> None:
        new = candidates[self._unknown(candidates)]
        self._exact = self._exact.plus(ExactScores.of(self._score, self._belief, new))
        self._raise_bar()

    def _unknown(self, candidates: Indices) -> Indices:
        """Places of those that are not computed yet."""
        known = self._exact.candidates
        places = np.minimum(np.searchsorted(known, candidates), len(known) - 1)
        return np.flatnonzero(known[places] != candidates)

    def _above(self) -> tuple[Indices, Vector]:
        """Candidates that may reach the bar, by straight lines; with how far above these they are."""
        centre, kappa = self._belief.centre, self._belief.kappa
        lines = self._score.lines(self._bar, kappa * self._screen.widest)
        return self._screen.above([((high - centre) / kappa, slope) for high, slope in lines])

    def _reaching(self, candidates: Indices) -> tuple[Indices, Vector]:
        """Those that may reach the bar by what scores may be at most, which comes with them."""
        mean, variance = self._screen.most(candidates)
        centre, kappa = self._belief.centre, self._belief.kappa
        return self._left(candidates, self._score(centre + kappa * mean, kappa**2 * variance))

    def _left(self, candidates: Indices, bounds: Vector) -> tuple[Indices, Vector]:
        """Those whose bounds reach the bar, and that are not computed yet."""
        high = bounds >= self._bar
        candidates, bounds = candidates[high], bounds[high]
        new = self._unknown(candidates)
        return candidates[new], bounds[new]


def tie_order_on_card(belief: Belief) -> Callable[[Array], Array]:
    """The order that settles ties, of candidates that are listed on a card."""
    on_card = getattr(belief.priority, "on_card", None)
    return on_card or (lambda places: places.new_tensor(belief.priority[places.cpu().numpy()]))


def measured_or_barred(belief: Belief) -> set[int]:
    """Candidates that may be closed to further measurements: whatever is, those never measured are not."""
    return {*belief.counts(), *belief.barred}


def _highest(candidates: Indices, values: Vector, count: int) -> Indices:
    return candidates[np.argpartition(-values, count)[:count]] if len(candidates) > count else candidates
