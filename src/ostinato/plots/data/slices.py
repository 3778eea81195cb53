"""The posterior along one or two columns, through the best candidate: what the model believes, with what was measured.

All other columns stay as the best candidate has them. Where it lacks a column (a parameter that depends on others), the
best measured candidate that has it takes its place; and where a column decides which others there are, these are as the
best measured candidate of that level has them.
"""

from collections.abc import Sequence
from typing import Any, cast

import msgspec
import numpy as np

from ostinato.candidates import Candidates
from ostinato.candidates.columns import Absent, Levels
from ostinato.checks import counted
from ostinato.errors import InvalidSetting
from ostinato.optimizer import Optimizer
from ostinato.plots.data.axes import Axis, axis_of, is_there, place_of, plain_codec, position
from ostinato.plots.data.common import LEVEL, Series, basics, column_name, in_words, lacking, row_of
from ostinato.plots.data.limits import beyond, limits
from ostinato.plots.source import Drawable, Source

FINE, COARSE, LOOK = 121, 41, 15  # points along one column, along each of two, and to find the column that matters
MOST = 400  # measured candidates
COLUMNS = 20  # among which the one that matters most is looked for
BESIDE = 1e-6  # of a column's range
SAME = 1e-9  # of a column's range


class Dot(msgspec.Struct, frozen=True, kw_only=True):
    """A measured candidate: where it lies, its average, and whether it differs from the others shown in no column."""

    index: int
    label: str
    x: float
    y: float | None
    average: float
    n: int
    on_slice: bool


class Slice(Series, frozen=True, kw_only=True):
    """What is believed along the columns `axes`: at every x; or, of two columns, for every y the values at every x.

    through: the candidate whose other columns these points have. shown: the range of values that an axis holds, where
    few averages are so far off that they would flatten all else.
    """

    level: float = LEVEL
    axes: tuple[Axis, ...] = ()
    index: int | None = None
    through: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    dots: tuple[Dot, ...] = ()
    shown: tuple[float, float] | None = None


def posterior(what: Drawable, columns: Sequence[str | int] = ()) -> Slice:
    """What is believed along one or two columns; by default along the one in which the estimate differs most."""
    source = Source.of(what)
    given: tuple[Any, ...] = (columns,) if isinstance(columns, str) else tuple(columns)
    if len(given) > 2 or len(set(map(str, given))) < len(given):
        raise InvalidSetting(f"columns={list(given)!r} cannot be drawn: give one column, or two that differ.")
    return source.looked(lambda optimizer: _posterior(source.name, optimizer, given))


def _posterior(name: str, optimizer: Optimizer, columns: tuple[Any, ...]) -> Slice:
    table, common, missing = optimizer.core.problem.table, basics(name, optimizer), lacking(optimizer)
    places = [place_of(table, column) for column in columns]
    if missing:
        return Slice(**common, missing=missing)
    through = SliceCentre.of(optimizer, places)
    if through is None:
        names = " and ".join(axis_of(table, place).name for place in places)
        return Slice(**common, missing=f"No measured candidate has a value for {names}.")
    axes = tuple(axis_of(table, place) for place in places or [through.most_telling()])
    xs = [_points(axis, FINE if len(axes) == 1 else COARSE) for axis in axes]
    predicted = optimizer.predict(through.rows(axes, xs))
    low, high = predicted.interval(LEVEL)
    dots = _dots(optimizer, through, axes)
    shown = limits([dot.average for dot in dots], [*low.tolist(), *high.tolist()]) if len(axes) == 1 else None
    return Slice(
        **common,
        note=_note(through, axes) + beyond(shown, [(dot.label, dot.average) for dot in dots]),
        shown=shown,
        axes=axes,
        index=through.index,
        through=row_of(table, through.index),
        x=tuple(xs[0]),
        y=tuple(xs[1]) if len(xs) > 1 else (),
        mean=tuple(predicted.mean.tolist()),
        std=tuple(predicted.std.tolist()),
        low=tuple(low.tolist()),
        high=tuple(high.tolist()),
        dots=dots,
    )


