"""The parameters of a space: which values each may have, and how they become numbers.

Float(20, 80)                       any number in between
Float(20, 80, digits=1)             what an instrument with one decimal can set
Float(20, 80, step=5)               these numbers only
Float(0.5, 24, count=5, log=True, digits=1)    five, spaced by a factor, each rounded to one decimal
Float(1e-5, 1, log=True)            any, all decades alike
Integer(1, 10**6), Ordered("low", "high"), Category("water", "ethanol")
Float(0, 1).when(solver="sgd")      only where another parameter has that value

Kernels see a parameter as one number, its feature: the value itself, its decimal logarithm, a rank or a code.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cached_property
from math import floor, inf, isinf, isnan, log10, ulp
from typing import Any, Protocol, cast

import numpy as np

from ostinato.arrays import Vector
from ostinato.candidates.columns import Absent, Codec, Levels, Logs, Numbers
from ostinato.candidates.rounded import LISTED, RoundedValues
from ostinato.candidates.rows import as_python
from ostinato.checks import LARGEST, SMALLEST, brief, finite, flag, positive, whole
from ostinato.errors import InvalidSetting

PRECISE = 15  # digits
MIDDLE = 0.50003  # of a range: where None counts as lying; it may be a value too, so that features do not tell None
FINE = 6  # decimals of a range, and significant digits on a logarithmic scale: finer than any instrument
ULPS = 4  # units in the last place, by which a number may be off by rounding
WIDEST = 1e-9  # of a range: so near to each other are numbers at least that are one but for rounding
SIGNIFICANT = 12  # digits of values of which there are so many, evenly spaced
EXACT = 2**53  # float64 holds all whole numbers below


class Parameter(Protocol):
    """One named dimension."""

    @property
    def size(self) -> float:
        """How many values it has; infinitely many where it is a continuous range."""
        ...

    @property
    def values(self) -> tuple[Any, ...]: ...

    @property
    def ends(self) -> tuple[float, float]:
        """Its lowest and highest feature."""
        ...

    def codec(self, name: str) -> Codec: ...

    def nearest(self, feature: float) -> Any:
        """The value whose feature is nearest to a number."""
        ...

    def own(self, given: Any) -> Any:
        """The value that a given one is, but for rounding; None where it is none of them."""
        ...

    def forms(self, given: Any) -> tuple[Any, ...]:
        """The values that candidates may have for a given one; none where it is none of its values."""
        ...

    def same(self, one: Any, other: Any) -> bool:
        """Whether two of its values are one, but for rounding."""
        ...

    def sampled(self, u: float) -> Any:
        """The value at a share u of the way from its lowest to its highest."""
        ...

    def snapped(self, features: Vector) -> Vector:
        """The features of the values that are nearest to some numbers."""
        ...


class Conditional:
    """What all parameters have in common: they may depend on others."""

    size: Any
    ends: Any

    def nearest(self, feature: float) -> Any: ...

    def codec(self, name: str) -> Codec: ...

    def own(self, given: Any) -> Any: ...

    def forms(self, given: Any) -> tuple[Any, ...]:
        own = self.own(given)
        return () if own is None else (own,)

    def same(self, one: Any, other: Any) -> bool:
        return bool(one == other)

    def snapped(self, features: Vector) -> Vector:
        if isinf(self.size):
            return np.clip(features, *self.ends)
        return self.codec("").encode([self.nearest(float(each)) for each in features])

    def when(self, **conditions: Any) -> "When":
        """A parameter that there is only where others have some value, or one of several: when(solver="sgd")."""
        listed: dict[str, tuple[Any, ...]] = {name: _several(each) for name, each in conditions.items()}
        if not listed or not all(listed.values()):
            raise InvalidSetting(f"when({conditions!r}) names no value: give some, as in when(solver='sgd').")
        return When(self, listed)


@dataclass(frozen=True)
class When:
    """A parameter that there is only where others have some values; elsewhere it is None, and has no influence."""

    parameter: Any
    conditions: dict[str, tuple[Any, ...]]

    @property
    def size(self) -> float:
        return self.parameter.size

    @property
    def values(self) -> tuple[Any, ...]:
        return self.parameter.values

    @property
    def ends(self) -> tuple[float, float]:
        return self.parameter.ends

    @property
    def absent(self) -> float:
        """The feature of None: about the middle of a range, or a level of its own."""
        low, high = self.ends
        return high + 1 if isinstance(self.parameter, Category) or low == high else low + MIDDLE * (high - low)

    def codec(self, name: str) -> Codec:
        return Absent(self.parameter.codec(name), self.absent)

    def nearest(self, feature: float) -> Any:
        return self.parameter.nearest(feature)

    def own(self, given: Any) -> Any:
        return self.parameter.own(given)

    def forms(self, given: Any) -> tuple[Any, ...]:
        return self.parameter.forms(given)

    def same(self, one: Any, other: Any) -> bool:
        return one is other or (one is not None and other is not None and self.parameter.same(one, other))

    def sampled(self, u: float) -> Any:
        return self.parameter.sampled(u)

    def snapped(self, features: Vector) -> Vector:
        return self.parameter.snapped(features)

    def when(self, **conditions: Any) -> "When":
        """With more conditions."""
        for name in self.conditions.keys() & conditions.keys():
            raise InvalidSetting(
                f"{self!r}.when({name}={conditions[name]!r}) says twice when it is there: give all values of {name} at "
                "once, in a list."
            )
        return When(self.parameter, self.conditions | self.parameter.when(**conditions).conditions)

    def __repr__(self) -> str:
        said = (f"{name}={(each[0] if len(each) == 1 else each)!r}" for name, each in self.conditions.items())
        return f"{self.parameter!r}.when({', '.join(said)})"


class _Range(Conditional):
    """What ranges of numbers have in common."""

    low: Any
    high: Any
    log: bool

    @property
    def ends(self) -> tuple[float, float]:
        return self._ends

    @cached_property
    def _ends(self) -> tuple[float, float]:
        low, high = self.codec("").encode([self.low, self.high]).tolist()
        return low, high

    def codec(self, name: str) -> Codec:
        return Logs(name) if self.log else Numbers(name)

    def __repr__(self) -> str:
        """As one would write it."""
        others = [(each.name, getattr(self, each.name), each.default) for each in fields(cast("Any", self))[2:]]
        said = [f"{name}={value!r}" for name, value, default in others if value != default]
        return f"{type(self).__name__}({', '.join([repr(self.low), repr(self.high), *said])})"

    def sampled(self, u: float) -> Any:
        low, high = self.ends
        return self.nearest(low + u * (high - low))

    def _within(self, feature: float) -> float:
        """The number that a feature stands for, within the range."""
        return self._clamped(10.0**feature if self.log else float(feature))

    def _clamped(self, value: float) -> float:
        """Within the range, which rounding may have left."""
        return min(max(value, self.low), self.high)


@dataclass(frozen=True, repr=False)
class Float(_Range):
    """Numbers from `low` to `high`: any of them, or `step` apart, or `count` of them, evenly spaced.

    Steps are counted from `low`: the last of `Float(0, 1, step=0.3)` is 0.9. digits: decimals, where an instrument
    cannot set more; with a step or a count, its values are rounded to them. log: all decades are alike; kernels see
    decimal logarithms.
    """

    low: float
    high: float
    step: float | None = None
    count: int | None = None
    log: bool = False
    digits: int | None = None

    def __post_init__(self) -> None:
        _make_plain(self)
        _check_range(self, self.low, self.high)
        if self.log and (self.step is not None or not self.low > 0):
            raise InvalidSetting(
                f"Float({self.low}, {self.high}, log=True) needs low above 0, and takes no step: give a count, as in "
                "Float(1e-5, 1, count=11, log=True), or neither for any number in between."
            )
        if self.step is not None and self.count is not None:
            raise InvalidSetting(f"Float({self.low}, {self.high}) has a step and a count: give one of them.")
        if self.step is not None:
            positive("step", self.step)
        if self.count is not None:
            whole("count", self.count, 2)
        if self.digits is not None:
            if whole("digits", self.digits, 0) > PRECISE:
                raise InvalidSetting(f"digits={self.digits} is more than numbers have: give at most {PRECISE}.")
            if any(round(end, self.digits) != end for end in (self.low, self.high)):
                raise InvalidSetting(
                    f"Float({self.low}, {self.high}, digits={self.digits}) ends between two of its values: give ends "
                    "of as many digits."
                )
            self._check_rounded()

    def _check_rounded(self) -> None:
        """No two values of a step or a count are the same once they are rounded."""
        spaced = replace(self, digits=None)
        if isinf(spaced.size):
            return
        if spaced.size > LISTED:
            raise InvalidSetting(
                f"{self!r} has {int(spaced.size):,} values to be rounded, above {LISTED:,}: leave out digits, or the "
                f"{'count' if self.step is None else 'step'}."
            )
        same = self._rounded.twice if self._rounded else None
        if same is not None:
            raise InvalidSetting(
                f"{self!r} has two values that are both {same} once they are rounded: give "
                f"{'a lower count' if self.step is None else 'a wider step'}, or more digits."
            )

    @cached_property
    def _rounded(self) -> RoundedValues | None:
        """The values of a step or a count, rounded to digits; None where there are no such."""
        if self.digits is None or (self.step is None and self.count is None):
            return None
        return RoundedValues(replace(self, digits=None).values, self.digits, self.codec(""))

    @property
    def size(self) -> float:
        if self._rounded is not None:
            return len(self._rounded.values)
        if self.digits is not None:
            return floor((self.high - self.low) * 10**self.digits + 1e-9) + 1
        if self.step is not None:
            return floor((self.high - self.low) / self.step + 1e-9) + 1
        return inf if self.count is None else int(self.count)

    @property
    def values(self) -> tuple[float, ...]:
        if self._rounded is not None:
            return self._rounded.values
        if self.digits is not None:
            return tuple(float(round(self.low + i / 10**self.digits, self.digits)) for i in range(int(self.size)))
        if self.step is not None:
            digits = _decimals(self.step)
            return tuple(self._clamped(round(float(self.low + i * self.step), digits)) for i in range(int(self.size)))
        if self.log:
            spaced = np.geomspace(self.low, self.high, int(self.size))
            return tuple(self._clamped(float(f"{value:.12g}")) for value in spaced)
        return tuple(float(value) for value in np.linspace(self.low, self.high, int(self.size)))

    def nearest(self, feature: float) -> float:
        if self._rounded is not None:
            return self._rounded.nearest(feature)
        if self.count is not None:
            return float(self._clamped(_significant(self._within(_snapped(feature, self.ends, self.count)))))
        value = self._within(feature)
        if self.digits is not None:
            return float(self._clamped(round(value, self.digits))) + 0.0
        if self.step is not None:
            return float(self._clamped(round(self._stepped(value), _decimals(self.step)))) + 0.0
        fine = float(f"{value:.{FINE}g}") if self.log else round(value, FINE - _magnitude(self.high - self.low))
        return float(self._clamped(fine)) + 0.0

    def own(self, given: Any) -> Any:
        number = as_python(given) if isinstance(as_python(given), (int, float)) else float(given)
        if isinf(self.size):
            return number + 0 if self.low <= number <= self.high else self._put_inside(number)
        nearest = self.nearest(float(self.codec("").encode([number])[0]))
        return nearest if self._is_grid_value(float(number), nearest) else None

    def forms(self, given: Any) -> tuple[Any, ...]:
        """Of a count there are two: all digits in a space that is listed, and SIGNIFICANT ones in any other."""
        own = super().forms(given)
        if self.count is None or self.digits is not None or not own:
            return own
        listed = self.values
        return (*own, min(listed, key=lambda value: abs(value - own[0])))

    def same(self, one: Any, other: Any) -> bool:
        if not isinf(self.size) or one == other:
            return bool(one == other)
        most = min(ULPS * ulp(max(abs(float(one)), abs(float(other)))), WIDEST * (self.high - self.low))
        return abs(float(one) - float(other)) <= most

    def _put_inside(self, number: float) -> float | None:
        """The end of the range that a number outside is, but for rounding, as it is where the range's numbers are."""
        end = self._clamped(number)
        at = abs(end) if self.log else max(abs(self.low), abs(self.high))
        return float(end) if abs(number - end) <= min(ULPS * ulp(float(at)), WIDEST * (self.high - self.low)) else None

    def _is_grid_value(self, number: float, value: float) -> bool:
        """Whether a number is one of the values, the nearest, but for rounding: as it is given to users, or before."""
        if self.count is not None and self.digits is None:
            return number == value or _significant(number) == value
        spacing = 10.0**-self.digits if self.digits is not None else cast("float", self.step)
        meant = [value] if self.digits is not None else [value, self._clamped(self._stepped(number))]
        return any(abs(number - each) <= ULPS * ulp(max(abs(number), spacing)) for each in meant)

    def _stepped(self, number: float) -> float:
        """The nearest number that is some steps above the lowest."""
        step = cast("float", self.step)
        return float(self.low + min(round((number - self.low) / step), int(self.size) - 1) * step)


