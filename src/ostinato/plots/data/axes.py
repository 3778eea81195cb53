"""Columns of candidates as axes: ranges of numbers, plain or logarithmic, and levels of categories."""

from typing import Any

import msgspec
import numpy as np

from ostinato.arrays import Vector
from ostinato.candidates import Candidates
from ostinato.candidates.columns import Absent, Codec, Levels, Logs
from ostinato.errors import InvalidSetting
from ostinato.plots.data.common import column_name, said

MOST_LEVELS = 30  # of a category on an axis


class Axis(msgspec.Struct, frozen=True, kw_only=True):
    """A column. Numbers go from low to high; of categories the places of `levels` are 0, 1, 2, …

    place: of the column among all. log: whether it is seen on a logarithmic scale. hidden: levels that there is no room
    for.
    """

    name: str
    place: int
    low: float
    high: float
    log: bool = False
    levels: tuple[str, ...] = ()
    hidden: int = 0

    @property
    def category(self) -> bool:
        return bool(self.levels)

    def share(self, x: float) -> float:
        """How far along the axis a place lies, from 0 to 1."""
        low, high, x = (np.log10(each) for each in (self.low, self.high, x)) if self.log else (self.low, self.high, x)
        return float((x - low) / (high - low)) if high > low else 0.5


def plain_codec(codec: Codec) -> Codec:
    """How a column becomes numbers where it is there."""
    return codec.codec if isinstance(codec, Absent) else codec


def axis_of(table: Candidates, place: int) -> Axis:
    """A column by its place."""
    codec, name = plain_codec(table.codecs[place]), column_name(table.columns[place])
    if isinstance(codec, Levels):
        shown = codec.levels[:MOST_LEVELS]
        hidden = len(codec.levels) - len(shown)
        return Axis(name=name, place=place, low=0, high=len(shown) - 1, levels=tuple(map(said, shown)), hidden=hidden)
    ends = [float(each[place]) for each in table.span]
    if isinstance(codec, Logs):
        return Axis(name=name, place=place, low=10 ** ends[0], high=10 ** ends[1], log=True)
    return Axis(name=name, place=place, low=ends[0], high=ends[1])


def place_of(table: Candidates, column: Any) -> int:
    """The place of a column, given by its name or its number."""
    names = [column_name(each) for each in table.columns]
    own = [each.name for each in table.columns]
    if column in own:
        return own.index(column)
    text = str(column)
    for listed in (names, [str(name) for name in own]):
        if text in listed:
            return listed.index(text)
    raise InvalidSetting(f"column={column!r} is not a column of the candidates: give one of {', '.join(names)}.")


def is_there(table: Candidates, place: int, features: Vector) -> bool:
    """Whether a candidate has a value in a column; a parameter may depend on others."""
    codec = table.codecs[place]
    return not (isinstance(codec, Absent) and features[place] == codec.at)


def position(axis: Axis, features: Vector) -> float:
    """Where a candidate lies on an axis."""
    feature = float(features[axis.place])
    return float(10**feature) if axis.log else feature
