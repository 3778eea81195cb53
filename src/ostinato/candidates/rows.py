"""Rows of candidates as the user knows them: arrays, or dicts of named columns.

Where a column holds numbers of one type, `arrays` gives it as an array: large tables are stored and compared that way.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = Callable[[int], Any]  # from a row's number to the row
Column: TypeAlias = "NDArray[Any] | Texts | None"  # of many values; None where they are not of one plain type
TYPES = {float: np.float64, int: np.int64, bool: np.bool_}
PLAIN = "iufb"  # kinds of arrays that hold what Python's own numbers are
WIDEST = 8  # bytes of a number


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array, each the user's to change."""

    array: NDArray[Any]

    def __call__(self, index: int) -> NDArray[Any]:
        return self.array[index].copy()

    def columns(self) -> list[list[Any]]:
        return self.array.T.tolist()

    def arrays(self) -> list[Column]:
        plain = is_plain(self.array)
        return [np.ascontiguousarray(column) if plain else None for column in self.array.T]


@dataclass(frozen=True)
class ListedRows:
    """Rows of columns by name, as dicts."""

    names: tuple[str, ...]
    listed: tuple[list[Any], ...]

    def __call__(self, index: int) -> dict[str, Any]:
        return {name: column[index] for name, column in zip(self.names, self.listed, strict=True)}

    def columns(self) -> list[list[Any]]:
        return list(self.listed)

    def arrays(self) -> list[Column]:
        return [as_array(values) for values in self.listed]


@dataclass(frozen=True)
class Texts:
    """A column of categories: for every row, the place of its own among the levels."""

    places: NDArray[Any]
    levels: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Any:
        return self.levels[int(self.places[index])]

    def tolist(self) -> list[Any]:
        return [self.levels[place] for place in self.places.tolist()]


@dataclass(frozen=True)
class ArrayColumns:
    """Rows of named columns that are held as arrays, as dicts."""

    names: tuple[str, ...]
    held: "tuple[NDArray[Any] | Texts, ...]"

    def __call__(self, index: int) -> dict[str, Any]:
        return {name: as_python(column[index]) for name, column in zip(self.names, self.held, strict=True)}

    def columns(self) -> list[list[Any]]:
        return [column.tolist() for column in self.held]

    def arrays(self) -> list[Column]:
        return list(self.held)


def arrays_of(rows: Rows, count: int) -> list[Column]:
    """The same as arrays; None for a column that is not of one plain type."""
    arrays: Any = getattr(rows, "arrays", None)
    return [as_array(column) for column in columns_of(rows, count)] if arrays is None else arrays()


def as_array(values: list[Any]) -> Column:
    """Values of one of Python's own types as an array that gives them back."""
    kinds = set(map(type, values))
    if len(kinds) != 1 or (kind := kinds.pop()) not in TYPES:
        return None
    try:
        return np.array(values, dtype=TYPES[kind])
    except OverflowError:  # whole numbers beyond 64 bits
        return None


def is_plain(array: NDArray[Any]) -> bool:
    """Whether its items are numbers, or true and false, that bytes can hold and Python has."""
    return array.dtype.kind in PLAIN and array.dtype.itemsize <= WIDEST


def columns_of(rows: Rows, count: int) -> list[list[Any]]:
    """The values of the first so many rows, column by column."""
    columns: Any = getattr(rows, "columns", None)
    if columns is not None:
        return columns()
    return [list(each) for each in zip(*(rows(i).values() for i in range(count)), strict=True)]


def as_python(value: Any) -> Any:
    """NumPy's scalars as Python's own."""
    return cast("Any", value).item() if isinstance(value, np.generic) else value
