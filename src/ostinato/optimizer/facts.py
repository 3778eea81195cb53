"""What happens to an optimiser, as facts: batches are asked for, told of, closed. And what decisions rest on besides.

They are small: a batch of a million repeats is one line with a count, a mean and squared deviations. What storage keeps
is these and the log of values, never a matrix.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ostinato.learning import FitState
from ostinato.measurements.feedback import Feedback
from ostinato.measurements.history import Measured
from ostinato.measurements.robust import Limits
from ostinato.measurements.tally import Statistics
from ostinato.policies import Proposal
from ostinato.posterior import Drawn
from ostinato.records import Batch


def place_among(number: int, gaps: Sequence[int]) -> int:
    """The place of a measurement among those that count, from its number; gaps are the numbers taken back, in order."""
    return number - bisect_right(gaps, number)


def number_at(place: int, gaps: Sequence[int]) -> int:
    """The number of a measurement, from its place among those that count."""
    for gap in gaps:
        if gap > place:
            break
        place += 1
    return place


class Looked(msgspec.Struct, frozen=True):
    """Which single values were judged: by their numbers, those set aside as outliers (each with its candidate), and
    those that fit after all. `until` is the number of measurements looked over.
    """

    aside: dict[int, int] = {}
    cleared: frozenset[int] = frozenset()
    until: int = 0


class BatchFacts(msgspec.Struct, frozen=True):
    """A batch, and what was told of it. Observations, which nobody asked for, have numbers below 0.

    `told` is what was measured; `first` the place of its first feedback among all feedback, 0 for none; epochs are
    counted in that order. `withdrawn` repeats were taken back after they were told; of these `replaced` are waited for
    again, under numbers of their own.
    """

    batch: Batch
    told: Measured = Measured()
    failed: int = 0
    first: int = 0
    closed: bool = False
    withdrawn: int = 0
    replaced: int = 0

    @classmethod
    def observed(cls, number: int, index: int, count: int) -> "BatchFacts":
        """What nobody asked for."""
        return cls(Batch(number, index, None, count, count))

    @property
    def id(self) -> int:
        return self.batch.id

    @property
    def index(self) -> int:
        """The row of the user's table."""
        return self.batch.index

    @property
    def repeats(self) -> int:
        return self.batch.repeats

    @property
    def statistics(self) -> Statistics:
        return self.told.statistics

    @property
    def answered(self) -> int:
        """Repeats that were told, with a value or as failed, and count."""
        return int(self.statistics.n) + self.failed

    @property
    def places(self) -> int:
        """Repeats that there are numbers for."""
        return self.repeats + self.replaced

    @property
    def pending(self) -> int:
        """Repeats that are to come, unless it is closed."""
        return self.places - self.answered - self.withdrawn

    @property
    def measured(self) -> Measured:
        """What was measured, the lowest and highest values by themselves."""
        return self.told if self.told.at else Measured.unknown(self.told.statistics)

    def among(self, gaps: Sequence[int]) -> "BatchFacts":
        """The same, with the places that measurements have among those that count in place of their numbers."""
        if not gaps:
            return self
        points = tuple((place_among(number, gaps), value) for number, value in self.told.points)
        return replace(self, told=replace(self.told, points=points, at=place_among(self.told.at, gaps)))


class Mind(msgspec.Struct, frozen=True):
    """What the next decision rests on besides measurements: randomness, a round that is not handed out yet, how many
    rounds there were, the last fit, which values were judged, how many measurements came before the first decision, and
    the inducing set of a sparse model.
    """

    random: dict[str, Any]
    round: list[Proposal] = []
    fit_state: FitState | None = msgspec.field(default=None, name="learnt")  # as older studies have it
    looked: Looked = Looked()
    began: int | None = None
    drawn: Drawn | None = None

    def renumbered(self, number: Callable[[int], int]) -> "Mind":
        """The same, where candidates have other numbers."""
        fit, drawn = self.fit_state, self.drawn
        return Mind(
            self.random,
            [replace(each, candidate=number(each.candidate)) for each in self.round],
            fit and replace(fit, noises={number(each): noise for each, noise in fit.noises.items()}),
            replace(self.looked, aside={value: number(each) for value, each in self.looked.aside.items()}),
            self.began,
            drawn
            and replace(
                drawn,
                inducing=[number(each) for each in drawn.inducing],
                variances={number(each): variance for each, variance in drawn.variances.items()},
            ),
        )


# Facts


class Asked(msgspec.Struct, frozen=True):
    """A batch was decided. limits: what was expected of its values, with robust=True."""

    batch: Batch
    candidate: int
    limits: Limits | None = None


class Told(msgspec.Struct, frozen=True):
    """Feedback for a batch, or (a number below 0) for what nobody asked for, by candidate. limits: of its batch."""

    batch: int
    feedback: dict[int, Feedback]
    limits: Limits | None = None


class Closed(msgspec.Struct, frozen=True):
    """The repeats of a batch that did not come will not come."""

    batch: int


class Retired(msgspec.Struct, frozen=True):
    """Candidates are not to be measured any more."""

    candidates: frozenset[int]


class Restored(msgspec.Struct, frozen=True):
    """Candidates that were retired may be measured again."""

    candidates: frozenset[int]


class Recalled(msgspec.Struct, frozen=True):
    """A batch, or an observation, and all that became of it: from a storage."""

    facts: BatchFacts
    candidate: int
    limits: Limits | None = None


class Remembered(msgspec.Struct, frozen=True):
    """Single values of what was recalled, in the order told: with robust=True they are looked at again."""

    told: list[Told]


Fact = Asked | Told | Closed | Retired | Restored | Recalled | Remembered
