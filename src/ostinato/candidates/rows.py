"""Rows of candidates as the user knows them: arrays, or dicts of named columns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = Callable[[int], Any]  # from a row's number to the row


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array, each the user's to change."""

    array: NDArray[Any]

    def __call__(self, index: int) -> NDArray[Any]:
        return self.array[index].copy()

    def columns(self) -> list[list[Any]]:
        return self.array.T.tolist()


@dataclass(frozen=True)
class FrameRows:
    """Rows of a data frame, as dicts."""

    frame: "nw.DataFrame[Any]"

    def __call__(self, index: int) -> dict[str, Any]:
        columns = self.frame.columns  # one by one: a row of the frame would make integers floats
        return {name: _plain(self.frame.get_column(name)[index]) for name in columns}

    def columns(self) -> list[list[Any]]:
        return [[_plain(value) for value in self.frame.get_column(name).to_list()] for name in self.frame.columns]


@dataclass(frozen=True)
class ListedRows:
    """Rows of columns by name, as dicts."""

    names: tuple[str, ...]
    listed: tuple[list[Any], ...]

    def __call__(self, index: int) -> dict[str, Any]:
        return {name: column[index] for name, column in zip(self.names, self.listed, strict=True)}

    def columns(self) -> list[list[Any]]:
        return list(self.listed)


def columns_of(rows: Rows, count: int) -> list[list[Any]]:
    """The values of the first so many rows, column by column."""
    columns: Any = getattr(rows, "columns", None)
    if columns is not None:
        return columns()
    return [list(each) for each in zip(*(rows(i).values() for i in range(count)), strict=True)]


def _plain(value: Any) -> Any:
    """NumPy's scalars as Python's own."""
    return cast("Any", value).item() if isinstance(value, np.generic) else value
