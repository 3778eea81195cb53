"""Measurements by candidate: every repeat, the interval of the true value, and the estimate."""

from collections.abc import Sequence

import msgspec

from ostinato.checks import counted
from ostinato.plots.data import CandidateRow, Measurements
from ostinato.plots.data.common import cut, said
from ostinato.service.dashboard.charts.frame import (
    Numbers,
    Picture,
    View,
    dot,
    drawing,
    legend_of,
    x_axis,
)
from ostinato.service.dashboard.charts.scales import Scale, spread
from ostinato.service.dashboard.html import Html, joined, tag
from ostinato.service.dashboard.words import number

ROW, ROW_NARROW, FOOT = 30, 42, 44
COUNT = 40  # pixels for how often each was measured
LETTER = 7.2  # pixels that a bold one takes, about


def draw(data: Measurements, view: View) -> Picture:
    """The best candidates, one in each row."""
    rows = data.rows
    if not rows:
        return Picture(missing=data.missing)
    left = 8 if view.narrow else min(max(len(row.label) for row in rows) * LETTER + 24, view.width * 0.38)
    low, high = _range(data)
    x = msgspec.structs.replace(view.x(low, high, left=left), end=view.width - COUNT)
    step = ROW_NARROW if view.narrow else ROW
    height = step * len(rows) + FOOT + 8
    best = next((row for row in rows if row.best), None)
    labels = _labels(rows, int((x.end - 70 if view.narrow else left - 16) / LETTER))
    values = any(row.n for row in rows)
    says = f"{counted(len(rows), 'candidate')}, the best first" + (f": {best.label}." if best else ".")
    says = says if values else data.note
    return Picture(
        drawing=drawing(
            view,
            height,
            x,
            says,
            _grid(x, height - FOOT) if values else None,
            [
                _row(row, label, x, 8 + step * place, step, left, narrow=view.narrow)
                for place, (row, label) in enumerate(zip(rows, labels, strict=True))
            ],
            x_axis(x, height - FOOT, data.value) if values else None,
        ),
        says=says,
        note=data.note,
        legend=legend_of(
            ("key-value", "single measurement"),
            ("key-interval", f"{data.level:.0%} interval"),
            ("key-mean", "estimate"),
        )
        if values
        else Html(""),
        numbers=_numbers(data),
    )


def _range(data: Measurements) -> tuple[float, float]:
    """What the axis holds: intervals and values, but for those that are far off."""
    if data.shown is not None:
        return spread(data.shown)
    averages = [each.value for row in data.rows for each in row.averages]
    return spread([*averages, *(end for row in data.rows for end in (row.low, row.high, *row.values))])


def _grid(x: Scale, bottom: float) -> Html:
    ticks = x.ticks(max(2, round((x.end - x.start) / 90)))
    return joined(tag("line", x1=x(tick), x2=x(tick), y1=4, y2=bottom, class_="grid") for tick in ticks)


def _labels(rows: Sequence[CandidateRow], room: int) -> list[str]:
    """Candidates in so many letters: by their values alone where the names of columns leave no room for these."""
    if all(len(row.label) <= room for row in rows):
        return [row.label for row in rows]
    values = [["–" if value is None else said(value) for value in row.candidate.values()] for row in rows]
    return [cut(", ".join(each), room) for each in values]


def _row(row: CandidateRow, label: str, x: Scale, top: float, step: float, left: float, *, narrow: bool) -> Html:
    middle = top + (step * 0.68 if narrow else step / 2)
    words = tag(
        "text",
        label,
        tag("title", row.label),
        x=left if narrow else left - 12,
        y=top + 11 if narrow else middle + 4,
        class_=f"name {'' if narrow else 'end'} {'best' if row.best else ''}".strip(),
    )
    back = tag("rect", x=0, y=top, width=x.end + COUNT, height=step, class_="best-row") if row.best else None
    failed = f"{row.failed:,} failed" if row.failed else ""
    count = ", ".join(filter(None, [f"×{row.n:,}" if row.n else "", failed]))
    at = top + 11 if narrow else middle + 4
    counted_ = tag("text", count, x=x.end + COUNT - 4, y=at, class_="tick end count")
    return joined(back, words, _marks(row, x, middle), counted_)


def _marks(row: CandidateRow, x: Scale, middle: float) -> Html:
    """Interval first, values over it, the estimate on top."""
    interval = mean = None
    if row.low is not None and row.high is not None and row.mean is not None:
        scale = row.high - row.low
        ends = max(x(row.low), x.start), min(x(row.high), x.end)
        tip = (
            f"{row.label}: {number(row.mean, scale)} ({number(row.low, scale)} to {number(row.high, scale)}), "
            f"measured {counted(row.n, 'time')}"
        )
        if ends[0] <= ends[1]:
            size = {"x": ends[0], "width": max(ends[1] - ends[0], 1), "y": middle - 5, "height": 10, "rx": 3}
            interval = tag("rect", **size, class_="interval", data_tip=tip)
        if x.holds(row.mean):
            at = x(row.mean)
            mean = tag("line", x1=at, x2=at, y1=middle - 8, y2=middle + 8, class_="mean", data_tip=tip)
        else:
            mean = _at_edge(row.mean, x, middle, "mean far", tip)
    values = [_value(value, f"{row.label}: {number(value)}", x, middle, 2.6) for value in row.values]
    averages = [
        _value(each.value, f"average of {each.count:,}: {number(each.value)}", x, middle, 4) for each in row.averages
    ]
    return joined(interval, values, averages, mean)


def _value(value: float, tip: str, x: Scale, middle: float, size: float) -> Html:
    """A measurement; a triangle at the edge where it lies outside."""
    if x.holds(value):
        return dot((x(value), middle), tip, "value", size)
    return _at_edge(value, x, middle, "value far", f"{tip}, outside of the figure")


def _at_edge(value: float, x: Scale, middle: float, kind: str, tip: str) -> Html:
    edge, way = (x.start + 1, 1) if value < x.low else (x.end - 1, -1)
    return tag("path", d=f"M{edge:g} {middle:g}l{7 * way} -4v8z", class_=kind, data_tip=tip)


def _numbers(data: Measurements) -> Numbers:
    def scale(row: CandidateRow) -> float:
        return (row.high or 0.0) - (row.low or 0.0)

    rows = [
        (row.label, f"{row.n:,}", f"{row.failed:,}", *(number(v, scale(row)) for v in (row.mean, row.low, row.high)))
        for row in data.rows
    ]
    return Numbers(("candidate", "measured", "failed", "estimate", "low", "high"), rows)
