"""Rows of data frames, of any library that narwhals reads."""

from dataclasses import dataclass
from typing import Any, cast

import narwhals.stable.v2 as nw

from ostinato.candidates.rows import Column, as_array, as_python, is_plain


@dataclass(frozen=True)
class FrameRows:
    """Rows of a data frame, as dicts."""

    frame: "nw.DataFrame[Any]"

    def __call__(self, index: int) -> dict[str, Any]:
        columns = self.frame.columns  # one by one: a row of the frame would make integers floats
        return {name: as_python(self.frame.get_column(name)[index]) for name in columns}

    def columns(self) -> list[list[Any]]:
        return [[as_python(value) for value in self.frame.get_column(name).to_list()] for name in self.frame.columns]

    def arrays(self) -> list[Column]:
        return [_array_of(self.frame.get_column(name)) for name in self.frame.columns]


def columns_in(points: Any) -> dict[str, list[Any]] | None:
    """Columns by name, where `points` is a data frame; else None."""
    frame: Any = nw.from_native(points, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    table = cast("nw.DataFrame[Any]", frame)
    return {name: table[:, place].to_list() for place, name in enumerate(table.columns)}


def _array_of(series: "nw.Series[Any]") -> Column:
    if not (series.dtype.is_numeric() or series.dtype == nw.Boolean) or len(series) == 0:
        return None
    array = series.to_numpy()
    if is_plain(array) and type(as_python(array[0])) is type(as_python(series[0])):
        return array
    return as_array([as_python(value) for value in series.to_list()])
