"""Counts, means and squared deviations: all that the posterior needs of any number of measurements.

Statistics add, so merging epochs, shards, partial batches and late feedback is addition. Ten million
measurements of one candidate are three numbers.
"""

from collections.abc import Iterator, Mapping
from math import isfinite, isnan
from typing import Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.checks import is_whole, number, shown
from ostinato.errors import InvalidFeedback

LARGEST = 1e100  # of a measurement, so that squares and sums of them are finite
MOST = 10**15  # measurements told at once, so that float64 counts them exactly


class Statistics(msgspec.Struct, frozen=True):
    """n measurements of one candidate: their mean m, and Q, the sum of squared deviations from m."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def __add__(self, other: "Statistics") -> "Statistics":
        n = self.n + other.n
        if n == 0:
            return self
        share = other.n / n
        gap = other.mean - self.mean
        return Statistics(n, self.mean + gap * share, self.squares + other.squares + gap * gap * self.n * share)

    def __neg__(self) -> "Statistics":
        """The same measurements with the sign of their values turned."""
        return Statistics(self.n, -self.mean, self.squares)

    @classmethod
    def of_values(cls, values: Any) -> "Statistics":
        """The statistics of one value or a sequence of them; an InvalidFeedback where they cannot be used."""
        y = _as_values(values)
        n = y.size
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is explained below
            mean = float(y.sum()) / n
            deviations = y - mean
            statistics = cls(n, mean, float(deviations @ deviations))
        if not (isfinite(statistics.squares) and abs(mean) <= LARGEST):
            _explain(y)
        return statistics

    @classmethod
    def of_summary(cls, n: Any, mean: Any, std: Any) -> "Statistics":
        """From a count, a mean and the sample standard deviation (divisor n − 1), as laboratories report it."""
        if not is_whole(n) or not 1 <= n <= MOST:
            raise InvalidFeedback(f"n={n!r} is not a count of measurements: give a whole number from 1 to {MOST:g}.")
        mean, std = number(mean), None if std is None else number(std)
        if not isfinite(mean):
            raise InvalidFeedback(f"mean={mean!r} is not finite: give the mean of the n={n} measurements.")
        if std is None or (n == 1 and isnan(std)):
            if n > 1:
                raise InvalidFeedback(
                    f"std is missing for n={n} measurements: give their sample standard deviation (divisor n − 1)."
                )
            std = 0.0
        if not (isfinite(std) and std >= 0):
            raise InvalidFeedback(f"std={std!r} is not a standard deviation: give a finite number, 0 or more.")
        if abs(mean) > LARGEST or std > LARGEST:
            raise InvalidFeedback(
                f"mean={mean!r}, std={std!r} are too large to compute with: rescale to below {LARGEST:g}."
            )
        return cls(int(n), float(mean), (int(n) - 1) * float(std) ** 2)


class Tally:
    """The statistics of every measured candidate, by candidate number."""

    def __init__(self) -> None:
        self._rows: dict[int, Statistics] = {}
        self.steps = 0

    def plus(self, feedback: Mapping[int, Statistics]) -> "Tally":
        """A new tally, with more feedback."""
        total = Tally()
        total._rows, total.steps = dict(self._rows), self.steps
        for candidate, statistics in feedback.items():
            total.add(candidate, statistics)
        return total

    def add(self, candidate: int, feedback: Statistics) -> None:
        self._rows[candidate] = self[candidate] + feedback
        self.steps += feedback.n

    def __getitem__(self, candidate: int) -> Statistics:
        return self._rows.get(candidate, Statistics())

    def __iter__(self) -> Iterator[tuple[int, Statistics]]:
        return iter(self._rows.items())

    def __len__(self) -> int:
        return len(self._rows)


def _as_values(values: Any) -> NDArray[np.float64]:
    """A flat array of numbers, not yet checked to be finite."""
    try:
        y = np.asarray(values)
        if y.dtype.kind not in "iuf":
            raise TypeError(f"they hold {y.dtype.name}")
    except (TypeError, ValueError) as error:
        raise InvalidFeedback(
            f"The measurements {shown(values)} are not numbers ({error}): give one number a measurement."
        ) from None
    if y.ndim > 1:
        raise InvalidFeedback(f"The measurements have shape {y.shape}: give a flat sequence, one number a measurement.")
    if y.size == 0:
        raise InvalidFeedback("No measurements were given: tell at least one, or close the batch to give it up.")
    return y.astype(np.float64).ravel()


def _explain(y: NDArray[np.float64]) -> NoReturn:
    """Say which measurement spoils the rest."""
    bad = np.flatnonzero(~np.isfinite(y))
    if bad.size:
        raise InvalidFeedback(
            f"Measurement {bad[0]} of {y.size} is {y[bad[0]]}: only finite numbers can be told. Leave failed "
            "measurements out (a batch may be answered in part), then tell the rest."
        )
    raise InvalidFeedback(
        f"The measurements reach {np.max(np.abs(y)):g}, too large to compute with: rescale to below {LARGEST:g}."
    )