@dataclass(frozen=True, repr=False)
class Integer(_Range):
    """Whole numbers from `low` to `high`, both included, `step` apart.

    log: kernels see their decimal logarithms. count: so many of them at most, evenly spaced (on that scale).
    """

    low: int
    high: int
    step: int = 1
    log: bool = False
    count: int | None = None

    def __post_init__(self) -> None:
        _make_plain(self)
        _check_range(self, self.low, self.high)
        for name, value in (("low", self.low), ("high", self.high)):
            if value % 1:
                raise InvalidSetting(f"{name}={value!r} is not a whole number: use Float for fractions.")
        whole("step", self.step)
        if self.log and not self.low > 0:
            raise InvalidSetting(f"Integer({self.low}, {self.high}, log=True) needs low above 0.")
        if self.count is not None:
            whole("count", self.count, 2)
            if self.step != 1:
                raise InvalidSetting(f"Integer({self.low}, {self.high}) has a step and a count: give one of them.")

    @property
    def size(self) -> float:
        return (int(self.high) - int(self.low)) // int(self.step) + 1 if self.count is None else len(self.values)

    @property
    def _range(self) -> range:
        return range(int(self.low), int(self.high) + 1, int(self.step))

    @property
    def values(self) -> tuple[int, ...]:
        if self.count is None:
            return tuple(self._range)
        spaced = np.geomspace if self.log else np.linspace
        return tuple(sorted({round(float(each)) for each in spaced(self.low, self.high, self.count)}))

    def nearest(self, feature: float) -> int:
        if self.count is not None:
            return round(self._within(_snapped(feature, self.ends, self.count)))
        number, low = self._within(feature), int(self.low)
        above = number - low if abs(number) < EXACT else Fraction(number) - low
        return self._at(round(above / int(self.step)))

    def own(self, given: Any) -> Any:
        given = as_python(given)
        number = round(given)
        if abs(given - number) > ULPS * ulp(max(abs(float(number)), 1.0)) or not self.low <= number <= self.high:
            return None
        if self.count is not None:
            return number if self.nearest(float(self.codec("").encode([number])[0])) == number else None
        return number if (number - int(self.low)) % int(self.step) == 0 else None

    def sampled(self, u: float) -> int:
        return super().sampled(u) if self.log or self.count else self._at(int(u * self.size))

    def _at(self, place: int) -> int:
        return int(self.low) + int(self.step) * min(place, int(self.size) - 1)


