"""Batch lengths, switches and costs against measurements."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ostinato.plots.data import Batches
from ostinato.plots.drawing.numbers import number_axis, whole_numbers
from ostinato.plots.drawing.style import (
    BLUE,
    GREEN,
    GREY,
    LEGEND,
    VERMILLION,
    add_note,
    dress,
    new_figure,
)

TITLE = "Batch lengths and switches"


def draw(series: Batches) -> Figure:
    panels = 3 if series.costly else 2
    figure = new_figure(2.2 + 1.35 * (panels - 1))
    axes: Any = figure.subplots(panels, 1, sharex=True, height_ratios=[1.5] + [1] * (panels - 1))
    _lengths(axes[0], series)
    ends = [bar.start + bar.length for bar in series.bars]
    starts, switches = [bar.start for bar in series.bars], [bar.switches for bar in series.bars]
    _total(axes[1], [*starts, ends[-1]], [*switches, switches[-1]], VERMILLION, "switches")
    whole_numbers(axes[1].yaxis, 4)
    if series.costly:
        _total(axes[2], [0, *ends], [0, *(bar.cost for bar in series.bars)], GREEN, "cost in all")
        number_axis(axes[2].yaxis, "cost in all", 4)
    axes[-1].set_xlabel("measurements")
    whole_numbers(axes[-1].xaxis)
    figure.align_ylabels()
    add_note(figure, series.note)
    return figure


def _lengths(axes: Any, series: Batches) -> None:
    edges = np.array([series.bars[0].start, *(bar.start + bar.length for bar in series.bars)])
    lengths = np.array([bar.length for bar in series.bars])
    observed = np.array([bar.observed for bar in series.bars])
    edge: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.6} if len(lengths) < 200 else {"linewidth": 0}
    for which, colour, label in ((~observed, BLUE, "asked for"), (observed, GREY, "observed")):
        if which.any():
            own = which.nonzero()[0]
            axes.bar(edges[:-1][own], lengths[own], lengths[own], align="edge", color=colour, label=label, **edge)
    failed = np.array([bar.failed for bar in series.bars])
    if failed.any():
        own, outline = failed.nonzero()[0], {"color": "white", "edgecolor": BLUE, "linewidth": 0.8}
        bottom = (lengths - failed)[own]
        axes.bar(edges[:-1][own], failed[own], lengths[own], bottom, align="edge", label="failed", **outline)
    axes.set_ylabel("measurements\nin the batch")
    whole_numbers(axes.yaxis, 5)
    dress(axes, TITLE, legend=LEGEND if observed.any() or failed.any() else 0)


def _total(axes: Any, x: list[int], totals: list[Any], colour: str, label: str) -> None:
    axes.plot(x, totals, drawstyle="default" if label.startswith("cost") else "steps-post", color=colour, linewidth=1.6)
    axes.set_ylabel(label)
    axes.set_ylim(0, 1.08 * max(totals[-1], 1))
    axes.tick_params(length=0)
