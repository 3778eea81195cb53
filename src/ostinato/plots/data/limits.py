"""What an axis shows where few values are so far off that they would flatten all others."""

from collections.abc import Iterable, Sequence
from math import floor

MAX_SHARE_BEYOND = 0.1  # of all values, at most, may lie beyond the axis
MIN_VALUES = 5  # values, from which on it can be said that others are far off
FLAT = 5.0  # times as long as the others take, from which on an axis would flatten them
REACH = 1.5  # times the length that values take, up to which intervals are shown beyond them
NAMED = 3  # values that a note names


def limits(values: Sequence[float], ends: Iterable[float] = ()) -> tuple[float, float] | None:
    """The range of most values, and of the ends of intervals near it; None where everything can be shown.

    Values beyond it are few, and the axis that holds all is several times as long: such as a typing mistake makes it.
    """
    inner = _inner(values)
    if inner is None:
        return None
    low, high = inner
    reach = REACH * (high - low)
    near = [min(max(end, low - reach), high + reach) for end in ends]
    return min(low, *near, high), max(low, *near, high)


def _inner(values: Sequence[float]) -> tuple[float, float] | None:
    """The shortest range that holds all but a few; None where it does not differ much from that of all."""
    ordered = sorted(values)
    few = max(1, floor(MAX_SHARE_BEYOND * len(ordered)))
    if len(ordered) < MIN_VALUES:
        return None
    held = len(ordered) - few
    low, high = min(zip(ordered, ordered[held - 1 :], strict=False), key=lambda ends: ends[1] - ends[0])
    length = high - low
    if not length > 0 or ordered[-1] - ordered[0] <= FLAT * length:
        return None
    near = [value for value in ordered if low - length <= value <= high + length]
    return near[0], near[-1]


def beyond(axis: tuple[float, float] | None, values: Iterable[tuple[str, float]]) -> str:
    """Of which values a figure shows at its edge only that they lie beyond it; nothing where there are none."""
    far = [] if axis is None else [(label, value) for label, value in values if not axis[0] <= value <= axis[1]]
    if not far:
        return ""
    listed = "; ".join(f"{value:,.5g} ({label})" for label, value in far[:NAMED])
    more = f" and {len(far) - NAMED:,} more" if len(far) > NAMED else ""
    return f" Beyond the axis, marked at its edge: {listed}{more}."
