"""How one column of a candidate table becomes numbers: as it is, as ranks, or as codes."""

from collections.abc import Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from math import isnan
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.checks import brief
from ostinato.errors import InvalidCandidates, UnknownCandidate
from ostinato.kernels import Column

WIDE = 10.0  # largest over smallest, at least, of a column on a logarithmic scale
EVENER = 0.5  # times as uneven, at most


class Codec(Protocol):
    """Turns a column's values into numbers."""

    @property
    def column(self) -> Column: ...

    def encode(self, values: Iterable[Any]) -> Vector: ...


@dataclass(frozen=True)
class Numbers:
    """A column of numbers (or of true and false), used as they are."""

    name: str | int

    @property
    def column(self) -> Column:
        return Column(self.name)

    def encode(self, values: Iterable[Any]) -> Vector:
        array: NDArray[Any] = np.asarray(values if hasattr(values, "dtype") else list(values))
        if array.dtype.kind == "O" and not any(isinstance(value, (str, bytes)) for value in array.flat):
            with suppress(TypeError, ValueError, OverflowError):
                array = array.astype(np.float64)
        if array.dtype.kind not in "iufb" or np.ma.is_masked(values):
            kind, first = "text" if array.dtype.kind == "U" else array.dtype.name, array.ravel()[:1].tolist()[0]
            raise InvalidCandidates(
                f"Column {self.name!r} holds {kind} ({brief(first)}, …), which is not a plain number: give numbers, or "
                "a data frame, whose text columns are read as categories."
            )
        array = array.astype(np.float64) + 0.0  # −0.0 and 0.0 are one value
        bad = np.flatnonzero(~np.isfinite(array))
        if bad.size:
            raise InvalidCandidates(
                f"Column {self.name!r} holds {array[bad[0]]} in row {int(bad[0])} ({bad.size} such rows in all): every "
                "feature must be a finite number. Drop such rows, or fill them in."
            )
        return array


@dataclass(frozen=True)
class Logs:
    """A column of numbers above 0 that spread over decades: kernels see their decimal logarithms.

    zero: where a zero counts as lying on that scale, if there is one.
    """

    name: str | int
    zero: float | None = None

    @property
    def column(self) -> Column:
        return Column(self.name, log=True)

    def encode(self, values: Iterable[Any]) -> Vector:
        array = Numbers(self.name).encode(values)
        if self.zero is not None:
            array = np.where(array == 0, 10**self.zero, array)
        if not np.all(array > 0):
            raise InvalidCandidates(
                f"Column {self.name!r} is on a logarithmic scale and holds {float(array.min())!r}: only numbers "
                "above 0 have a logarithm. Give numbers above 0 in this column, or leave such rows out."
            )
        return np.log10(array) + 0.0


@dataclass(frozen=True)
class Absent:
    """A column that some candidates have no value in: None counts as lying at one number, the same for all of them."""

    codec: Codec
    at: float

    @property
    def column(self) -> Column:
        return self.codec.column

    def encode(self, values: Iterable[Any]) -> Vector:
        given = [None if isinstance(value, float) and isnan(value) else value for value in values]  # as pandas says it
        there = np.array([value is not None for value in given])
        features = np.full(len(given), self.at)
        if there.any():
            features[there] = self.codec.encode([value for value in given if value is not None])
        return features


@np.errstate(over="ignore")  # of columns as wide as float64 is
def on_log_scale(name: str | int, values: Vector) -> Logs | None:
    """How to see a column that spreads over decades; None where it does not. A zero lies a step below the others."""
    lowest, highest = np.min(values), np.max(values)
    if lowest < 0 or highest < WIDE * lowest:
        return None
    levels = np.unique(values)
    positive = levels[1:] if levels[0] == 0 else levels
    if not _spreads_over_decades(positive):
        return None
    return Logs(name, float(2 * np.log10(positive[0]) - np.log10(positive[1])) if levels[0] == 0 else None)


def _spreads_over_decades(levels: Vector) -> bool:
    """Whether numbers above 0 are spaced far more evenly on a logarithmic scale than as they are."""
    if len(levels) < 3 or levels[0] <= 0 or levels[-1] < WIDE * levels[0]:
        return False
    plain, logarithmic = (np.diff(scale) for scale in (levels, np.log10(levels)))
    return bool(_unevenness(logarithmic) < EVENER * _unevenness(plain))


def _unevenness(gaps: Vector) -> float:
    return float(np.std(gaps) / np.mean(gaps))


@dataclass(frozen=True)
class Levels:
    """A column of categories. Ordered ones become ranks, which are numbers; unordered ones codes."""

    name: str | int
    levels: tuple[Any, ...]
    ordered: bool = False

    @property
    def column(self) -> Column:
        return Column(self.name, "number" if self.ordered else "category")

    def encode(self, values: Iterable[Any]) -> Vector:
        codes = {level: float(code) for code, level in enumerate(self.levels)}
        given = list(values)
        try:
            return np.fromiter(map(codes.__getitem__, given), np.float64, len(given))
        except (KeyError, TypeError):
            wrong = next(value for value in given if not isinstance(value, Hashable) or value not in codes)
            raise UnknownCandidate(
                f"Column {self.name!r} has no level {wrong!r}: its levels are "
                f"{', '.join(repr(level) for level in self.levels[:20])}{', …' if len(self.levels) > 20 else ''}."
            ) from None
