"""Figures of the experiments: a panel a problem, the same colour for the same algorithm everywhere.

The three mini algorithms are drawn strong and on top. A baseline has the hue of the mini algorithm that shares its rule
(UCB, EI, TS), paler and dashed, and every algorithm has a marker of its own, so that nothing hangs on colour alone.
Needs matplotlib: the extra `benchmarks`, whose global state is left alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from ostinato.arrays import Vector
from ostinato.experiments import summary
from ostinato.experiments.records import Run
from ostinato.experiments.summary import Curve, Field
from ostinato.plots.drawing.style import FAINT, INK, save_png, styled, svg

Axes: TypeAlias = Any  # matplotlib's types are partial: they end here
Draw: TypeAlias = Callable[[Axes, str, str, "LineStyle"], None]

__all__ = ["FAINT", "INK", "regret", "rounds", "save_png", "seconds", "svg", "unique"]

POINTS = 80  # a curve is thinned to about so many


@dataclass(frozen=True)
class LineStyle:
    """How an algorithm is drawn."""

    colour: str
    marker: str
    dash: str | tuple[float, tuple[float, ...]] = "-"
    strong: bool = False

    @property
    def line(self) -> dict[str, Any]:
        """What matplotlib calls it."""
        return {
            "color": self.colour,
            "linestyle": self.dash,
            "marker": self.marker,
            "linewidth": 2.4 if self.strong else 1.3,
            "markersize": 6 if self.strong else 4.5,
            "markeredgewidth": 0 if self.strong else 1.1,
            "markerfacecolor": self.colour if self.strong else "none",
            "zorder": 4 if self.strong else 3,
        }


DASHED, DOTTED, DOT_DASHED, LONG = (0.0, (4.0, 1.6)), (0.0, (1.2, 1.4)), (0.0, (5.0, 1.4, 1.2, 1.4)), (0.0, (8.0, 2.0))
LINE_STYLES = {
    "mini-GP-UCB": LineStyle("#0072b2", "o", strong=True),
    "mini-GP-EI": LineStyle("#d55e00", "s", strong=True),
    "mini-GP-TS": LineStyle("#009e73", "^", strong=True),
    "GP-UCB": LineStyle("#6aaed6", "o", DASHED),
    "GP-EI": LineStyle("#f0a06a", "s", DASHED),
    "GP-TS": LineStyle("#66c2a4", "^", DASHED),
    "GP-BUCB": LineStyle("#6aaed6", "v", DOT_DASHED),
    "GP-BTS": LineStyle("#66c2a4", ">", DOT_DASHED),
    "BKB": LineStyle("#b596c9", "D", DASHED),
    "BBKB": LineStyle("#9467bd", "d", LONG),
    "RS-OFUL": LineStyle("#b8a24a", "P", DOT_DASHED),
    "ε-greedy": LineStyle("#a0a0a0", "x", DASHED),
    "uniform": LineStyle("#8a8a8a", "", DOTTED),
}
OTHERS = [
    LineStyle("#cc79a7", "*"),
    LineStyle("#8c6d5a", "h"),
    LineStyle("#c9a400", "X"),
    LineStyle("#5b6bb5", "<"),
    LineStyle("#d6707c", "p"),
]


def line_styles(algorithms: Sequence[str]) -> dict[str, LineStyle]:
    """A look for each algorithm; labels of your own take theirs in turn."""
    own = [label for label in algorithms if label not in LINE_STYLES]
    return {label: LINE_STYLES.get(label) or _other(own.index(label)) for label in algorithms}


def _other(i: int) -> LineStyle:
    again, place = divmod(i, len(OTHERS))
    return replace(OTHERS[place], dash=("-", DASHED, DOT_DASHED, LONG)[again % 4])


# ---- the four figures ---------------------------------------------------------------------------------------------


def regret(runs: Sequence[Run]) -> Figure:
    """Average regret against measurements, with 95% bands: a share of uniform's where uniform ran."""

    def draw(axes: Axes, problem: str, algorithm: str, look: LineStyle) -> None:
        _plot(axes, _settled(summary.normalised(runs, problem, algorithm), longest), look, band=True)

    longest = max((run.t[-1] for run in runs), default=1)
    return _panels(runs, draw, x="measurements", y=lambda problem: _regret_label(runs, problem))


