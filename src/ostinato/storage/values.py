"""Values as the log keeps them: bytes, of three kinds, and what they come to."""

from collections.abc import Iterable, Mapping
from enum import IntEnum
from math import isnan
from struct import pack

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.errors import InvalidFeedback
from ostinato.measurements.feedback import Feedback
from ostinato.measurements.tally import LARGEST, Statistics

_FIRST = np.zeros(1, dtype=np.int64)  # the place of a value that is alone
_FIRST.setflags(write=False)


class Kind(IntEnum):
    """How the bytes of a row of the log are read."""

    VALUES = 0  # one float64 a repeat; NaN for one that failed
    WEIGHTED = 1  # the values, then the standard error of each
    SUMMARY = 2  # mean and squared deviations of so many repeats


class StoredFeedback(msgspec.Struct, frozen=True):
    """Feedback for consecutive repeats, ready to be kept."""

    count: int
    kind: Kind
    data: bytes

    def part(self, start: int, stop: int) -> "StoredFeedback":
        """Some of the repeats."""
        if self.kind == Kind.SUMMARY:
            return self
        rows = self.numbers().reshape(-1, self.count)
        return StoredFeedback(stop - start, self.kind, rows[:, start:stop].tobytes())

    def then(self, others: Iterable["StoredFeedback"]) -> "StoredFeedback":
        """With others after it, all of them plain values."""
        parts = [self, *others]
        return StoredFeedback(sum(each.count for each in parts), self.kind, b"".join(each.data for each in parts))

    def numbers(self) -> Vector:
        """As they are kept."""
        return np.frombuffer(self.data, dtype="<f8")

    def feedback(self, changes: Mapping[int, float | None] | None = None) -> Feedback:
        """What it comes to; with other values at some places, or none."""
        numbers = self.numbers()
        if self.kind == Kind.SUMMARY:
            mean, squares = numbers.tolist()
            return Feedback(Statistics() if changes else Statistics(self.count, mean, squares))
        if self.count == 1 and self.kind == Kind.VALUES and not changes:  # as most are: in a tenth of the time
            if isnan(value := numbers.item()):
                return Feedback(Statistics(), 1)
            if abs(value) <= LARGEST:
                return Feedback(Statistics(1, value), 0, numbers, _FIRST)
        values, kept = numbers[: self.count], np.ones(self.count, dtype=bool)
        if changes:
            values, kept = _changed(values, changes)
        fine = kept & ~np.isnan(values)
        failed = int(np.count_nonzero(kept & ~fine))
        if not fine.any():
            return Feedback(Statistics(), failed)
        if self.kind == Kind.WEIGHTED:
            return Feedback(Statistics.of_weighted(values[fine], numbers[self.count :][fine]), failed)
        return Feedback(Statistics.of_values(values[fine]), failed, values[fine], np.flatnonzero(fine))


def _changed(values: Vector, changes: Mapping[int, float | None]) -> tuple[Vector, NDArray[np.bool_]]:
    """With other values at some places; and which count at all."""
    changed, kept = values.copy(), np.ones(len(values), dtype=bool)
    for place, value in changes.items():
        changed[place] = np.nan if value is None else value
        kept[place] = value is not None
    return changed, kept


def told_values(values: Vector, errors: Vector | None = None) -> StoredFeedback:
    """Single values, as float64, with their standard errors where they have some. They are checked."""
    one_nan_one_zero = np.where(np.isnan(values), np.nan, values + 0.0)  # so that the same answer has the same bytes
    if errors is None:
        told = StoredFeedback(len(values), Kind.VALUES, one_nan_one_zero.astype("<f8", copy=False).tobytes())
    else:
        told = StoredFeedback(
            len(values), Kind.WEIGHTED, np.concatenate([one_nan_one_zero, errors]).astype("<f8").tobytes()
        )
    told.feedback()
    return told


def told_value(value: float) -> StoredFeedback:
    """A single value that is known to be finite, and not too large."""
    return StoredFeedback(1, Kind.VALUES, pack("<d", value + 0.0))


def told_summary(statistics: Statistics) -> StoredFeedback:
    """A count, a mean and squared deviations."""
    if statistics.n < 1:
        raise InvalidFeedback("No measurements were given: tell at least one.")
    data = np.array([statistics.mean, statistics.squares], dtype="<f8").tobytes()
    return StoredFeedback(int(statistics.n), Kind.SUMMARY, data)
