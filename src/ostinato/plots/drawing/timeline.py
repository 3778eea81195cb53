"""The recommended value with its interval, as measurements came in."""

from matplotlib.figure import Figure

from ostinato.plots.data import Progress
from ostinato.plots.drawing.numbers import number_axis, whole_numbers
from ostinato.plots.drawing.style import (
    BLUE,
    VERMILLION,
    add_note,
    dress,
    new_figure,
    value_label,
)

TITLE = "Recommended value as measurements came in"
EARLY = 0.25  # of the moments: their intervals are wide, and cut where they would flatten all else


def draw(series: Progress) -> Figure:
    figure = new_figure()
    axes = figure.add_subplot()
    x, mean = [each.measurements for each in series.moments], [each.mean for each in series.moments]
    low, high = [each.low for each in series.moments], [each.high for each in series.moments]
    if len(x) == 1:
        axes.errorbar(x, mean, [[mean[0] - low[0]], [high[0] - mean[0]]], color=BLUE, fmt="o", label="estimate, 95%")
        axes.set_xlim(0, 2 * x[0])
    else:
        axes.fill_between(x, low, high, color=BLUE, alpha=0.16, linewidth=0, label=f"{series.level:.0%} interval")
        axes.plot(x, mean, color=BLUE, linewidth=1.8, label="estimate")
    changed = [each for each in series.moments if each.changed]
    if changed:
        at, height = [each.measurements for each in changed], [each.mean for each in changed]
        axes.plot(at, height, "o", color=VERMILLION, markersize=5, label="another candidate is recommended", zorder=3)
    whole_numbers(axes.xaxis)
    axes.set_xlabel("measurements")
    axes.set_ylim(*_heights(series))
    number_axis(axes.yaxis, f"{value_label(series)}\nof the recommended candidate")
    dress(axes, TITLE)
    add_note(figure, series.note)
    return figure


def _heights(series: Progress) -> tuple[float, float]:
    """All estimates, and the intervals of all but the first moments."""
    late = series.moments[int(EARLY * len(series.moments)) :]
    ends = [each.mean for each in series.moments] + [end for each in late for end in (each.low, each.high)]
    margin = 0.06 * (max(ends) - min(ends)) or 1.0
    return min(ends) - margin, max(ends) + margin