class SliceCentre:
    """The candidate that a slice goes through, and the measured ones from the best to the worst."""

    def __init__(self, optimizer: Optimizer, number: int, ranked: list[int]) -> None:
        self._optimizer, self.number, self.ranked = optimizer, number, ranked
        self.table: Candidates = optimizer.core.problem.table
        self.index = self.table.index_of(number)

    @classmethod
    def of(cls, optimizer: Optimizer, places: Sequence[int]) -> "SliceCentre | None":
        table, core = optimizer.core.problem.table, optimizer.core
        ranked = core.known.ranked(core.problem.priority)[0].tolist()
        found = (each for each in ranked if all(is_there(table, place, table.features[each]) for place in places))
        number = next(found, None)
        return None if number is None else cls(optimizer, number, ranked)

    @property
    def depends(self) -> list[int]:
        """The places of columns that not every candidate has."""
        return [place for place, codec in enumerate(self.table.codecs) if isinstance(codec, Absent)]

    @property
    def leads(self) -> bool:
        return self.number == self.ranked[0]

    def most_telling(self) -> int:
        """The column along which the estimate differs most."""
        features = self.table.features[self.number]
        places = [place for place in range(len(self.table.columns)) if is_there(self.table, place, features)]
        return max(places[:COLUMNS], key=self._difference)

    def _difference(self, place: int) -> float:
        axis = axis_of(self.table, place)
        mean = self._optimizer.predict(self.rows([axis], [_points(axis, LOOK)])).mean
        return float(np.ptp(mean))

    def rows(self, axes: Sequence[Axis], xs: Sequence[list[float]]) -> Any:
        """Points as users give them; the first axis changes fastest."""
        if len(axes) == 1:
            rows = [self._row(axes, [x]) for x in xs[0]]
        else:
            rows = [self._row(axes, [x, y]) for y in xs[1] for x in xs[0]]
        return rows if self.table.named else np.array(rows)

    def _row(self, axes: Sequence[Axis], at: list[float]) -> Any:
        row: Any = self.table[self.index]
        cells: dict[Any, Any] = dict(row) if self.table.named else dict(enumerate(cast("list[Any]", row.tolist())))
        keys = list(cells)
        for axis, at_axis in zip(axes, at, strict=True):
            x = _beside(axis, at_axis)
            codec = plain_codec(self.table.codecs[axis.place])
            cells[keys[axis.place]] = codec.levels[int(x)] if isinstance(codec, Levels) else x
            cells |= self._dependent(axis, x, keys)
        return cells if self.table.named else list(cells.values())

    def _dependent(self, axis: Axis, x: float, keys: list[Any]) -> dict[Any, Any]:
        """Columns that depend on another one, as candidates of that level have them."""
        depends, feature = self.depends, float(np.log10(x)) if axis.log else x
        if not depends or axis.place in depends or self.table.features[self.number][axis.place] == feature:
            return {}
        alike = [each for each in self.ranked if self.table.features[each][axis.place] == feature]
        number = alike[0] if alike else self._any_with(axis.place, feature)
        if number is None:
            return {}
        row: Any = list(cast("dict[str, Any]", self.table.point(number)).values())
        return {keys[place]: row[place] for place in depends}

    def _any_with(self, place: int, feature: float) -> int | None:
        found = np.flatnonzero(self.table.features[:, place] == feature)
        return int(found[0]) if len(found) else None


def _points(axis: Axis, count: int) -> list[float]:
    """Where the posterior is looked at."""
    if axis.category:
        return [float(place) for place in range(len(axis.levels))]
    if axis.low == axis.high:
        return [axis.low]
    spaced = np.geomspace if axis.log else np.linspace
    return spaced(axis.low, axis.high, count).tolist()


def _beside(axis: Axis, x: float) -> float:
    """A number a hair's breadth further in: a measured candidate's own interval is another than its surroundings'."""
    if axis.category or axis.low == axis.high:
        return x
    low, high = (float(np.log10(end)) for end in (axis.low, axis.high)) if axis.log else (axis.low, axis.high)
    feature = float(np.log10(x)) if axis.log else x
    shifted = feature + BESIDE * (high - low) * (1 if feature < (low + high) / 2 else -1)
    return 10**shifted if axis.log else shifted


def _dots(optimizer: Optimizer, through: SliceCentre, axes: Sequence[Axis]) -> tuple[Dot, ...]:
    table, sign, told = through.table, optimizer.core.problem.sign, dict(optimizer.core.known.told)
    low, high = table.span
    width = np.where(high > low, high - low, 1.0)
    others = np.array([place not in [axis.place for axis in axes] for place in range(len(table.columns))])
    dots, here = list[Dot](), table.features[through.number]
    for number in through.ranked[:MOST]:
        features = table.features[number]
        at = [position(axis, features) for axis in axes]
        seen = [
            is_there(table, axis.place, features) and not _hidden(axis, x) for axis, x in zip(axes, at, strict=True)
        ]
        if not all(seen):
            continue
        index = table.index_of(number)
        dots.append(
            Dot(
                index=index,
                label=in_words(row_of(table, index)),
                x=at[0],
                y=at[1] if len(at) > 1 else None,
                average=sign * told[number].mean,
                n=int(told[number].n),
                on_slice=bool(np.all(np.abs(features - here)[others] <= SAME * width[others])),
            )
        )
    return tuple(dots)


def _hidden(axis: Axis, x: float) -> bool:
    return axis.category and x >= len(axis.levels)


def _note(through: SliceCentre, axes: Sequence[Axis]) -> str:
    row, table = row_of(through.table, through.index), through.table
    names, levels = [axis.name for axis in axes], [axis for axis in axes if axis.category]
    changing = through.depends if any(axis.place not in through.depends for axis in levels) else []
    apart = [column_name(table.columns[place]) for place in changing if column_name(table.columns[place]) not in names]
    rest = {name: value for name, value in row.items() if name not in [*names, *apart]}
    which = "the best candidate" if through.leads else "the best candidate that has this column"
    words = [f"Through {which}" + (f" ({in_words(rest)})." if rest else ".")]
    if apart:
        of = " and ".join(axis.name for axis in levels)
        words.append(f"{' and '.join(apart)}: of the best measured candidate of each {of}.")
    words += [f"{counted(axis.hidden, 'level')} of {axis.name} not shown." for axis in axes if axis.hidden]
    return " ".join(words)
