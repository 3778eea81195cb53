"""Noise: how repeats of each candidate scatter, beside the noise of the model."""

from ostinato.plots.data import Noise, Scatter
from ostinato.service.dashboard.charts.frame import (
    Numbers,
    Picture,
    View,
    axes,
    dot,
    drawing,
    inside,
    legend_of,
    path,
)
from ostinato.service.dashboard.charts.scales import Scale, spread
from ostinato.service.dashboard.html import Html, joined, tag
from ostinato.service.dashboard.words import number

HEIGHT = 260
CLIP = 4.0  # times the largest standard deviation, beyond which intervals of few repeats are cut


def draw(data: Noise, view: View) -> Picture:
    """A point for every candidate with repeats, with an interval."""
    rows = data.rows
    if not rows:
        return Picture(missing=data.missing)
    x = view.x(*spread(data.shown or [row.average for row in rows]))
    seen = [row for row in rows if x.holds(row.average)] or list(rows)
    highest = [each for row in seen for each in (row.std, row.model) if data.top is None or each <= data.top]
    most = max(highest, default=data.top or 0.0)
    top = min(max(row.high for row in seen), CLIP * most) if most else 1.0
    y = Scale(low=0, high=top * 1.06, start=HEIGHT - 44, end=24)
    middle = sorted(row.std for row in rows)[len(rows) // 2]
    says = f"Repeats of {len(rows):,} candidates scatter by {number(middle, middle)} in the middle."
    model = path([(x(row.average), y(row.model)) for row in rows], "line model") if len(rows) > 1 else None
    if data.equal is not None:
        model = path([(x.start, y(data.equal)), (x.end, y(data.equal))], "line model")
    return Picture(
        drawing=drawing(
            view,
            HEIGHT,
            x,
            says,
            axes(x, y, (f"average {data.value}", f"{data.value}, standard deviation")),
            inside(x, y, model, [_mark(row, x, y) for row in (seen if view.zoomed else rows)]),
        ),
        says=says,
        note=data.note,
        legend=legend_of(
            ("key-dot", "repeats"), ("key-interval", f"{data.level:.0%} interval"), ("key-model", "model")
        ),
        numbers=Numbers(
            ("candidate", "measured", "average", "std of repeats", "low", "high", "model"),
            [(r.label, f"{r.n:,}", number(r.average), *map(number, (r.std, r.low, r.high, r.model))) for r in rows],
        ),
    )


def _mark(row: Scatter, x: Scale, y: Scale) -> Html:
    at = min(max(x(row.average), x.start), x.end)
    line = tag("line", x1=at, x2=at, y1=y(row.low), y2=max(y(row.high), y.end), class_="whisker")
    tip = (
        f"{row.label}: {number(row.std, row.std)} ({number(row.low, row.std)} to {number(row.high, row.std)}), "
        f"measured {row.n:,} times"
    )
    if x.holds(row.average) and y.holds(row.std):
        return joined(line, dot((at, y(row.std)), tip, "dot", 3.5))
    edge = max(y(row.std), y.end + 1)
    return tag("path", d=f"M{at:g} {edge:g}l-4 7h8z", class_="value far", data_tip=f"{tip}, outside of the figure")
