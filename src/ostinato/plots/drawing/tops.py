"""A parallel view of the best candidates."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ostinato.plots.data import Axis, Line, Parallel
from ostinato.plots.data.common import cut
from ostinato.plots.drawing.style import BLUE, GREY, INK, PAPER, VERMILLION, Axes, add_note, dress, new_figure
from ostinato.plots.ticks import less, number, offset_of

LEVELS = 12  # of a category whose names have room
ACROSS = 72  # characters of all names of columns, side by side
SLANTED = 26  # characters of a name that is slanted, since there is no room across
Ticks = list[tuple[float, str]]


def draw(series: Parallel) -> Figure:
    figure = new_figure()
    axes = figure.add_subplot()
    for line in reversed(series.lines):
        _line(axes, series, line)
    scales = [*(_scale(axis) for axis in series.axes), _values(series)]
    for place, (_, ticks) in enumerate(scales):
        _axis(axes, place, ticks)
    _key(axes, series)
    axes.set(xlim=(-0.25, len(series.axes) + max(0.45, 0.1 * (len(series.axes) + 1))), ylim=(-0.06, 1.06), yticks=[])
    _names(axes, [name for name, _ in scales])
    axes.grid(visible=False)
    axes.spines[:].set_visible(False)
    dress(axes, "Columns of the best candidates")
    better = "" if series.maximizes else "The lowest estimates are at the top."
    add_note(figure, " ".join(filter(None, [better, series.note])))
    return figure


def _up(series: Parallel, share: float) -> float:
    """Better is always up."""
    return share if series.maximizes else 1 - share


def _names(axes: Axes, names: list[str]) -> None:
    """Below each axis; slanted where they have no room side by side."""
    room = ACROSS // len(names) - 2
    if max(map(len, names)) <= room or room >= SLANTED // 2:
        axes.set_xticks(range(len(names)), [cut(name, room) for name in names])
    else:
        slanted: dict[str, Any] = {"rotation": 30, "ha": "right", "rotation_mode": "anchor", "fontsize": 9}
        axes.set_xticks(range(len(names)), [cut(name, SLANTED) for name in names], **slanted)


def _line(axes: Axes, series: Parallel, line: Line) -> None:
    heights: list[float] = [np.nan if at is None else at for at in line.at] + [_up(series, line.share)]
    look: dict[str, Any] = {"color": GREY, "alpha": 0.35, "linewidth": 0.8}
    if line.rank <= series.top:
        look = {"color": VERMILLION if line.rank == 1 else BLUE, "linewidth": 2.4 if line.rank == 1 else 1.4}
        look |= {"marker": "o", "markersize": 4, "zorder": 4 if line.rank == 1 else 3}
    axes.plot(range(len(heights)), heights, **look)


def _axis(axes: Axes, place: int, ticks: list[tuple[float, str]]) -> None:
    axes.plot([place, place], [0, 1], color=INK, linewidth=0.8, zorder=5)
    for height, label in ticks:
        axes.plot([place, place + 0.03], [height, height], color=INK, linewidth=0.8, zorder=5)
        beside = axes.text(place + 0.06, height, label, fontsize=8, va="center", color=INK, zorder=6)
        beside.set_bbox({"facecolor": PAPER, "alpha": 0.85, "linewidth": 0, "pad": 1.0})


def _scale(axis: Axis) -> tuple[str, Ticks]:
    """The name of a column, and where its axis says what."""
    if axis.category:
        names = axis.levels if len(axis.levels) <= LEVELS else ()
        return axis.name, [(axis.share(place), cut(name, 12)) for place, name in enumerate(names)]
    if axis.log and axis.low < axis.high:
        among = axis.low, float(np.sqrt(axis.low) * np.sqrt(axis.high)), axis.high
        return axis.name, [(share, f"{x:.2g}") for share, x in zip((0.0, 0.5, 1.0), among, strict=True)]
    return _numbered(axis.name, axis.low, axis.high)


def _values(series: Parallel) -> tuple[str, Ticks]:
    """The same of the estimates."""
    name, ticks = _numbered(series.value, *series.ends)
    return name, [(_up(series, share), label) for share, label in ticks]


def _numbered(name: str, low: float, high: float) -> tuple[str, Ticks]:
    if low == high:
        return name, [(0.5, number(low, [low]))]
    offset = offset_of(low, high)
    among = np.array([low, low / 2 + high / 2, high]) - offset
    return less(name, offset), [(share, number(float(x), among)) for share, x in zip((0, 0.5, 1), among, strict=True)]


def _key(axes: Axes, series: Parallel) -> None:
    axes.plot([], [], color=VERMILLION, marker="o", markersize=4, linewidth=2.4, label="recommended")
    if series.top > 1:
        axes.plot([], [], color=BLUE, marker="o", markersize=4, linewidth=1.4, label=f"next {series.top - 1}")
    if len(series.lines) > series.top:
        axes.plot([], [], color=GREY, linewidth=0.8, label=f"{len(series.lines) - series.top:,} others measured")
