"""What a policy sees, and how the best score is picked when several are equal."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import ClassVar, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.confidence import Progress
from ostinato.errors import NothingToAsk
from ostinato.policies.repeat_value import RepeatValue
from ostinato.posterior import BlockedVector, ListedVector, PendingVariances, Screen

TIE = 1e-9
EPSILON = float(np.finfo(np.float64).eps)
NOTHING_LEFT = "Every candidate failed whenever it was measured, or was retired: nothing is left to ask for."


class SettledScore(Protocol):
    """A score as a function of mean and variance alone, such as μ + β σ: what it needs of all candidates is settled.

    linear: whether it is mean + β · standard deviation.
    """

    linear: ClassVar[bool]

    @property
    def beta(self) -> float: ...

    def scores(self, belief: "Belief") -> "Scores":
        """Of the candidates of a belief."""
        ...


class Belief(ABC):
    """All that a policy may know: the model at all candidates, and how far the run is.

    means, variances: of every candidate. Variances count measurements still in flight as if they had come; means do
    not. top, bottom: the highest and the lowest mean. centre: the prior mean; kappa: the largest prior standard
    deviation. noise: the variance of one measurement of each candidate; setup: that of the error that repeats share.
    priority: of equal candidates the one of the lowest is taken. rng: the randomness of the run. barred: candidates
    that must not be asked for now; retired: those of them that the user ruled out. pending: repeats in flight, by
    candidate. learned: whether any hyperparameter is learned from the same measurements. travels: whether going to a
    candidate costs anything; cost: of a measurement.
    """

    centre: float
    kappa: float
    noise: Vector
    setup: float
    priority: NDArray[np.int64]
    rng: np.random.Generator
    barred: frozenset[int]
    retired: frozenset[int] = frozenset()
    pending: Mapping[int, int]
    learned: bool
    travels: bool
    cost: float

    @property
    @abstractmethod
    def means(self) -> BlockedVector:
        """The mean of every candidate: `belief.means.flat()` is a NumPy array, in the order of the candidates."""

    @property
    @abstractmethod
    def variances(self) -> BlockedVector:
        """The variance of every candidate, measurements in flight counted as if they had come; `.flat()` as above."""

    @property
    @abstractmethod
    def span(self) -> tuple[float, float]:
        """The lowest mean and the highest."""

    @property
    def top(self) -> float:
        """The highest mean."""
        return self.span[1]

    @property
    def bottom(self) -> float:
        """The lowest mean."""
        return self.span[0]

    @property
    def top_in_use(self) -> float:
        """The highest mean of the candidates that were not retired: what is to be improved on.

        Those that are barred for another reason count. Of all candidates, where all were retired.
        """
        return self.top

    @property
    def screen(self) -> Screen | None:
        """Means and variances in single precision, where these are there and the others are not."""
        return None

    @property
    @abstractmethod
    def progress(self) -> Progress:
        """How far the run is: measurements, candidates, and the budget."""

    def variance(self, candidate: int) -> float:
        """The variance of one candidate by what was measured and nothing else, to the last digit."""
        return self.repeat_value(candidate).variance

    @abstractmethod
    def covariance(self, candidate: int, others: NDArray[np.int64] | None = None) -> Vector:
        """Of all candidates with one, or of some."""

    @abstractmethod
    def counts(self) -> Mapping[int, int]:
        """Measurements of each candidate measured, told and in flight."""

    @abstractmethod
    def averages(self) -> Mapping[int, float]:
        """The average of the measurements of each candidate measured."""

    @abstractmethod
    def draw(self) -> BlockedVector | ListedVector:
        """A function drawn from the posterior, at all candidates that may be its highest."""

    @abstractmethod
    def pending_variances(self) -> PendingVariances:
        """The variances if more were measured; another one with every call."""

    @abstractmethod
    def honest_variances(self) -> PendingVariances | None:
        """The same by what was measured and nothing else; None where that is no difference."""

    @abstractmethod
    def costs(self, candidates: NDArray[np.int64]) -> Vector:
        """Of going to some candidates from where we are, in the same units as `cost`."""

    def leaders(self, score: "SettledScore") -> "Scores":
        """The scores of the candidates that may be chosen, by a score that is computed wherever candidates are."""
        return score.scores(self)

    @property
    def candidates(self) -> int:
        """How many there are."""
        return len(self.priority)

    @property
    def taken(self) -> int:
        """Measurements told and in flight."""
        return self.progress.steps + sum(self.pending.values())

    def resolution(self, beta: float) -> float:
        """How far apart scores in units of f must lie to count as different: 1e-9 (κβ + max|μ − μ₀|), and rounding."""
        bottom, top = self.span
        return TIE * (self.kappa * beta + max(top - self.centre, self.centre - bottom)) + 4 * EPSILON * max(
            abs(top), abs(bottom)
        )

    def first(self, tied: NDArray[np.int64]) -> int:
        """Of several candidates that are equal, the one of lowest priority."""
        return int(tied[np.argmin(self.priority[tied])])

    def at_random(self) -> int:
        """Any candidate that may be measured, all equally likely."""
        if len(self.barred) == self.candidates:
            raise NothingToAsk(NOTHING_LEFT)
        candidate = int(self.rng.integers(self.candidates))
        while candidate in self.barred:
            candidate = int(self.rng.integers(self.candidates))
        return candidate

    @abstractmethod
    def repeat_value(self, candidate: int) -> RepeatValue:
        """What repeating a candidate is about."""

    def at(self, candidate: int) -> tuple[float, float]:
        """Mean and variance at one candidate."""
        return self.means[candidate], self.variances[candidate]

    def means_at(self, candidates: NDArray[np.int64]) -> Vector:
        """Means at some candidates."""
        return self.means.at(candidates)

    def at_each(self, candidates: NDArray[np.int64]) -> tuple[Vector, Vector]:
        """Means and variances at some candidates."""
        return self.means.at(candidates), self.variances.at(candidates)


class Scores(msgspec.Struct, frozen=True, eq=False):
    """The acquisition at every candidate, and how far apart two must lie to count as different."""

    values: BlockedVector | ListedVector
    tolerance: float

    @property
    def best(self) -> float:
        """The highest score."""
        return self.values.highest

    def first_best(self, belief: Belief) -> int:
        """Of the candidates that score within the tolerance of the best, the one of lowest priority."""
        tied = self.values.near_highest(self.tolerance)
        return int(tied[0]) if len(tied) == 1 else belief.first(tied)

    def above(self, bar: float) -> NDArray[np.int64]:
        """The candidates that score this much or more."""
        return self.values.above(bar)

    def at(self, candidate: int) -> float:
        """The score of one candidate."""
        return self.values[candidate]

    def without(self, candidates: Collection[int]) -> "Scores":
        """The same, with some candidates out of the question."""
        return Scores(self.values.without(candidates), self.tolerance) if candidates else self
