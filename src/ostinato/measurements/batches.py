"""A batch, and what became of it. Measurements have numbers in the order told; some may have been taken back."""

from bisect import bisect_right
from collections.abc import Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from ostinato.measurements.history import Measured
from ostinato.measurements.tally import Statistics
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


def numbers_among(count: int, gaps: Sequence[int]) -> list[int]:
    """The numbers of all measurements that count, in order of their places."""
    numbers = np.arange(1, count + len(gaps) + 1)
    return np.setdiff1d(numbers, gaps, assume_unique=True).tolist() if gaps else numbers.tolist()


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
        return int(self.told.statistics.n) + self.failed

    @property
    def places(self) -> int:
        """Repeats that there are numbers for."""
        return self.batch.repeats + self.replaced

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