class _Choice(Conditional):
    ordered: bool

    def __init__(self, *levels: Any) -> None:
        if len(levels) == 1 and isinstance(levels[0], (list, tuple)):  # a list of them
            levels = tuple(levels[0])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        levels = tuple(map(as_python, levels))
        _check_levels(levels)
        self.values: tuple[Any, ...] = levels

    @classmethod
    def stored(cls, levels: Sequence[Any]) -> "_Choice":
        """As it was stored, by a version that may have taken levels that are refused now."""
        made = cls.__new__(cls)
        made.values = tuple(levels)
        return made

    @property
    def size(self) -> float:
        return len(self.values)

    @property
    def ends(self) -> tuple[float, float]:
        return 0.0, len(self.values) - 1.0

    def codec(self, name: str) -> Codec:
        return Levels(name, self.values, self.ordered)

    def nearest(self, feature: float) -> Any:
        return self.values[min(max(round(feature), 0), len(self.values) - 1)]

    def own(self, given: Any) -> Any:
        return next(iter(self.forms(given)), None)

    def forms(self, given: Any) -> tuple[Any, ...]:
        return tuple(level for level in self.values if level == given)

    def sampled(self, u: float) -> Any:
        return self.values[min(int(u * len(self.values)), len(self.values) - 1)]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.values))})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.values == getattr(other, "values", None)

    def __hash__(self) -> int:
        return hash((type(self), self.values))


