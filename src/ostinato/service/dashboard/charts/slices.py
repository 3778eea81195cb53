"""What is believed along one column, through the best candidate."""

from ostinato.plots.data import Axis, Dot, Slice
from ostinato.service.dashboard.charts.frame import (
    Numbers,
    Picture,
    View,
    axes,
    band,
    dot,
    drawing,
    inside,
    legend_of,
    path,
    y_scale,
)
from ostinato.service.dashboard.charts.scales import Scale, spread
from ostinato.service.dashboard.html import Html, joined, tag
from ostinato.service.dashboard.words import number

HEIGHT = 280


def draw(data: Slice, view: View) -> Picture:
    """Mean, interval, and what was measured."""
    if not data.axes:
        return Picture(missing=data.missing)
    axis = data.axes[0]
    x = _x(axis, view)
    seen = [place for place, at in enumerate(data.x) if x.holds(at)] or list(range(len(data.x)))
    dots = [each for each in data.dots if x.holds(each.x)]
    whole = [*(data.low[p] for p in seen), *(data.high[p] for p in seen), *(each.average for each in dots)]
    y = y_scale(whole if data.shown is None else data.shown, HEIGHT)
    says = f"The estimate along {axis.name} lies between {number(min(data.mean))} and {number(max(data.mean))}."
    marks = [
        _mark(each, f"{each.label}: average {number(each.average)} of {each.n:,}", x, y)
        for each in sorted(dots, key=lambda each: each.on_slice)
    ]
    believed = _levels(data, x, y) if axis.category else _curve(data, x, y)
    names = axis.name, data.value
    return Picture(
        drawing=drawing(view, HEIGHT, x, says, axes(x, y, names, levels=axis.levels), inside(x, y, believed, marks)),
        says=says,
        note=data.note,
        legend=legend_of(
            ("key-line", "estimate"),
            ("key-band", f"{data.level:.0%} interval"),
            ("key-dot", "measured, same other columns"),
            ("key-other", "measured elsewhere"),
        ),
        numbers=_numbers(data, axis),
    )


def _mark(each: Dot, tip: str, x: Scale, y: Scale) -> Html:
    """A measured candidate; a triangle at the edge where its average lies outside."""
    if y.holds(each.average):
        return dot(
            (x(each.x), y(each.average)), tip, "dot" if each.on_slice else "dot other", 4 if each.on_slice else 3
        )
    edge, way = (y.start - 1, -1) if each.average < y.low else (y.end + 1, 1)
    return tag("path", d=f"M{x(each.x):g} {edge:g}l-4 {7 * way}h8z", class_="value far", data_tip=f"{tip}, outside")


def _x(axis: Axis, view: View) -> Scale:
    if axis.category:
        return view.x(-0.5, len(axis.levels) - 0.5)
    if axis.low == axis.high:
        return view.x(*spread([axis.low]))
    return view.x(axis.low, axis.high, log=axis.log)


def _curve(data: Slice, x: Scale, y: Scale) -> Html:
    xs = [x(at) for at in data.x]
    tips = _hover(data, x, y)
    if len(xs) == 1:
        return joined(_bar(xs[0], y(data.low[0]), y(data.high[0]), y(data.mean[0])), tips)
    lows, highs, means = ([y(each) for each in values] for values in (data.low, data.high, data.mean))
    return joined(band(xs, lows, highs), path(zip(xs, means, strict=True), "line"), tips)


def _hover(data: Slice, x: Scale, y: Scale) -> Html:
    """Places on the curve that say their value; they are not seen."""
    return joined(
        tag("circle", cx=x(at), cy=y(data.mean[p]), r=3, class_="ghost", data_tip=_said(data, p, number(at)))
        for p, at in enumerate(data.x)
        if x.holds(at)
    )


def _said(data: Slice, place: int, at: str) -> str:
    low, high = data.low[place], data.high[place]
    mean, first, last = (number(each, high - low) for each in (data.mean[place], low, high))
    return f"{data.axes[0].name} {at}: {mean} ({first} to {last})"


def _levels(data: Slice, x: Scale, y: Scale) -> Html:
    names = data.axes[0].levels
    return joined(
        tag(
            "g",
            _bar(x(at), y(data.low[p]), y(data.high[p]), y(data.mean[p])),
            data_tip=_said(data, p, names[int(at)]),
        )
        for p, at in enumerate(data.x)
        if x.holds(at)
    )


def _bar(at: float, low: float, high: float, mean: float) -> Html:
    box = tag("rect", x=at - 9, width=18, y=high, height=max(low - high, 1), rx=3, class_="interval")
    return joined(box, tag("line", x1=at - 12, x2=at + 12, y1=mean, y2=mean, class_="mean"))


def _numbers(data: Slice, axis: Axis) -> Numbers:
    def name(at: float) -> str:
        return axis.levels[int(at)] if axis.category else number(at)

    rows = [
        (name(at), *(number(each[p], data.high[p] - data.low[p]) for each in (data.mean, data.low, data.high)))
        for p, at in enumerate(data.x)
    ]
    return Numbers((axis.name, "estimate", "low", "high"), rows)
