"""Noise by candidate."""

from matplotlib.figure import Figure

from ostinato.plots.data import Noise
from ostinato.plots.data.common import cut
from ostinato.plots.drawing.numbers import logarithmic, number_axis
from ostinato.plots.drawing.style import (
    BLUE,
    LONGEST,
    VERMILLION,
    Axes,
    add_note,
    dress,
    mark_beyond,
    new_figure,
    settle,
    value_label,
)

TITLE = "Noise by candidate"
SCATTER = "{value}: standard deviation\nof one measurement"
WIDE = 100  # largest over smallest from which the axis is logarithmic


def draw(series: Noise) -> Figure:
    figure = new_figure()
    axes = figure.add_subplot()
    x, y = [row.average for row in series.rows], [row.std for row in series.rows]
    errors = [[row.std - row.low for row in series.rows], [row.high - row.std for row in series.rows]]
    label = f"repeats of a candidate, {series.level:.0%} interval"
    axes.errorbar(x, y, errors, fmt="o", color=BLUE, markersize=4.5, elinewidth=1, alpha=0.85, label=label)
    if series.equal is not None:
        axes.axhline(series.equal, color=VERMILLION, linewidth=1.8, label="the model's noise")
    else:
        model = [row.model for row in series.rows]
        axes.plot(x, model, "_", color=VERMILLION, markersize=12, markeredgewidth=2, label="the model's noise")
    if series.shown is not None:
        axes.set_xlim(*settle(series.shown))
    _heights(axes, series)
    mark_beyond(axes, [(row.average, row.std) for row in series.rows], BLUE)
    number_axis(axes.xaxis, f"average of the candidate: {value_label(series)}")
    dress(axes, TITLE)
    add_note(figure, series.note)
    return figure


def _heights(axes: Axes, series: Noise) -> None:
    """From 0 on; the upper ends of wide intervals are cut, so that the points can be told apart."""
    label = SCATTER.format(value=cut(series.value, LONGEST))
    middle = [*(row.std for row in series.rows), *(row.model for row in series.rows)]
    if series.top is not None:
        middle = [each for each in middle if each <= series.top]
    above = [each for each in middle if each > 0]
    if above and max(above) > WIDE * min(above):
        axes.set_yscale("log")
        logarithmic(axes.yaxis)
        axes.set_ylabel(label)
        return
    top = max(middle, default=0.0)
    highest = max((row.high for row in series.rows), default=top)
    axes.set_ylim(0, 1.08 * min(highest, 3 * top) if top > 0 else None)
    number_axis(axes.yaxis, label)
