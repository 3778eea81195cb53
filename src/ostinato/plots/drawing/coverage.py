"""Calibration of what was predicted."""

from typing import Any

from matplotlib.figure import Figure

from ostinato.plots.data import Calibration
from ostinato.plots.drawing.numbers import number_axis, whole_numbers
from ostinato.plots.drawing.style import BLUE, FAINT, GREY, add_note, dress, new_figure

TWO_SIDED = 1.96  # standard deviations that hold 95%
FAR = 6.0  # standard deviations beyond which a residual is drawn at the edge


def draw(series: Calibration) -> Figure:
    figure = new_figure(3.7)
    left, right = figure.subplots(1, 2, width_ratios=[1.25, 1])
    _residuals(left, series)
    _shares(right, series)
    add_note(figure, series.note)
    return figure


def _residuals(axes: Any, series: Calibration) -> None:
    x, z = [each.measurements for each in series.residuals], [each.z for each in series.residuals]
    furthest = max(3.0, min(FAR, max(map(abs, z))))
    inside = [max(min(each, furthest), -furthest) for each in z]
    axes.axhspan(-TWO_SIDED, TWO_SIDED, color=BLUE, alpha=0.1, linewidth=0)
    axes.axhline(0, color=FAINT, linewidth=0.8)
    axes.scatter(x, inside, s=16, color=BLUE, alpha=0.8, linewidths=0)
    axes.set_ylim(-1.08 * furthest, 1.08 * furthest)
    within = sum(abs(each) <= TWO_SIDED for each in z)
    axes.set_xlabel("measurements")
    whole_numbers(axes.xaxis, 5)
    number_axis(axes.yaxis, "residual, in predicted\nstandard deviations")
    dress(axes, f"{within:,} of {len(z):,} batches within 95%", legend=0, room=True)


def _shares(axes: Any, series: Calibration) -> None:
    levels, held = [each.level for each in series.shares], [each.held for each in series.shares]
    low, high = [each.low for each in series.shares], [each.high for each in series.shares]
    axes.fill_between(levels, low, high, color=GREY, alpha=0.25, linewidth=0, label="if all is well")
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8)
    axes.plot(levels, held, "o-", color=BLUE, markersize=3.5, linewidth=1.4, label="held")
    axes.set(xlim=(0, 1), ylim=(0, 1.02))
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "100%"])
    axes.set_xlabel("level of the interval")
    axes.set_ylabel("share that held")
    dress(axes, "Predictive intervals", legend=32)
