"""A line of the last values, as small as a word."""

from collections.abc import Sequence

from ostinato.service.dashboard.charts.frame import path
from ostinato.service.dashboard.charts.scales import Scale, spread
from ostinato.service.dashboard.html import Html, joined, tag

WIDTH, HEIGHT, EDGE = 120, 28, 3


def spark(values: Sequence[float]) -> Html:
    """The values from the oldest to the newest; the newest has a dot."""
    says = f"Last {len(values)} values, the newest {values[-1]:.6g}" if values else "No values yet"
    box = {"viewBox": f"0 0 {WIDTH} {HEIGHT}", "width": WIDTH, "height": HEIGHT}
    if not values:
        base = tag("line", x1=EDGE, x2=WIDTH - EDGE, y1=HEIGHT / 2, y2=HEIGHT / 2, class_="spark-none")
        return tag("svg", base, **box, role="img", aria_label=says, class_="spark")
    low, high = spread(values, 0.0)
    x = Scale(low=0, high=max(1, len(values) - 1), start=EDGE, end=WIDTH - EDGE)
    y = Scale(low=low, high=high, start=HEIGHT - EDGE, end=EDGE)
    points = [(x(place), y(value)) for place, value in enumerate(values)]
    last = tag("circle", cx=points[-1][0], cy=points[-1][1], r=2.5, class_="spark-dot")
    marks = joined(path(points, "spark-line"), last)
    return tag("svg", marks, **box, role="img", aria_label=says, class_="spark")
