"""The recommended value with its interval, against measurements."""

from collections.abc import Sequence

from ostinato.plots.data import Moment, Progress
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
from ostinato.service.dashboard.words import number

HEIGHT = 280
WIDE = 4.0  # times the usual width of an interval: wider ones are cut


def _seen(moments: Sequence[Moment]) -> list[float]:
    """What the y axis holds: all estimates, and intervals but for the few that are wide because little was known."""
    widths = sorted(each.high - each.low for each in moments)
    usual = WIDE * widths[len(widths) // 2]
    ends = [end for each in moments if each.high - each.low <= usual for end in (each.low, each.high)]
    return [*ends, *(each.mean for each in moments)]


def draw(data: Progress, view: View) -> Picture:
    """How the recommendation came about."""
    moments = data.moments
    if not moments:
        return Picture(missing=data.missing)
    last = moments[-1]
    x = view.x(0, max(last.measurements, 1))
    seen = [each for each in moments if x.holds(each.measurements)] or [last]
    y = y_scale(_seen(seen), HEIGHT)
    says = (
        f"After {last.measurements:,} measurements the recommended value is {number(last.mean, last.high - last.low)}, "
        f"between {number(last.low, last.high - last.low)} and {number(last.high, last.high - last.low)}."
    )
    xs = [x(each.measurements) for each in moments]
    marks = [
        dot(
            (x(each.measurements), y(each.mean)),
            f"after {each.measurements:,}: {number(each.mean, each.high - each.low)} "
            f"({number(each.low, each.high - each.low)} to {number(each.high, each.high - each.low)}) — {each.label}",
            "dot changed" if each.changed else "dot",
            4.5 if each.changed else 3,
        )
        for each in seen
    ]
    shown = drawing(
        view,
        HEIGHT,
        x,
        says,
        axes(x, y, ("measurements", data.value)),
        inside(
            x,
            y,
            band(xs, [y(each.low) for each in moments], [y(each.high) for each in moments]),
            path([(x(each.measurements), y(each.mean)) for each in moments], "line"),
            marks,
        ),
    )
    rows = [
        (f"{m.measurements:,}", m.label, *(number(v, m.high - m.low) for v in (m.mean, m.low, m.high))) for m in moments
    ]
    return Picture(
        drawing=shown,
        says=says,
        note=data.note,
        legend=legend_of(
            ("key-line", "recommended"), ("key-band", f"{data.level:.0%} interval"), ("key-ring", "another candidate")
        ),
        numbers=Numbers(("measurements", "recommended", "estimate", "low", "high"), rows),
    )
