"""How all figures look: type, colours that colour-blind people can tell apart, numbers on axes, and files.

matplotlib's global state is left alone: every figure is made and saved within `styled`.
"""

import logging
import re
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from textwrap import fill
from typing import Any, TypeAlias, cast

import matplotlib
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

from ostinato.errors import InvalidSetting
from ostinato.plots.data import Series
from ostinato.plots.data.common import cut

Axes: TypeAlias = Any  # matplotlib's types are partial: they end here

INK, FAINT = "#3b4048", "#8a919b"
LONGEST = 44  # characters of the name of an axis
PAPER = "#fffffe"  # what is behind the drawing: in a page, the page
BLUE, VERMILLION, GREEN, SKY, GREY = "#0072b2", "#d55e00", "#009e73", "#56b4e9", "#a0a6ae"
STYLE: dict[str, Any] = {
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": FAINT,
    "grid.alpha": 0.22,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.fonttype": "none",
    "svg.hashsalt": "ostinato",
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color"), INK),
    "axes.edgecolor": FAINT,
}
WIDTH, HEIGHT = 6.4, 4.2  # inches
FORMATS = ("svg", "png", "pdf")
LEGEND = 82  # characters, of a legend as wide as the figure
LINE = 13  # points, of a line of a legend
PLAIN = "DejaVu Sans"  # comes with matplotlib
ASIAN = (  # that have Chinese, Japanese or Korean; the first that is installed serves where PLAIN has no glyph
    *("Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans CJK KR", "Source Han Sans", "PingFang SC", "Hiragino Sans"),
    *("Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "IPAexGothic"),
    *("Droid Sans Fallback", "Arial Unicode MS", "Unifont"),
)


@contextmanager
def styled() -> Generator[None]:
    """Within this, matplotlib draws as we do."""
    with cast(Any, matplotlib).rc_context({**STYLE, "font.family": _fonts()}):
        yield


@cache
def _fonts() -> list[str]:
    """Fonts, of which the second has what the first lacks."""
    installed = {font.name for font in fontManager.ttflist}
    return [PLAIN, *(name for name in ASIAN if name in installed)][:2]


def new_figure(height: float = HEIGHT) -> Any:
    figure: Any = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    figure.get_layout_engine().set(w_pad=0.08, h_pad=0.08)
    return figure


def empty_figure(series: Series, title: str) -> Figure:
    """A figure that says what is missing."""
    figure = new_figure(2.4)
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.set_title(title)
    axes.text(0.5, 0.5, fill(series.missing, 60), ha="center", va="center", color=INK, transform=axes.transAxes)
    return figure


def dress(axes: Axes, title: str, *, legend: int = LEGEND, room: bool = False) -> None:
    """A title, and between it and the data a legend that covers nothing, or the room for one.

    legend: how many characters there are for it; with 0 there is none.
    """
    axes.tick_params(length=0)
    listed: list[Any] = axes.get_legend_handles_labels()[0] if legend else []
    columns = _columns([str(each.get_label()) for each in listed], legend) if listed else 1
    lines = -(-len(listed) // columns)
    axes.set_title(title, pad=22 + LINE * max(lines - 1, 0) if listed or room else 8)
    if listed:
        axes.legend(
            loc="lower left",
            bbox_to_anchor=(-0.01, 0.99),
            ncols=columns,
            fontsize=9,
            borderaxespad=0.2,
            handlelength=1.4,
            columnspacing=1.4,
            handletextpad=0.5,
        )


def _columns(labels: Sequence[str], room: int) -> int:
    """As many columns as have room; matplotlib fills one after the other, from the top."""
    for columns in range(len(labels), 1, -1):
        lines = -(-len(labels) // columns)
        widest = [max(map(len, labels[start : start + lines])) for start in range(0, len(labels), lines)]
        if sum(widest) + 6 * len(widest) <= room:
            return len(widest)
    return 1


def mark_beyond(axes: Axes, points: Sequence[tuple[float, float]], colour: str) -> None:
    """Triangles at the edges of axes that are settled, for points beyond them."""
    (left, right), (low, high) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
    for marker, x, y in _at_edges(points, (left, right), (low, high)):
        axes.scatter([x], [y], s=34, marker=marker, color=colour, linewidths=0, zorder=5, clip_on=False)


def _at_edges(
    points: Sequence[tuple[float, float]], across: tuple[float, float], up: tuple[float, float]
) -> Iterator[tuple[str, float, float]]:
    """Where they are marked, by a triangle that points to where they are."""
    for x, y in points:
        at = min(max(x, across[0]), across[1]), min(max(y, up[0]), up[1])
        if at != (x, y):
            yield ("<" if x < at[0] else ">" if x > at[0] else "v" if y < at[1] else "^"), *at


def settle(axis: tuple[float, float], room: float = 0.06) -> tuple[float, float]:
    """The ends of an axis that holds a range, with some room on either side."""
    low, high = axis
    return low - room * (high - low), high + room * (high - low)


def add_note(figure: Any, note: str) -> None:
    """How it was made, in small type below."""
    if note:
        words = fill(note, 108)
        figure.supxlabel(words, x=0.015, ha="left", fontsize=8, color="#6b727c", multialignment="left")


def value_label(series: Series) -> str:
    """What the measured number is called, and which way is better where that is not the usual one."""
    name = cut(series.value, LONGEST)
    return name if series.maximizes else f"{name} (lower is better)"


# ---- files --------------------------------------------------------------------------------------------------------


def save(figure: Figure, path: Path) -> None:
    """As SVG, PNG or PDF, by the ending of the name."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InvalidSetting(f"{path.name} is not a picture that can be made: end its name in .svg, .png or .pdf.")
    path.write_bytes(as_bytes(figure, kind))


def as_bytes(figure: Figure, kind: str) -> bytes:
    """The file itself; the same figure gives the same bytes."""
    metadata: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    file = BytesIO()
    with _drawn():
        cast(Any, figure).savefig(file, format=kind, dpi=160, facecolor="white", metadata=metadata)
    return file.getvalue()


@contextmanager
def _drawn() -> Generator[None]:
    """As we draw, and quietly where fonts lack a glyph, which is a box then, or a weight."""
    said = logging.getLogger("matplotlib.font_manager")
    level = said.level
    said.setLevel(logging.ERROR)
    try:
        with styled(), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")
            yield
    finally:
        said.setLevel(level)


def save_png(figure: Figure, path: Path) -> None:
    """The figure as a PNG file on white, 1600 pixels wide where it is 10 inches."""
    path.write_bytes(as_bytes(figure, "png"))


def svg(figure: Figure) -> str:
    """The figure as an `<svg>` element to put into a page: transparent, its text in the page's colour."""
    file = BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with _drawn():
        cast(Any, figure).savefig(file, format="svg", transparent=True, metadata=nothing)
    return _inlined(file.getvalue().decode())


def _inlined(text: str) -> str:
    """Without what a page must not repeat (prologue, names of groups), in its ink, paths to a hundredth of a point."""
    text = text[text.index("<svg") :].replace(INK, "currentColor").replace(PAPER, "var(--back, #fff)")
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    return re.sub(r' d="[^"]*"', lambda path: re.sub(r"(\.\d\d)\d+", r"\1", path[0]), text)