class Ordered(_Choice):
    """Categories with an order, from lowest to highest: neighbours are alike. Seen by kernels as ranks 0, 1, 2, …"""

    ordered = True


class Category(_Choice):
    """Categories without an order: any two are equally different. For a Hamming kernel."""

    ordered = False


def _snapped(feature: float, ends: tuple[float, float], count: int) -> float:
    """The nearest of so many features, evenly spaced."""
    low, high = ends
    share = round((feature - low) / (high - low) * (count - 1)) / (count - 1) if high > low else 0.0
    return low + share * (high - low)


def _decimals(step: float) -> int:
    """How many decimals a step needs: low + 3·0.1 is meant to be 0.3, not 0.30000000000000004."""
    return 6 - floor(log10(step))


def _significant(value: float) -> float:
    return float(f"{value:.{SIGNIFICANT}g}")


def _several(given: Any) -> tuple[Any, ...]:
    """One value, or several in a list, a tuple or a set; sets have no order, so that one is made."""
    if isinstance(given, (set, frozenset)):
        given = sorted(cast("set[Any]", given), key=repr)
    return tuple(map(as_python, cast("list[Any]", given))) if isinstance(given, (list, tuple)) else (as_python(given),)


def _magnitude(width: float) -> int:
    """The power of ten that a width is of."""
    return floor(log10(width)) if width > 0 else 0


