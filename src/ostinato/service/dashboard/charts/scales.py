"""From values to pixels, and ticks that are round numbers."""

from collections.abc import Iterable
from math import ceil, floor, isfinite, log10

import msgspec
import numpy as np

from ostinato.plots.ticks import differences, less, offset_of

LARGE, SMALL = 1e5, 1e-4  # beyond these, numbers are written with exponents


class Scale(msgspec.Struct, frozen=True, kw_only=True):
    """Values from low to high lie from start to end, in pixels."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (log10(each) for each in (self.low, self.high, value)) if self.log else (*self.ends, value)
        share = (at / 2 - low / 2) / (high / 2 - low / 2) if high > low else 0.5  # halves, so that nothing overflows
        return round(self.start + min(max(share, -2.0), 3.0) * (self.end - self.start), 1)

    @property
    def ends(self) -> tuple[float, float]:
        return self.low, self.high

    def holds(self, value: float) -> bool:
        return self.low <= value <= self.high

    def ticks(self, about: int) -> list[float]:
        """Round numbers, about so many; two at the least, since one alone is no scale."""
        if self.log:
            return _decades(self.low, self.high, about)
        step = step_of(self.low, self.high, about)
        first, last = ceil(self.low / step - 1e-9), floor(self.high / step + 1e-9)
        if last <= first and 1 < about < 8:
            return self.ticks(2 * about)
        return [tick * step for tick in range(first, min(last, first + 50) + 1)]

    @property
    def offset(self) -> float:
        """A round number that is taken off all ticks, where these would differ in their last digits only."""
        return 0.0 if self.log else offset_of(self.low, self.high)

    def named(self, name: str) -> str:
        """What the axis shows."""
        return less(name, self.offset)

    def labels(self, ticks: Iterable[float]) -> list[str]:
        listed = list(ticks)
        if self.log:
            return [f"{tick:.6g}" for tick in listed]
        shown = differences(np.array(listed), self.offset).tolist() if self.offset else listed
        step = shown[1] - shown[0] if len(shown) > 1 else max(abs(self.high - self.low), 1e-300)
        largest = max(map(abs, shown), default=0.0) if self.offset else max(abs(self.low), abs(self.high))
        return [tick_label(tick, step, largest) for tick in shown]


def step_of(low: float, high: float, about: int) -> float:
    """1, 2 or 5 times a power of ten."""
    rough = (high / about - low / about) or 1.0
    power = 10.0 ** floor(log10(rough))
    return next(each * power for each in (1, 2, 5, 10) if each * power >= rough * 0.999)


def tick_label(tick: float, step: float, largest: float) -> str:
    """With the digits that tell it from the next one."""
    if abs(tick) < step * 1e-6:
        return "0"
    if largest >= LARGE or largest < SMALL:
        digits = max(0, floor(log10(abs(tick))) - floor(log10(step)))
        return f"{tick:.{min(digits, 12)}e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{tick:,.{max(0, -floor(log10(step)))}f}".replace("-", "−")


def _decades(low: float, high: float, about: int) -> list[float]:
    first, last = floor(log10(low)), ceil(log10(high))
    every = max(1, round((last - first) / about))
    factors = (1, 2, 5) if last - first <= about // 2 else (1,)
    found = [factor * 10.0**power for power in range(first, last + 1, every) for factor in factors]
    return [tick for tick in found if low * 0.999 <= tick <= high * 1.001]


def spread(values: Iterable[float | None], share: float = 0.06) -> tuple[float, float]:
    """From a little below the lowest to a little above the highest."""
    known = [value for value in values if value is not None and isfinite(value)]
    if not known:
        return 0.0, 1.0
    low, high = min(known), max(known)
    if low == high:
        room = abs(low) * 0.1 or 1.0
        return low - room, high + room
    room = share * high - share * low
    return low - room, high + room
