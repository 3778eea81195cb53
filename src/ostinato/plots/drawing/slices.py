"""The posterior along one column, or over two, with what was measured."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ostinato.plots.data import Axis, Slice
from ostinato.plots.data.common import cut
from ostinato.plots.drawing.numbers import logarithmic, number_axis
from ostinato.plots.drawing.style import (
    BLUE,
    GREY,
    INK,
    VERMILLION,
    Axes,
    add_note,
    dress,
    mark_beyond,
    new_figure,
    settle,
    value_label,
)

FLAT = 6  # levels of a category up to which their names lie flat
LONGEST = 18  # characters of a level's name
NAME = 48  # characters of a column's name


def draw(series: Slice) -> Figure:
    figure = new_figure()
    axes = figure.add_subplot()
    (_line if len(series.axes) == 1 else _map)(figure, axes, series)
    add_note(figure, series.note)
    return figure


def _line(_: Any, axes: Axes, series: Slice) -> None:
    (axis,) = series.axes
    dots = [(dot.x, dot.average, dot.n, dot.on_slice, dot.index == series.index) for dot in series.dots]
    _dots(axes, dots)
    mean, low, high = (np.array(each) for each in (series.mean, series.low, series.high))
    if axis.category or len(series.x) == 1:
        label = f"estimate, {series.level:.0%} interval"
        axes.errorbar(series.x, mean, [mean - low, high - mean], fmt="o", color=BLUE, capsize=3, label=label)
    else:
        axes.fill_between(series.x, low, high, color=BLUE, alpha=0.16, linewidth=0)
        axes.plot(series.x, mean, color=BLUE, linewidth=1.8, label=f"estimate, {series.level:.0%} interval")
    _scale(axes, axes.xaxis, axis)
    if series.shown is not None:
        axes.set_ylim(*settle(series.shown))
        mark_beyond(axes, [(dot.x, dot.average) for dot in series.dots], GREY)
    number_axis(axes.yaxis, value_label(series))
    dress(axes, f"Estimate along {cut(axis.name, 40)}")


def _dots(axes: Axes, dots: list[tuple[float, float, int, bool, bool]]) -> None:
    """Averages of measured candidates: strong where the curve goes through them, pale where they lie beside it."""
    kinds = (
        (
            [dot for dot in dots if not dot[3]],
            {"color": GREY, "alpha": 0.6, "facecolors": "none"},
            "measured elsewhere",
        ),
        ([dot for dot in dots if dot[3] and not dot[4]], {"color": INK, "linewidths": 0}, "measured here"),
        ([dot for dot in dots if dot[4]], {"color": VERMILLION, "linewidths": 0, "marker": "D"}, "best"),
    )
    for own, look, label in kinds:
        if own:
            sizes = [min(10 + 3 * dot[2], 60) for dot in own]
            axes.scatter([dot[0] for dot in own], [dot[1] for dot in own], s=sizes, label=label, zorder=3, **look)


def _map(figure: Any, axes: Axes, series: Slice) -> None:
    x, y = series.axes
    mean = np.array(series.mean).reshape(len(series.y), len(series.x))
    colours = "cividis" if series.maximizes else "cividis_r"
    mesh = axes.pcolormesh(series.x, series.y, mean, cmap=colours, shading="nearest", rasterized=True)
    bar = figure.colorbar(mesh, ax=axes)
    bar.outline.set_visible(False)
    bar.ax.tick_params(length=0)
    number_axis(bar.ax.yaxis, f"estimate: {value_label(series)}")
    kinds: tuple[tuple[str, Any], ...] = (
        ("measured elsewhere", {"facecolors": "none", "edgecolors": "white", "linewidths": 0.8, "s": 18}),
        ("measured here", {"color": "white", "edgecolors": INK, "linewidths": 0.8, "s": 26}),
        ("best", {"color": VERMILLION, "edgecolors": "white", "linewidths": 1, "s": 60, "marker": "D"}),
    )
    for kind, (label, look) in enumerate(kinds):
        own = [dot for dot in series.dots if (2 if dot.index == series.index else int(dot.on_slice)) == kind]
        if own:
            axes.scatter([dot.x for dot in own], [dot.y for dot in own], label=label, zorder=3, **look)
    _scale(axes, axes.xaxis, x)
    _scale(axes, axes.yaxis, y)
    axes.grid(visible=False)
    dress(axes, f"Estimate over {cut(x.name, 22)} and {cut(y.name, 22)}")
    legend = axes.get_legend()
    if legend is not None:
        for handle in legend.legend_handles:  # white on white cannot be seen
            handle.set_edgecolor(INK)


def _scale(axes: Axes, axis: Any, column: Axis) -> None:
    name = cut(column.name, NAME)
    axis.set_label_text(name)
    if column.category:
        names = [cut(level, LONGEST) for level in column.levels]
        flat = axis is axes.yaxis or (len(names) <= FLAT and max(map(len, names)) * len(names) < 60)
        axis.set_ticks(range(len(names)), names, **({} if flat else {"rotation": 35, "ha": "right", "fontsize": 9}))
        (axes.set_ylim if axis is axes.yaxis else axes.set_xlim)(-0.6, len(names) - 0.4)
    elif column.log:
        (axes.set_yscale if axis is axes.yaxis else axes.set_xscale)("log")
        logarithmic(axis)
    else:
        number_axis(axis, name)
