"""Counts, means and squared deviations: all that the posterior needs of any number of measurements.

Statistics add, so merging epochs, shards, partial batches and late feedback is addition. Ten million
measurements of one candidate are three numbers.

Some measurements must not be merged: those of different set-ups, where repeats share the error of one, and those that
came with standard errors of their own. A tally keeps them as groups of a candidate.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from copy import copy
from math import isfinite, isnan
from typing import Any, NoReturn

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.checks import brief, is_whole, number
from ostinato.errors import InvalidFeedback

LARGEST = 1e100  # of a measurement, so that squares and sums of them are finite
MOST = 10**15  # measurements told at once, so that float64 counts them exactly


class Statistics(msgspec.Struct, frozen=True):
    """n measurements of one candidate: their mean m, and Q, the sum of squared deviations from m.

    Where each came with a standard error, `known` is the variance of the mean, weighted by them, and Q is not used.
    """

    n: float = 0
    mean: float = 0.0
    squares: float = 0.0
    known: float = 0.0

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the squared deviations; of what has faded to less than one measurement, none."""
        return max(self.n - 1, 0.0)

    def __add__(self, other: "Statistics") -> "Statistics":
        if self.n == 0 or other.n == 0:
            return self if other.n == 0 else other
        n = self.n + other.n
        if self.known and other.known:
            share = self.known / (self.known + other.known)
            return Statistics(n, self.mean + (other.mean - self.mean) * share, 0.0, other.known * share)
        share = other.n / n
        gap = other.mean - self.mean
        return Statistics(n, self.mean + gap * share, self.squares + other.squares + gap * gap * self.n * share)

    def __neg__(self) -> "Statistics":
        """The same measurements with the sign of their values turned."""
        return Statistics(self.n, -self.mean, self.squares, self.known)

    @classmethod
    def of_values(cls, y: NDArray[np.float64]) -> "Statistics":
        """The statistics of values, at least one; an InvalidFeedback where one cannot be used."""
        if not (float(y.max()) <= LARGEST and float(y.min()) >= -LARGEST):
            _explain(y)
        mean = float(y.sum()) / y.size
        deviations = y - mean
        return cls(y.size, mean, float(deviations @ deviations))

    @classmethod
    def of_weighted(cls, y: NDArray[np.float64], errors: Any) -> "Statistics":
        """From values and the standard error of each, or one for all."""
        cls.of_values(y)
        try:
            given = np.broadcast_to(np.asarray(errors, dtype=np.float64), y.shape)
        except (TypeError, ValueError):
            given = np.zeros(1)
        if not np.all(np.isfinite(given) & (given > 1 / LARGEST) & (given < LARGEST)):
            raise InvalidFeedback(
                f"stderr={brief(errors)} does not fit {y.size} measurements: give one standard error "
                "above 0 for all, or "
                "one for each."
            )
        least = float(given.min())
        weights = (least / given) ** 2  # of the most precise one, so that none overflows
        total = float(weights.sum())
        return cls(y.size, float(weights @ y) / total, 0.0, least**2 / total)

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
    """The statistics of every measured candidate, by candidate number.

    by_setup: whether measurements of different set-ups are kept apart.
    """

    def __init__(self, *, by_setup: bool = False) -> None:
        self.by_setup = by_setup
        self.steps: float = 0  # measurements, as far as they count
        self.told: int = 0  # measurements in all, faded ones and those left out too
        self._rows: dict[int, Statistics] = {}
        self._groups: dict[int, dict[Hashable, Statistics]] = {}

    def plus(self, feedback: Mapping[int, Statistics], setup: Hashable = None) -> "Tally":
        """A new tally, with more feedback."""
        total = copy(self)
        total._rows = dict(self._rows)
        total._groups = {candidate: dict(groups) for candidate, groups in self._groups.items()}
        for candidate, statistics in feedback.items():
            total.add(candidate, statistics, setup)
        return total

    def add(self, candidate: int, feedback: Statistics, setup: Hashable = None) -> None:
        """Take in feedback; that of one set-up adds up, others stay apart."""
        key = (setup if self.by_setup else None, feedback.known > 0)
        if key != (None, False) and candidate not in self._groups:
            self._groups[candidate] = {(None, False): self._rows[candidate]} if candidate in self._rows else {}
        if candidate in self._groups:
            groups = self._groups[candidate]
            groups[key] = groups.get(key, Statistics()) + feedback
            self._rows[candidate] = _merged(groups.values())
        else:
            before = self._rows.get(candidate)
            self._rows[candidate] = feedback if before is None else before + feedback
        self.steps += feedback.n
        self.told += int(feedback.n)

    def groups(self, candidate: int) -> Collection[Statistics]:
        """What must not be merged, apart; one where nothing is kept apart."""
        groups = self._groups.get(candidate)
        return groups.values() if groups is not None else (self._rows[candidate],)

    def has(self, candidate: int, setup: Hashable) -> bool:
        """Whether measurements of this set-up are there already."""
        return any(key[0] == setup for key in self._groups.get(candidate, {}))  # type: ignore[index]

    @property
    def constant(self) -> bool:
        """Whether all measurements came out the same."""
        rows = iter(self._rows.values())
        first = next(rows, Statistics())
        return first.squares == 0 and all(row.mean == first.mean and row.squares == 0 for row in rows)

    @property
    def plain(self) -> bool:
        """Whether everything of one candidate is one group."""
        return not self._groups

    @property
    def has_errors(self) -> bool:
        """Whether any measurement came with a standard error."""
        return any(known for groups in self._groups.values() for _, known in groups)  # type: ignore[misc]

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The measured candidates."""
        return np.fromiter(self._rows, dtype=np.int64, count=len(self._rows))

    def __getitem__(self, candidate: int) -> Statistics:
        """All measurements of a candidate together; their mean is weighted by standard errors where all have one."""
        return self._rows.get(candidate, Statistics())

    def __contains__(self, candidate: int) -> bool:
        return candidate in self._rows

    def __iter__(self) -> Iterator[tuple[int, Statistics]]:
        return iter(self._rows.items())

    def __len__(self) -> int:
        return len(self._rows)


def _merged(groups: Iterable[Statistics]) -> Statistics:
    """All together, whatever the order they came in: those without standard errors first, then those with."""
    plain, weighted = Statistics(), Statistics()
    for group in groups:
        plain, weighted = (plain, weighted + group) if group.known else (plain + group, weighted)
    return plain + weighted


def _explain(y: NDArray[np.float64]) -> NoReturn:
    """Say which measurement spoils the rest."""
    bad = np.flatnonzero(~np.isfinite(y))
    if bad.size:
        which = "The measurement" if y.size == 1 else f"Measurement {bad[0]} of {y.size}"
        raise InvalidFeedback(
            f"{which} is {y[bad[0]]}: only finite numbers can be told. Give NaN or None for measurements that failed."
        )
    raise InvalidFeedback(
        f"The measurements reach {np.max(np.abs(y)):g}, too large to compute with: rescale to below {LARGEST:g}."
    )
