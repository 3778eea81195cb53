"""What all figures have: a frame with axes, marks that say their value, and a table of the same numbers."""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

import msgspec

from ostinato.plots.data.common import cut
from ostinato.service.dashboard.charts.scales import Scale, spread
from ostinato.service.dashboard.html import (
    Child,
    Html,
    details,
    div,
    joined,
    p,
    summary,
    tag,
    td,
    tr,
)
from ostinato.service.dashboard.tables import heads_of, plain_table, scrolling

LEFT, RIGHT, TOP, BOTTOM = 62, 14, 24, 44
NARROW = 480
EDGE = 6  # pixels by which marks may leave the plot
ROWS = 200  # of a table of numbers
CHARACTER = 7.0  # pixels that a letter of an axis's name takes
NARROWEST, WIDEST = 280, 1600
NEAREST = 1e-12  # how far to zoom in, relative to the numbers on the axis


class View(msgspec.Struct, frozen=True):
    """What of a figure is wanted: at which width, and which part of its x axis."""

    width: int = 720
    start: float | None = None
    end: float | None = None

    @property
    def narrow(self) -> bool:
        return self.width < NARROW

    @property
    def zoomed(self) -> bool:
        if self.start is None or self.end is None or not isfinite(self.end - self.start):
            return False
        return self.end - self.start > NEAREST * max(abs(self.start), abs(self.end), NEAREST)

    def x(self, low: float, high: float, *, left: float = LEFT, log: bool = False) -> Scale:
        """The x axis, zoomed where that is wanted."""
        if self.zoomed and self.start is not None and self.end is not None and not (log and self.start <= 0):
            low, high = self.start, self.end
        return Scale(low=low, high=high, start=left, end=self.width - RIGHT, log=log)


class Numbers(msgspec.Struct, frozen=True):
    """The numbers of a figure as a table."""

    heads: tuple[str, ...]
    rows: Sequence[Sequence[str]]


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A figure: its drawing, what it says in a sentence, a note, and its numbers. missing: why there is none."""

    drawing: Html = Html("")
    says: str = ""
    note: str = ""
    legend: Html = Html("")
    numbers: Numbers = Numbers((), ())
    missing: str = ""


def y_scale(values: Iterable[float | None], height: float, top: float = TOP) -> Scale:
    """The y axis: upwards."""
    low, high = spread(values)
    return Scale(low=low, high=high, start=height - BOTTOM, end=top)


def drawing(view: View, height: float, x: Scale, says: str, *marks: Child) -> Html:
    """The SVG, with what a script has to know to zoom."""
    return tag(
        "svg",
        *marks,
        viewBox=f"0 0 {view.width} {height:g}",
        width=view.width,
        height=f"{height:g}",
        role="img",
        aria_label=says,
        tabindex="0",
        class_="chart",
        data_low=x.low,
        data_high=x.high,
        data_start=x.start,
        data_end=x.end,
        data_log="yes" if x.log else None,
    )


def inside(x: Scale, y: Scale, *marks: Child) -> Html:
    """Marks, cut where they leave the plot: of a figure that is zoomed, most of a line does."""
    left, width = x.start - EDGE, x.end - x.start + 2 * EDGE
    top, height = y.end - EDGE, y.start - y.end + EDGE + 2
    box = {"x": left, "y": top, "width": width, "height": height}
    return tag("svg", *marks, **box, viewBox=f"{left:g} {top:g} {width:g} {height:g}")


def axes(x: Scale, y: Scale, names: tuple[str, str], *, levels: Sequence[str] = ()) -> Html:
    """Grid, ticks and names."""
    return joined(y_axis(y, x, names[1]), x_axis(x, y.start, names[0], levels=levels))


def y_axis(y: Scale, x: Scale, name: str) -> Html:
    ticks = y.ticks(5)
    lines = [
        joined(
            tag("line", x1=x.start, x2=x.end, y1=y(tick), y2=y(tick), class_="grid"),
            tag("text", label, x=x.start - 8, y=y(tick) + 4, class_="tick end"),
        )
        for tick, label in zip(ticks, y.labels(ticks), strict=True)
    ]
    return joined(lines, _name(y.named(name), x.end, x=2, y=y.end - 11, class_="axis"))


def x_axis(x: Scale, bottom: float, name: str, *, levels: Sequence[str] = ()) -> Html:
    middle = (x.start + x.end) / 2
    base = tag("line", x1=x.start, x2=x.end, y1=bottom, y2=bottom, class_="base")
    words = _name(x.named(name), x.end - x.start, x=middle, y=bottom + 36, class_="axis middle")
    if levels:
        return joined(base, _level_ticks(x, bottom, levels), words)
    ticks = x.ticks(max(2, round((x.end - x.start) / 90)))
    marks = [
        joined(
            tag("line", x1=x(tick), x2=x(tick), y1=bottom, y2=bottom + 5, class_="base"),
            tag("text", label, x=x(tick), y=bottom + 18, class_="tick middle"),
        )
        for tick, label in zip(ticks, x.labels(ticks), strict=True)
    ]
    return joined(base, marks, words)


def _name(words: str, room: float, **place: Any) -> Html:
    """The name of an axis, cut to the room that it has; hovering says it all."""
    return tag("text", cut(words, int(room / CHARACTER)), tag("title", words), **place)


def _level_ticks(x: Scale, bottom: float, levels: Sequence[str]) -> Html:
    room = (x.end - x.start) / max(1, len(levels))
    every = max(1, round(34 / max(room, 1)))
    most = max(4, int(room * every / 6.2) - 1)  # a letter's room between two levels
    return joined(
        tag("text", cut(level, most), tag("title", level), x=x(place), y=bottom + 18, class_="tick middle")
        for place, level in enumerate(levels)
        if place % every == 0 and x.holds(place)
    )


def path(points: Iterable[tuple[float, float]], class_: str, *, closed: bool = False) -> Html:
    """A line through points."""
    d = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
    return tag("path", d=d + ("Z" if closed else ""), class_=class_)


def band(xs: Sequence[float], lows: Sequence[float], highs: Sequence[float]) -> Html:
    """An area between two lines."""
    there, back = list(zip(xs, lows, strict=True)), list(zip(xs, highs, strict=True))[::-1]
    return path([*there, *back], "band", closed=True)


def dot(at: tuple[float, float], tip: str, class_: str = "dot", r: float = 4) -> Html:
    """A point that says its value."""
    return tag("circle", cx=at[0], cy=at[1], r=r, class_=class_, data_tip=tip)


def legend_of(*entries: tuple[str, str]) -> Html:
    """What marks mean: pairs of a class and words."""
    return div(*(tag("span", tag("i", class_=f"key {kind}"), words) for kind, words in entries), class_="legend")


def numbers_table(title: str, numbers: Numbers) -> Html:
    """The numbers of a figure, for those who read them rather than look."""
    body = [tr(*(td(value) for value in row)) for row in numbers.rows[:ROWS]]
    more = len(numbers.rows) - ROWS
    return details(
        summary("Numbers"),
        scrolling(
            f"Numbers of {title}",
            plain_table(title, heads_of(numbers.heads), body, "compact"),
            p(f"and {more:,} more", class_="muted") if more > 0 else None,
            class_="scrolls",
        ),
        class_="numbers",
    )
