"""Numbers on axes: as few digits as tell ticks apart, without a factor in a corner."""

from math import ceil, floor, log10
from typing import Any

import numpy as np

from ostinato.arrays import Vector

FEW_DIGITS = 3
NOTHING = 1e-3  # of the gap between ticks: less than that is 0
NARROW, NARROW_LARGE = 1e-5, 1e-3  # of the largest number: axes of a smaller range show differences from a round one
LARGE, SMALL = 1e6, 1e-4  # beyond these, numbers are written with exponents


def number(x: float, among: Any) -> str:
    """A number in as many digits as tell it apart from its neighbours."""
    gaps = np.diff(np.unique(among)) if len(among) > 1 else np.array([])
    step = float(gaps.min()) if len(gaps) else abs(x)
    if abs(x) < NOTHING * step or x == 0:
        return "0"
    largest = max(abs(float(np.max(among))), abs(float(np.min(among)))) if len(among) else abs(x)
    digits = min(max(ceil(log10(largest / step)) + 2 if step > 0 else 1, FEW_DIGITS), 12)
    if SMALL <= largest < LARGE:
        return f"{float(f'{x:.{digits}g}'):,.12g}"
    return f"{x:.{digits}g}".replace("e+", "e")


def offset_of(low: float, high: float) -> float:
    """A round number that is taken off all ticks, where these would differ in their last digits only; else 0."""
    largest, width = max(abs(low), abs(high)), high - low
    narrow = NARROW if SMALL <= largest < LARGE else NARROW_LARGE
    if not 0 < width < narrow * largest:
        return 0.0
    power, middle = ceil(log10(width)) + 1, low + width / 2
    return float(round(middle, -power)) if power < 0 else round(middle / 10.0**power) * 10.0**power


def differences(values: Vector, offset: float) -> Vector:
    """Ticks less a number, without what rounding leaves of the difference."""
    if not offset or len(values) < 2:
        return values - offset
    gap = float(np.min(np.diff(np.sort(values))))
    unit = 10.0 ** (floor(log10(gap)) - 1) if gap > 0 else 1.0
    return np.round((values - offset) / unit) * unit


def less(name: str, offset: float) -> str:
    """What an axis shows whose ticks are differences from a number."""
    if not offset:
        return name
    mantissa, power = f"{abs(offset):.15e}".split("e")
    short = f"{mantissa.rstrip('0').rstrip('.')}e{int(power)}"
    digits = f"{abs(offset):,.15g}" if SMALL <= abs(offset) < LARGE else short
    words, line, more = name.partition("\n")
    return f"{words} {'−' if offset > 0 else '+'} {digits}{line}{more}"
