"""A space of named parameters, enumerated to a table of candidates.

Space(
    temp=Float(20, 80, step=5),
    cycles=Integer(1, 10),
    grade=Ordered("low", "medium", "high"),
    solvent=Category("water", "ethanol"),
).where(lambda c: not (c["solvent"] == "ethanol" and c["temp"] > 75))
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import floor, log10, prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ostinato.candidates.columns import Codec, Levels, Logs, Numbers
from ostinato.checks import finite, positive, whole
from ostinato.errors import InvalidCandidates, InvalidSetting

LARGEST = 10_000_000


class Parameter(Protocol):
    """One named dimension: its values, and how they become numbers."""

    @property
    def size(self) -> int: ...

    @property
    def values(self) -> tuple[Any, ...]: ...

    def codec(self, name: str) -> Codec: ...


@dataclass(frozen=True)
class Float:
    """Numbers from `low` to `high`, `step` apart (or `count` of them, evenly spaced).

    log: `count` numbers, each the same factor above the one before; kernels see their decimal logarithms.
    """

    low: float
    high: float
    step: float | None = None
    count: int | None = None
    log: bool = False

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)
        if self.log and (self.step is not None or not self.low > 0):
            raise InvalidSetting(
                f"Float({self.low}, {self.high}, log=True) needs low above 0 and a count, as in "
                "Float(1e-5, 1, count=11, log=True)."
            )
        if (self.step is None) == (self.count is None):
            raise InvalidSetting(f"Float({self.low}, {self.high}) needs either a step or a count, as in step=0.5.")
        if self.step is not None:
            positive("step", self.step)
        else:
            whole("count", self.count, 2)

    @property
    def size(self) -> int:
        return int(self.count or 0) if self.step is None else floor((self.high - self.low) / self.step + 1e-9) + 1

    @property
    def values(self) -> tuple[float, ...]:
        if self.log:
            return tuple(float(f"{value:.12g}") for value in np.geomspace(self.low, self.high, self.size))
        if self.step is None:
            return tuple(float(value) for value in np.linspace(self.low, self.high, self.size))
        digits = 6 - floor(log10(self.step))  # low + 3·0.1 is meant to be 0.3, not 0.30000000000000004
        return tuple(round(float(self.low + i * self.step), digits) for i in range(self.size))

    def codec(self, name: str) -> Codec:
        return Logs(name) if self.log else Numbers(name)


@dataclass(frozen=True)
class Integer:
    """Whole numbers from `low` to `high`, both included, `step` apart.

    log: kernels see their decimal logarithms. count: so many of them at most, evenly spaced (on that scale).
    """

    low: int
    high: int
    step: int = 1
    log: bool = False
    count: int | None = None

    def __post_init__(self) -> None:
        _check_range(self.low, self.high)
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
    def size(self) -> int:
        return len(self._range) if self.count is None else len(self.values)

    @property
    def _range(self) -> range:
        return range(int(self.low), int(self.high) + 1, int(self.step))

    @property
    def values(self) -> tuple[int, ...]:
        if self.count is None:
            return tuple(self._range)
        spaced = np.geomspace if self.log else np.linspace
        return tuple(sorted({round(float(each)) for each in spaced(self.low, self.high, self.count)}))

    def codec(self, name: str) -> Codec:
        return Logs(name) if self.log else Numbers(name)


class _Choice:
    ordered: bool

    def __init__(self, *levels: Any) -> None:
        if len(levels) == 1 and isinstance(levels[0], (list, tuple)):  # a list of them
            levels = tuple(levels[0])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        if not levels or len(set(levels)) < len(levels):
            raise InvalidSetting(f"The levels {levels!r} must be at least one, and all different.")
        self.values: tuple[Any, ...] = levels
        self.size = len(levels)

    def codec(self, name: str) -> Codec:
        return Levels(name, self.values, self.ordered)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.values))})"


class Ordered(_Choice):
    """Categories with an order, from lowest to highest: neighbours are alike. Seen by kernels as ranks 0, 1, 2, …"""

    ordered = True


class Category(_Choice):
    """Categories without an order: any two are equally different. For a Hamming kernel."""

    ordered = False


class Space:
    """Every combination of the parameters' values that the constraints allow.

    Parameters are given by name, or as a dict: Space({"temp (°C)": Float(20, 80, step=5)}).
    """

    def __init__(self, given: Mapping[str, Parameter] | None = None, /, **named: Parameter) -> None:
        parameters = dict(given or {}, **named)
        if not parameters:
            raise InvalidCandidates(
                "The space has no parameter: give at least one, as in Space(temp=Float(20, 80, step=5))."
            )
        for name, parameter in parameters.items():
            if not hasattr(parameter, "codec"):
                raise InvalidSetting(
                    f"{name}={parameter!r} is not a parameter: give a Float, Integer, Ordered or Category."
                )
        self.parameters = parameters
        self._constraints: tuple[Callable[[dict[str, Any]], bool], ...] = ()

    def where(self, allowed: Callable[[dict[str, Any]], bool]) -> "Space":
        """The same space with one more constraint: a predicate on a candidate, given as a dict."""
        if not callable(allowed):
            raise InvalidSetting(
                f"where({allowed!r}) is not a predicate: give a function, as in lambda c: c['temp'] < 50."
            )
        narrowed = Space(self.parameters)
        narrowed._constraints = (*self._constraints, allowed)
        return narrowed

    def __len__(self) -> int:
        """How many combinations the constraints allow."""
        return len(self.enumerate())

    def enumerate(self) -> "Enumeration":
        """The table of all allowed combinations; the last parameter varies fastest."""
        total = prod(parameter.size for parameter in self.parameters.values())
        if total > LARGEST:
            raise InvalidCandidates(
                f"The space has {total:,} combinations, above the {LARGEST:,} that can be enumerated: use larger steps "
                "or fewer levels."
            )
        table = Enumeration(self.parameters, np.arange(total))
        if not self._constraints:
            return table
        kept = [i for i, candidate in enumerate(table) if all(allowed(candidate) for allowed in self._constraints)]
        if not kept:
            raise InvalidCandidates(f"The constraints allow none of the space's {total:,} combinations: loosen one.")
        return Enumeration(self.parameters, np.asarray(kept))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={parameter!r}" for name, parameter in self.parameters.items())
        return f"Space({inside})" + ".where(…)" * len(self._constraints)


class Enumeration:
    """The allowed combinations of a space, by number; nothing but the numbers is stored."""

    def __init__(self, parameters: dict[str, Parameter], numbers: NDArray[np.int64]) -> None:
        self._values = {name: parameter.values for name, parameter in parameters.items()}
        self._numbers = numbers
        self.codecs = [parameter.codec(name) for name, parameter in parameters.items()]

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> dict[str, Any]:
        shape = [len(values) for values in self._values.values()]
        digits = np.unravel_index(int(self._numbers[index]), shape)
        return {name: values[int(i)] for (name, values), i in zip(self._values.items(), digits, strict=True)}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[index] for index in range(len(self)))

    def features(self) -> NDArray[np.float64]:
        shape = [len(values) for values in self._values.values()]
        digits = np.unravel_index(self._numbers, shape)
        codes = [codec.encode(values) for codec, values in zip(self.codecs, self._values.values(), strict=True)]
        return np.stack([code[digit] for code, digit in zip(codes, digits, strict=True)], axis=1)


def _check_range(low: Any, high: Any) -> None:
    if finite("low", low) > finite("high", high):
        raise InvalidSetting(f"The range {low!r} to {high!r} is empty: give low ≤ high.")
