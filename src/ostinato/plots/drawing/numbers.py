"""Axes with numbers."""

from typing import Any

import numpy as np
from matplotlib.ticker import Formatter, FuncFormatter, MaxNLocator, NullLocator

from ostinato.plots.ticks import differences, less, number, offset_of


class Plain(Formatter):
    """Ticks in as many digits as tell them apart: 2.5e-12, 40, 1,200. offset: taken off all of them."""

    def __init__(self, offset: float = 0.0) -> None:
        self._offset = offset

    def __call__(self, x: float, pos: int | None = None) -> str:
        return number(x - self._offset, [x - self._offset])

    def format_ticks(self, values: Any) -> list[str]:
        shown = differences(np.asarray(values, dtype=np.float64), self._offset)
        return [number(float(each), shown) for each in shown]


def number_axis(axis: Any, name: str, bins: int = 6) -> None:
    """Numbers and a name for an axis whose range is settled."""
    offset = offset_of(*axis.get_view_interval())
    axis.set_major_locator(MaxNLocator(bins, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(Plain(offset))
    axis.set_label_text(less(name, offset))


def whole_numbers(axis: Any, bins: int = 7) -> None:
    axis.set_major_locator(MaxNLocator(bins, integer=True))
    axis.set_major_formatter(FuncFormatter(_in_whole))


def logarithmic(axis: Any) -> None:
    """Decades, or ticks within one, without small ones between."""
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(_in_general))


def _in_whole(value: float, _: int | None = None) -> str:
    return f"{value:,.0f}"


def _in_general(value: float, _: int | None = None) -> str:
    return f"{value:g}"
