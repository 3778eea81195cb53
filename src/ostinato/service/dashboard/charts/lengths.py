"""Batch lengths, and switches in all, against measurements."""

from collections.abc import Sequence

from ostinato.checks import counted
from ostinato.plots.data import BatchBar, Batches
from ostinato.service.dashboard.charts.frame import (
    Numbers,
    Picture,
    View,
    axes,
    drawing,
    inside,
    legend_of,
    path,
    y_axis,
)
from ostinato.service.dashboard.charts.scales import Scale
from ostinato.service.dashboard.html import Html, joined, tag

HEIGHT, UPPER, GAP = 310, 100, 36
MOST = 400  # bars; of more, neighbours share one


def draw(data: Batches, view: View) -> Picture:
    """A bar for every batch; above them, how often another candidate was set up."""
    bars = data.bars
    if not bars:
        return Picture(missing=data.missing)
    total = bars[-1].start + bars[-1].length
    x = view.x(0, max(total, 1))
    seen = [bar for bar in bars if bar.start <= x.high and bar.start + bar.length >= x.low]
    groups = _groups(seen)
    y = Scale(low=0, high=max((bar.length for bar in seen), default=1) * 1.08, start=HEIGHT - 44, end=UPPER + GAP)
    top = max(bars[-1].switches, 1)
    upper = Scale(low=0, high=top * 1.05, start=UPPER, end=24)
    says = f"{counted(len(bars), 'batch', 'batches')} of {counted(total, 'measurement')}, {_switches(bars[-1])}."
    steps = [point for bar in seen for point in _steps(bar, x, upper)]
    return Picture(
        drawing=drawing(
            view,
            HEIGHT,
            x,
            says,
            y_axis(upper, x, "switches"),
            inside(x, upper, path(steps, "line")),
            axes(x, y, ("measurements", "batch length")),
            [_bar(group, x, y) for group in groups],
        ),
        says=says,
        note=data.note
        if len(groups) == len(seen)
        else f"Each bar stands for {len(seen) // len(groups)} batches or more.",
        legend=legend_of(("key-bar", "batch"), ("key-line", "switches so far")),
        numbers=Numbers(
            ("batch", "first measurement", "length", "failed", "switches so far"),
            [(f"{b.batch}", f"{b.start + 1:,}", f"{b.length:,}", f"{b.failed:,}", f"{b.switches:,}") for b in bars],
        ),
    )


def _switches(bar: BatchBar) -> str:
    return counted(bar.switches, "switch", "switches")


def _groups(bars: Sequence[BatchBar]) -> list[Sequence[BatchBar]]:
    size = max(1, -(-len(bars) // MOST))
    return [bars[place : place + size] for place in range(0, len(bars), size)]


def _steps(bar: BatchBar, x: Scale, y: Scale) -> list[tuple[float, float]]:
    return [(max(x(at), x.start), y(bar.switches)) for at in (bar.start, min(bar.start + bar.length, x.high))]


def _bar(group: Sequence[BatchBar], x: Scale, y: Scale) -> Html:
    first, last = group[0], group[-1]
    start, end = max(x(first.start), x.start), min(x(last.start + last.length), x.end)
    longest = max(bar.length for bar in group)
    what = f"batch {first.batch}" if len(group) == 1 else f"batches {first.batch} to {last.batch}, at most"
    failed = sum(bar.failed for bar in group)
    tip = f"{what}: {counted(longest, 'measurement')}" + (f", {failed} failed" if failed else "")
    size = {"x": start, "width": max(end - start - (1 if end - start > 3 else 0), 0.6)}
    size |= {"y": y(longest), "height": max(y.start - y(longest), 1)}
    return joined(tag("rect", **size, class_="bar observed" if first.observed else "bar", data_tip=tip))
