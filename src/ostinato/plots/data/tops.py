"""A parallel view of candidates: an axis for every column and one for the estimate, a line for every candidate."""

from typing import Any

import msgspec
import numpy as np

from ostinato.checks import counted, whole
from ostinato.optimizer import Optimizer
from ostinato.plots.data.axes import Axis, axis_of, is_there, position
from ostinato.plots.data.common import LEVEL, Series, basics, in_words, lacking, not_shown, row_of
from ostinato.plots.source import Drawable, Source

TOP, OTHERS = 5, 80  # candidates that stand out, and those behind them
COLUMNS = 10  # at most


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate: how far along each axis it lies, from 0 to 1 (None where it lacks the column), and its estimate.

    rank: 1 for the best. share: how far along the axis of estimates it lies.
    """

    index: int
    label: str
    candidate: dict[str, Any]
    rank: int
    n: int
    mean: float
    low: float
    high: float
    at: tuple[float | None, ...]
    share: float


class Parallel(Series, frozen=True, kw_only=True):
    """axes: columns of the candidates. ends: the lowest and the highest estimate. top: how many lines stand out."""

    axes: tuple[Axis, ...] = ()
    ends: tuple[float, float] = (0.0, 1.0)
    lines: tuple[Line, ...] = ()
    top: int = TOP


def parallel(what: Drawable, top: int = TOP) -> Parallel:
    """The best candidates that were measured, and some of the others behind them."""
    source, few = Source.of(what), whole("top", top)
    return source.looked(lambda optimizer: _parallel(source.name, optimizer, few))


def _parallel(name: str, optimizer: Optimizer, top: int) -> Parallel:
    missing, core = lacking(optimizer), optimizer.core
    if missing:
        return Parallel(**basics(name, optimizer), missing=missing)
    numbers = core.known.ranked(core.problem.priority)[0][: top + OTHERS].tolist()
    table = core.problem.table
    axes = [axis_of(table, place) for place in range(len(table.columns))]
    varied = [axis for axis in axes if axis.high > axis.low] or axes
    shown = tuple(varied[:COLUMNS])
    predicted = optimizer.predict([table[table.index_of(number)] for number in numbers])
    low, high = predicted.interval(LEVEL)
    ends = float(np.min(predicted.mean)), float(np.max(predicted.mean))
    believed = zip(predicted.mean.tolist(), low.tolist(), high.tolist(), strict=True)
    lines = tuple(
        _line(optimizer, number, rank, each, shown, ends)
        for rank, (number, each) in enumerate(zip(numbers, believed, strict=True), start=1)
    )
    hidden = len(axes) - len(shown)
    note = f"{counted(hidden, 'more column')} not shown." if hidden else ""
    note = (note + not_shown(optimizer)).strip()
    few = min(top, len(lines))
    return Parallel(**basics(name, optimizer), note=note, axes=shown, ends=ends, lines=lines, top=few)


def _line(
    optimizer: Optimizer,
    number: int,
    rank: int,
    believed: tuple[float, float, float],
    axes: tuple[Axis, ...],
    ends: tuple[float, float],
) -> Line:
    table = optimizer.core.problem.table
    features, index = table.features[number], table.index_of(number)
    there = [is_there(table, axis.place, features) for axis in axes]
    at = [axis.share(position(axis, features)) if here else None for axis, here in zip(axes, there, strict=True)]
    row, (mean, low, high) = row_of(table, index), believed
    return Line(
        index=index,
        label=in_words(row),
        candidate=row,
        rank=rank,
        n=optimizer.core.state.history.counts[number],
        mean=mean,
        low=low,
        high=high,
        at=tuple(None if each is None or each > 1 else each for each in at),
        share=(mean - ends[0]) / (ends[1] - ends[0]) if ends[1] > ends[0] else 0.5,
    )