def _make_plain(parameter: Any) -> None:
    """NumPy's numbers as Python's own, which every storage takes."""
    for each in fields(parameter):
        value = getattr(parameter, each.name)
        if isinstance(value, np.generic):
            object.__setattr__(parameter, each.name, value.item())


def _check_range(parameter: Any, low: Any, high: Any) -> None:
    if parameter.log not in (True, False):
        flag("log", parameter.log)
    if finite("low", low) > finite("high", high):
        raise InvalidSetting(f"The range {low!r} to {high!r} is empty: give low ≤ high.")
    width = float(high) - float(low)
    if isinf(width) or not (parameter.log or width == 0 or SMALLEST * 10 < width < LARGEST / 10):
        raise InvalidSetting(
            f"The range {brief(low)} to {brief(high)} is too {'narrow' if width < 1 else 'wide'} to compute with: its "
            "width cannot be squared in float64. Use other units, or for a wide one log=True."
        )


def _check_levels(levels: tuple[Any, ...]) -> None:
    """Levels are told apart by what they are, also after they were stored."""
    unhashable = [level for level in levels if not isinstance(level, Hashable)]
    if unhashable:
        raise InvalidSetting(
            f"The level {brief(unhashable[0])} is a {type(unhashable[0]).__name__}, which may change: give texts or "
            "numbers that stand for such things, as in Category('1-2', '3')."
        )
    if not levels or len(set(levels)) < len(levels):
        raise InvalidSetting(f"The levels {levels!r} must be at least one, and all different.")
    nothing = [level for level in levels if level is None or (isinstance(level, float) and isnan(level))]
    if nothing:
        raise InvalidSetting(
            f"The level {nothing[0]!r} says that there is no value, in tables and in studies: give it a name, such as "
            "'none'."
        )