def unique(runs: Sequence[Run]) -> Figure:
    """Different candidates measured against measurements, with 95% bands."""
    return _counts(runs, "unique", "different candidates measured")


def rounds(runs: Sequence[Run]) -> Figure:
    """Rounds against measurements; for the mini algorithms the different candidates too, as dots below their line."""

    def draw(axes: Axes, problem: str, algorithm: str, look: LineStyle) -> None:
        _plot(axes, summary.curve(runs, problem, algorithm, "rounds"), look)
        if look.strong:
            dots = replace(look, dash=DOTTED, marker="")
            _plot(axes, summary.curve(runs, problem, algorithm, "unique"), dots)

    mini = any(LINE_STYLES[label].strong for label in summary.algorithms(runs) if label in LINE_STYLES)
    extra = {"dotted: different candidates": LineStyle(INK, "", DOTTED, strong=True)} if mini else {}
    return _panels(runs, draw, x="measurements", y=lambda _: "rounds", extra=extra)


def seconds(runs: Sequence[Run]) -> Figure:
    """Average regret against the processor time that the algorithm took; the marker is where the run ended."""

    def draw(axes: Axes, problem: str, algorithm: str, look: LineStyle) -> None:
        share, time = summary.normalised(runs, problem, algorithm), summary.curve(runs, problem, algorithm, "seconds")
        _path(axes, time.mean[: len(share.t)], share.mean, look)

    figure = _panels(runs, draw, x="seconds of the algorithm", y=lambda problem: _regret_label(runs, problem))
    for axes in figure.axes:
        _skip_the_first_instants(axes)
    return figure


def _counts(runs: Sequence[Run], field: Field, label: str) -> Figure:
    def draw(axes: Axes, problem: str, algorithm: str, look: LineStyle) -> None:
        _plot(axes, summary.curve(runs, problem, algorithm, field), look, band=True)

    return _panels(runs, draw, x="measurements", y=lambda _: label)


def _regret_label(runs: Sequence[Run], problem: str) -> str:
    known = summary.has_uniform(runs, problem)
    return "average regret, share of uniform’s" if known else "average regret (not normalised)"


def _settled(curve: Curve, longest: int) -> Curve:
    """Without the first half a percent of the longest run, where averages over few measurements are mostly chance."""
    late = curve.t >= min(longest / 200, curve.t[-1])
    return replace(curve, t=curve.t[late], mean=curve.mean[late], low=curve.low[late], high=curve.high[late])


# ---- one line -----------------------------------------------------------------------------------------------------


def _plot(axes: Axes, curve: Curve, look: LineStyle, *, band: bool = False) -> None:
    keep = _thinned(curve.t)
    t = curve.t[keep]
    axes.plot(t, _positive(curve.mean[keep]), **look.line, markevery=_marked(len(t), look))
    if band and curve.seeds > 1:
        floor = curve.mean[keep] / 10  # a logarithmic axis has no room for zero
        low, high = np.maximum(curve.low[keep], floor), curve.high[keep]
        strength = 0.18 if look.strong else 0.07
        axes.fill_between(t, low, high, color=look.colour, alpha=strength, linewidth=0, zorder=2)


def _path(axes: Axes, x: Vector, y: Vector, look: LineStyle) -> None:
    keep = _thinned(x)
    x, y = _positive(x[keep]), _positive(y[keep])
    axes.plot(x, y, **{**look.line, "marker": ""}, alpha=0.9 if look.strong else 0.75)
    axes.plot(x[-1:], y[-1:], **{**look.line, "markersize": 9 if look.strong else 6, "marker": look.marker or "."})


