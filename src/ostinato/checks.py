"""Checks of what users give, each with an error that names the value, the cause and the remedy."""

from collections.abc import Iterable
from math import ceil, floor, isfinite, log10, nan
from typing import Any, SupportsFloat, SupportsIndex, cast

import numpy as np

from ostinato.errors import InvalidSetting

SMALLEST, LARGEST = 1e-140, 1e140


def is_whole(value: Any) -> bool:
    """Whether `value` is an integer, Python's or NumPy's (and not a bool)."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number, `least` or more."""
    if not is_whole(value) or value < least:
        raise InvalidSetting(f"{name}={value!r} is out of range: give a whole number, {least} or more.")
    return int(value)


def integer(name: str, value: Any) -> int:
    """A whole number, above 0 or not."""
    if not is_whole(value):
        raise InvalidSetting(f"{name}={brief(value)} is not a whole number: give one.")
    return int(value)


def text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidSetting(f"{name}={brief(value)} is not a text: give one.")
    return value


def number(value: Any) -> float:
    """`value` as a float; NaN where it is not a number (text and booleans are none)."""
    if isinstance(value, (str, bytes, bool, np.bool_, complex, np.complexfloating)) or np.ndim(value) != 0:
        return nan
    try:
        return float(cast("SupportsFloat | SupportsIndex", value))
    except (TypeError, ValueError, OverflowError):
        return nan


def from_truth(value: Any) -> Any:
    """True and False as 1 and 0, Python's or NumPy's; anything else as it is."""
    return float(bool(value)) if isinstance(value, (bool, np.bool_)) else value  # pyright: ignore[reportUnknownArgumentType]


def finite(name: str, value: Any) -> float:
    result = number(value)
    if not isfinite(result):
        raise InvalidSetting(f"{name}={brief(value)} is out of range: give one finite number.")
    return result


def positive(name: str, value: Any) -> float:
    """A number above 0 whose square float64 can hold."""
    result = number(value)
    if not (isfinite(result) and result > 0):
        raise InvalidSetting(f"{name}={value!r} is out of range: give a finite number above 0.")
    if not SMALLEST < result < LARGEST:
        raise InvalidSetting(f"{name}={value!r} cannot be squared in float64: use other units.")
    return result


def not_negative(name: str, value: Any) -> float:
    result = number(value)
    if not (isfinite(result) and result >= 0):
        raise InvalidSetting(f"{name}={value!r} is out of range: give a finite number, 0 or more.")
    return result


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidSetting(
            f"{name}={value!r} is neither True nor False: give one of them (true or false in TOML and JSON)."
        )
    return value


def line(name: str, value: Any) -> str:
    """A text for people, in one line; any white space is a single space."""
    words = " ".join(value.split()) if isinstance(value, str) else None
    if words is None or not words.isprintable():
        raise InvalidSetting(f"{name}={brief(value)} cannot be stored: give a text that can be printed.")
    return words


def fraction(name: str, value: Any) -> float:
    result = number(value)
    if not 0 < result < 1:
        raise InvalidSetting(f"{name}={value!r} is out of range: give a number between 0 and 1, both excluded.")
    return result


def counted(n: int, noun: str, nouns: str | None = None) -> str:
    """1 batch, 2,000 batches."""
    return f"{n:,} {noun if n == 1 else nouns or noun + 's'}"


def spans(numbers: Iterable[int]) -> str:
    """Whole numbers in order, in short: 2 to 7, 9."""
    found: list[list[int]] = []
    for each in numbers:
        if found and each == found[-1][1] + 1:
            found[-1][1] = each
        else:
            found.append([each, each])
    return ", ".join(str(low) if low == high else f"{low} to {high}" for low, high in found)


def rounded(value: float, scale: float) -> str:
    """`value` with digits down to a tenth of `scale`, such as the half-width of its interval; four at the least."""
    if not (isfinite(value) and isfinite(scale)):
        return f"{value:.4g}"
    size = log10(abs(value)) if value else 0.0
    least = log10(scale) if scale > 0 else size
    return f"{value:.{min(max(4, ceil(size - least) + 1), 15)}g}"


def short(value: float) -> str:
    """Two digits, and no exponent where plain figures do."""
    return f"{float(f'{value:.2g}'):g}"


def at_most(value: float) -> str:
    """The same, rounded up: what is said to be a bound is one."""
    if not (isfinite(value) and value > 0):
        return f"{value:g}"
    unit = floor(log10(value)) - 1
    return f"{float(f'{ceil(value * 10.0**-unit * (1 - 1e-12))}e{unit}'):g}"


def within_heading(*, maximizes: bool) -> str:
    """The head of a column that says what candidates are within of the best, with 90% probability."""
    return f"{'below' if maximizes else 'above'} the best by at most (90%)"


def brief(value: Any) -> str:
    """`value` for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
