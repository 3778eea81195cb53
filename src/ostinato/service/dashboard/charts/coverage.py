"""Calibration: how often predicted intervals held, against how often they should."""

from ostinato.plots.data import Calibration
from ostinato.service.dashboard.charts.frame import (
    BOTTOM,
    TOP,
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
)
from ostinato.service.dashboard.charts.scales import Scale
from ostinato.service.dashboard.words import percent

HEIGHT = 280


def draw(data: Calibration, view: View) -> Picture:
    """On the diagonal all is well; within the band it may be chance."""
    shares = data.shares
    if not shares:
        return Picture(missing=data.missing)
    x = view.x(0, 1)
    y = Scale(low=0, high=1, start=HEIGHT - BOTTOM, end=TOP)
    wide = min(shares, key=lambda each: abs(each.level - 0.9))
    says = f"Of intervals that should hold {percent(wide.level)} of the time, {percent(wide.held)} did."
    xs = [x(each.level) for each in shares]
    marks = [
        dot((x(s.level), y(s.held)), f"{percent(s.level)} intervals: {percent(s.held)} held", "dot", 3.5)
        for s in shares
        if x.holds(s.level)
    ]
    return Picture(
        drawing=drawing(
            view,
            HEIGHT,
            x,
            says,
            axes(x, y, ("predicted probability", "share that held")),
            inside(
                x,
                y,
                band(xs, [y(each.low) for each in shares], [y(each.high) for each in shares]),
                path([(x(0), y(0)), (x(1), y(1))], "line model"),
                path([(x(each.level), y(each.held)) for each in shares], "line"),
                marks,
            ),
        ),
        says=says,
        note=data.note,
        legend=legend_of(("key-line", "held"), ("key-model", "ideal"), ("key-band", "expected by chance (95%)")),
        numbers=Numbers(
            ("level", "held", "low", "high"),
            [tuple(percent(v) for v in (s.level, s.held, s.low, s.high)) for s in shares],
        ),
    )
