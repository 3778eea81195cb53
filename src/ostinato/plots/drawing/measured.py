"""Measurements by candidate: every repeat as a point, the estimate with its interval on top."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from ostinato.plots.data import CandidateRow, Measurements
from ostinato.plots.data.common import cut, said
from ostinato.plots.drawing.numbers import number_axis
from ostinato.plots.drawing.style import (
    BLUE,
    GREY,
    INK,
    SKY,
    VERMILLION,
    Axes,
    add_note,
    dress,
    mark_beyond,
    new_figure,
    settle,
    value_label,
)

TITLE = "Measurements by candidate"
LONGEST = 34  # characters of a label
HEADING = 38  # of the line above them, whose letters are smaller
ROOM = 82  # characters across the figure: for labels, the legend, and how often each was measured
MEASURED = "measured"  # the heading of that, beside the legend
CELL = 6  # characters, at least, of each column in it
ROW = 0.27  # inches
BUSY = 40  # points of a candidate from which they are paler


def draw(series: Measurements) -> Figure:
    figure = new_figure(max(2.6, 1.55 + ROW * len(series.rows)))
    axes = figure.add_subplot()
    rows = list(enumerate(series.rows))
    for y, row in rows:
        _points(axes, y, row)
        _estimate(axes, y, row)
    labels, counts = short_labels(series.rows), [_count(row) for row in series.rows]
    _labels(axes, labels, counts, _heading(series.rows, labels))
    if series.shown is not None:
        _cut(axes, series, series.shown)
    number_axis(axes.xaxis, value_label(series))
    axes.grid(visible=False, axis="y")
    _key(axes, series)
    dress(axes, TITLE, legend=ROOM - max(map(len, labels)) - max(map(len, (MEASURED, *counts))))
    if not any(row.n for row in series.rows):
        axes.set_xticks([])
        axes.grid(visible=False)
        axes.text(0.5, 0.5, series.note, ha="center", va="center", transform=axes.transAxes)
    else:
        add_note(figure, series.note)
    return figure


def _points(axes: Axes, y: int, row: CandidateRow) -> None:
    """A little above and below the line, always in the same way."""
    shift = np.random.default_rng(row.index).uniform(-0.26, 0.26, len(row.values))
    alpha = 0.75 if len(row.values) < BUSY else 0.35
    axes.scatter(row.values, y + shift, s=15, color=SKY, alpha=alpha, linewidths=0, zorder=2)
    for each in row.averages:
        spread = each.std or 0.0
        axes.plot([each.value - spread, each.value + spread], [y, y], color=SKY, alpha=0.6, linewidth=6, zorder=1)
    if row.failed:
        axes.scatter([0.008], [y], s=22, marker="x", color=GREY, transform=axes.get_yaxis_transform(), zorder=2)


def _estimate(axes: Axes, y: int, row: CandidateRow) -> None:
    if row.mean is None or row.low is None or row.high is None:
        return
    colour = VERMILLION if row.best else BLUE
    axes.plot([row.low, row.high], [y, y], color=colour, linewidth=2.2, solid_capstyle="butt", zorder=3)
    axes.plot([row.mean], [y], marker="D" if row.best else "o", markersize=6, color=colour, zorder=4)


def _cut(axes: Axes, series: Measurements, shown: tuple[float, float]) -> None:
    """An axis that holds most values, and what lies beyond it at its edge."""
    axes.set_xlim(*settle(shown))
    values = [
        (each, y) for y, row in enumerate(series.rows) for each in (*row.values, *(a.value for a in row.averages))
    ]
    mark_beyond(axes, values, SKY)
    means = [(row.mean, y, row.best) for y, row in enumerate(series.rows) if row.mean is not None]
    for best, colour in ((False, BLUE), (True, VERMILLION)):
        mark_beyond(axes, [(mean, y) for mean, y, own in means if own == best], colour)


def _labels(axes: Axes, labels: list[str], counts: list[str], heading: str) -> None:
    places = range(len(labels))
    axes.set_yticks(places, labels, fontsize=9)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    beside = axes.secondary_yaxis("right")
    beside.set_yticks(places, counts, fontsize=9)
    beside.tick_params(length=0)
    beside.spines["right"].set_visible(False)
    above: Any = {"transform": axes.transAxes, "fontsize": 8, "color": INK, "va": "bottom"}
    axes.text(1.015, 1.005, MEASURED, ha="left", **above)
    axes.text(-0.01, 1.005, heading, ha="right", **above)


def _count(row: CandidateRow) -> str:
    failed = f"{row.failed:,} failed" if row.failed else ""
    return f"{row.n:,}×" + (f", {failed}" if failed else "") if row.n else failed


def short_labels(rows: tuple[CandidateRow, ...]) -> list[str]:
    """Candidates in few characters, all different: with the names of columns where all of them have room."""
    if _needs_heading(rows):
        digits = 5 if all(len(_cells(row, 5)) <= LONGEST for row in rows) else 3  # in all rows alike
        labels = [_cut_cells(row, digits) for row in rows]
    else:
        labels = [row.label for row in rows]
    return [label if labels.count(label) == 1 else f"row {row.index}" for label, row in zip(labels, rows, strict=True)]


def _needs_heading(rows: tuple[CandidateRow, ...]) -> bool:
    """Whether labels are without the names of columns, which then stand above them."""
    return any(len(row.label) > LONGEST for row in rows)


def _cells(row: CandidateRow, digits: int) -> str:
    return ", ".join(_said_cells(row, digits))


def _said_cells(row: CandidateRow, digits: int) -> list[str]:
    return ["–" if value is None else said(value, digits) for value in row.candidate.values()]


def _cut_cells(row: CandidateRow, digits: int) -> str:
    cells = _said_cells(row, digits)
    if len(whole := ", ".join(cells)) <= LONGEST:
        return whole
    room = LONGEST // max(len(cells), 1) - 2
    return ", ".join(cut(cell, room) for cell in cells) if room >= CELL else f"row {row.index}"


def _heading(rows: tuple[CandidateRow, ...], labels: list[str]) -> str:
    """The names of the columns, above labels that are without; nothing where labels are numbers of rows."""
    listed = _needs_heading(rows) and any(not label.startswith("row ") for label in labels)
    return cut(", ".join(map(str, rows[0].candidate)), HEADING) if listed else ""


def _key(axes: Axes, series: Measurements) -> None:
    """What stands for what, of what there is."""
    nowhere: Any = ([], [])
    if any(row.values for row in series.rows):
        axes.scatter(*nowhere, s=14, color=SKY, label="measurement")
    if any(row.averages for row in series.rows):
        axes.plot(*nowhere, color=SKY, alpha=0.6, linewidth=6, label="told as average ± std")
    if any(row.mean is not None and not row.best for row in series.rows):
        axes.plot(*nowhere, color=BLUE, marker="o", markersize=6, linewidth=2.2, label="estimate")
    if any(row.best for row in series.rows):
        axes.plot(*nowhere, color=VERMILLION, marker="D", markersize=6, linewidth=2.2, label="recommended")
    if any(row.failed for row in series.rows):
        axes.scatter(*nowhere, s=22, marker="x", color=GREY, label="failed")