def _skip_the_first_instants(axes: Axes) -> None:
    ends = [line.get_xdata()[-1] for line in axes.lines if len(line.get_xdata())]
    if np.any(np.isfinite(ends)):
        axes.set_xlim(left=np.nanmin(ends) / 30)


def _thinned(t: Vector) -> Any:
    """Which points to draw: about as many for each factor in t."""
    if len(t) <= POINTS:
        return np.arange(len(t))
    wanted: Vector = np.geomspace(max(float(t[0]), float(t[-1]) * 1e-6), float(t[-1]), POINTS)
    return np.unique(np.minimum(np.searchsorted(t, wanted), len(t) - 1))


def _positive(values: Vector) -> Vector:
    return np.where(values > 0, values, np.nan)


def _marked(points: int, look: LineStyle) -> list[int]:
    """Where markers stand: at the end of the line, and twice before, not where the other algorithms have theirs."""
    order = [other.marker for other in (*LINE_STYLES.values(), *OTHERS)]
    gap = max(points // 3, 1)
    first = gap // 2 + order.index(look.marker) * gap // len(order)
    return [*range(first, points - gap // 3 - 1, gap), points - 1]


# ---- panels -------------------------------------------------------------------------------------------------------


def _panels(
    runs: Sequence[Run], draw: Draw, *, x: str, y: Callable[[str], str], extra: dict[str, LineStyle] | None = None
) -> Figure:
    """A panel a problem, and one legend for all of them."""
    problems, shown = summary.problems(runs), line_styles(summary.algorithms(runs))
    with styled():
        figure: Any = Figure(figsize=_size(len(problems)), layout="constrained")
        figure.get_layout_engine().set(w_pad=0.08, h_pad=0.06, hspace=0.04, wspace=0.03)
        columns = _columns(len(problems))
        for i, problem in enumerate(problems):
            axes = figure.add_subplot(ceil(len(problems) / columns), columns, i + 1)
            for algorithm in reversed(summary.algorithms(runs, problem)):
                draw(axes, problem, algorithm, shown[algorithm])
            _dress(axes, problem)
            axes.set_xlabel(x if i + columns >= len(problems) else "")
            axes.set_ylabel(y(problem) if i % columns == 0 or y(problem) != y(problems[i - 1]) else "")
        _legend(figure, shown | (extra or {}))
    return figure


def _columns(panels: int) -> int:
    return panels if panels <= 3 else 2 if panels == 4 else 3


def _size(panels: int) -> tuple[float, float]:
    """In inches: ten wide, panels a little wider than high, and room for the legend."""
    columns = _columns(panels)
    height = {1: 4.6, 2: 3.4, 3: 2.9}[columns]
    return 10.0, ceil(panels / columns) * height + 0.85


def _dress(axes: Axes, problem: str) -> None:
    axes.set_title(problem)
    axes.tick_params(length=0)
    if not any(np.isfinite(line.get_ydata()).any() for line in axes.lines):
        return  # nothing above zero, which logarithms could show
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_locator(NullLocator())
        axis.set_major_formatter(FuncFormatter(_tick))
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < 100 * low else (1,)))


def _tick(value: float, _: int | None = None) -> str:
    """Numbers as people write them: 0.05, 2,000, 3 million."""
    if value >= 1e6:
        return f"{value / 1e6:g} million"
    return f"{value:,.0f}" if value >= 1 and value == round(value) else f"{value:g}"


def _legend(figure: Any, shown: dict[str, LineStyle]) -> None:
    handles = [Line2D([], [], **look.line, label=label) for label, look in shown.items()]
    columns = max(ceil(len(handles) / 3), 1)
    figure.legend(handles=handles, loc="outside lower center", ncols=columns, handlelength=3.4, columnspacing=2.2)
