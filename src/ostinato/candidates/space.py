"""A space of named parameters: enumerated to a table of candidates where that is possible, else sampled.

Space(
    temp=Float(20, 80, step=5),
    cycles=Integer(1, 10),
    grade=Ordered("low", "medium", "high"),
    solvent=Category("water", "ethanol"),
).where(lambda c: not (c["solvent"] == "ethanol" and c["temp"] > 75))
"""

from collections.abc import Callable, Iterator, Mapping
from math import isinf, prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.candidates.parameters import Parameter, When
from ostinato.candidates.rows import Column, Texts, as_array
from ostinato.checks import brief
from ostinato.errors import InvalidCandidates, InvalidSetting, UnknownCandidate

LARGEST = 10_000_000  # combinations that are enumerated


class Space:
    """Every combination of the parameters' values that the constraints allow.

    Parameters are given by name, or as a dict: Space({"temp (°C)": Float(20, 80, step=5)}).
    """

    def __init__(self, given: Mapping[str, Parameter] | None = None, /, **named: Parameter) -> None:
        if given is not None and not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidSetting(f"Space({brief(given)}) has no names: give them, as in Space(temp=Float(20, 80)).")
        parameters = dict(given or {}, **named)
        if not parameters:
            raise InvalidCandidates(
                "The space has no parameter: give at least one, as in Space(temp=Float(20, 80, step=5))."
            )
        for name, parameter in parameters.items():
            if not hasattr(parameter, "codec") or isinstance(parameter, type):
                raise InvalidSetting(
                    f"{name!r} is {parameter!r}, which is not a parameter: give a Float, Integer, Ordered or Category."
                )
        self.parameters = parameters
        self._conditions = _conditions(parameters)
        self.depends = {name: _features(parameters, each) for name, each in self._conditions.items()}
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

    @property
    def constraints(self) -> tuple[Callable[[dict[str, Any]], bool], ...]:
        return self._constraints

    @property
    def size(self) -> float:
        """How many combinations there are, constraints aside."""
        return prod(parameter.size for parameter in self.parameters.values())

    @property
    def enumerable(self) -> bool:
        """Whether its combinations can be listed; else points are sampled from it as they are needed."""
        return self.size <= LARGEST

    def settled(self, candidate: dict[str, Any]) -> dict[str, Any]:
        """With None for parameters that there are not, as the others are."""
        for name, conditions in self._conditions.items():
            if not all(candidate[other] in values for other, values in conditions.items()):
                candidate[name] = None
        return candidate

    def absent(self, features: Matrix) -> NDArray[np.bool_]:
        """Which parameters there are not, of candidates as kernels see them."""
        names, gone = list(self.parameters), np.zeros(features.shape, dtype=np.bool_)
        for name, conditions in self.depends.items():
            column = names.index(name)
            for other, codes in conditions.items():
                there = np.isin(features[:, names.index(other)], codes) & ~gone[:, names.index(other)]
                gone[:, column] |= ~there
        return gone

    def contradictions(self, features: Matrix, missing: NDArray[np.bool_]) -> Iterator[tuple[int, str, bool]]:
        """Candidates that have a value of a parameter that there is not (True), or none of one that there is (False).

        Each with the parameter's name. missing: which values were not given; features do not say so.
        """
        absent, names = self.absent(features), list(self.parameters)
        for name in self.depends:
            column = names.index(name)
            for place in np.flatnonzero(missing[:, column] != absent[:, column]).tolist():
                yield place, name, bool(absent[place, column])

    def settled_features(self, features: Matrix) -> Matrix:
        """The same of candidates as kernels see them."""
        if not self.depends:
            return features
        at = [parameter.absent if isinstance(parameter, When) else 0.0 for parameter in self.parameters.values()]
        return np.where(self.absent(features), np.array(at), features)

    def snapped(self, features: Matrix) -> Matrix:
        """The points of the space that are nearest to some."""
        columns = zip(self.parameters.values(), features.T, strict=True)
        return self.settled_features(np.stack([each.snapped(column) for each, column in columns], axis=1))

    def allows(self, candidate: dict[str, Any]) -> bool:
        """Whether all constraints hold; each sees a copy, which it may change."""
        try:
            return all(allowed(dict(candidate)) for allowed in self._constraints)
        except Exception as error:
            error.add_note(
                f"This is what .where(…) made of {brief(candidate)}: it should return True or False for every point of "
                "the space. A parameter that there is not is None there."
            )
            raise

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        """How many combinations the constraints allow."""
        return len(self.enumerate())

    def enumerate(self) -> "Enumeration":
        """The table of all allowed combinations; the last parameter varies fastest."""
        if not self.enumerable:
            many = "any number of" if isinf(self.size) else f"{self.size:,}"
            raise InvalidCandidates(
                f"The space has {many} combinations, and at most {LARGEST:,} can be listed: give it to an Optimizer or "
                "a Study as it is, which search it, or give its ranges fewer values."
            )
        table = Enumeration(Space(self.parameters), np.arange(int(self.size)))
        if self.depends:
            table = table.once_each()
        if not self._constraints:
            return table
        kept = [i for i, candidate in enumerate(table) if self.allows(candidate)]
        if not kept:
            raise InvalidCandidates(
                f"The constraints allow none of the space's {len(table):,} combinations: loosen one."
            )
        return table.some(np.asarray(kept))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={parameter!r}" for name, parameter in self.parameters.items())
        return f"Space({inside})" + ".where(…)" * len(self._constraints)


class Enumeration:
    """The allowed combinations of a space, by number; nothing but the numbers is stored."""

    def __init__(self, space: Space, numbers: NDArray[np.int64]) -> None:
        self._space, parameters = space, space.parameters
        self._values = {name: parameter.values for name, parameter in parameters.items()}
        self._numbers = numbers
        self.codecs = [parameter.codec(name) for name, parameter in parameters.items()]

    def some(self, places: NDArray[np.int64]) -> "Enumeration":
        return Enumeration(self._space, self._numbers[places])

    def once_each(self) -> "Enumeration":
        """Of combinations that differ only in parameters that there are not, the first."""
        first = [digit == 0 for digit in self._digits(self._numbers)]
        return self.some(np.flatnonzero((~self._space.absent(self._codes()) | np.stack(first, axis=1)).all(axis=1)))

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, index: int) -> dict[str, Any]:
        digits = self._digits(self._numbers[index])
        row = {name: values[int(i)] for (name, values), i in zip(self._values.items(), digits, strict=True)}
        return self._space.settled(row)

    def __call__(self, index: int) -> dict[str, Any]:
        return self[index]

    def columns(self) -> list[list[Any]]:
        if self._space.depends:
            return [list(each) for each in zip(*(row.values() for row in self), strict=True)]
        digits = self._digits(self._numbers)
        pairs = zip(self._values.values(), digits, strict=True)
        return [[values[place] for place in digit.tolist()] for values, digit in pairs]

    def arrays(self) -> list[Column]:
        """Columns as arrays; of categories, the places of their levels."""
        if self._space.depends:
            return [as_array(column) for column in self.columns()]
        pairs = zip(self._values.values(), self._digits(self._numbers), strict=True)
        return [_picked(values, digit) for values, digit in pairs]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[index] for index in range(len(self)))

    def features(self) -> Matrix:
        return self._space.settled_features(self._codes())

    def _digits(self, numbers: Any) -> tuple[Any, ...]:
        return cast("tuple[Any, ...]", np.unravel_index(numbers, [len(values) for values in self._values.values()]))

    def _codes(self) -> Matrix:
        digits = self._digits(self._numbers)
        codes = [codec.encode(values) for codec, values in zip(self.codecs, self._values.values(), strict=True)]
        return np.stack([code[digit] for code, digit in zip(codes, digits, strict=True)], axis=1)


def _picked(values: tuple[Any, ...], digits: NDArray[np.int64]) -> Column:
    """Some of a parameter's values as an array."""
    array = as_array(list(values))
    return array[digits] if isinstance(array, np.ndarray) else Texts(digits, values)


def _conditions(parameters: Mapping[str, Parameter]) -> dict[str, dict[str, tuple[Any, ...]]]:
    """For each parameter that depends on others: those, with the values that they must have."""
    found: dict[str, dict[str, tuple[Any, ...]]] = {}
    before: list[str] = []
    for name, parameter in parameters.items():
        if isinstance(parameter, When):
            unknown = [other for other in parameter.conditions if other not in before]
            if unknown:
                raise InvalidSetting(
                    f"{name!r}, {parameter!r}, depends on {unknown[0]!r}: name a parameter that is given before it."
                )
            found[name] = {
                other: tuple(form for value in allowed for form in _forms(name, other, parameters[other], value))
                for other, allowed in parameter.conditions.items()
            }
        before.append(name)
    return found


def _forms(name: str, other: str, parameter: Parameter, value: Any) -> tuple[Any, ...]:
    """A value that another parameter must have, in all forms; it is one that it can have."""
    if isinf(parameter.size):
        raise InvalidSetting(
            f"{name!r} is there only where {other!r} is {brief(value)}, and {parameter!r} may be any number of a "
            "range: give it steps or digits, or let a Category say where there is such a parameter."
        )
    try:
        parameter.codec(other).encode([value])
        forms = parameter.forms(value)
    except (TypeError, ValueError, OverflowError, InvalidCandidates, UnknownCandidate):  # not even of its type
        forms = ()
    if not forms:
        raise InvalidSetting(
            f"{name!r} is there only where {other!r} is {brief(value)}, and it is never {brief(value)}: give values of "
            f"{parameter!r}."
        )
    return forms


def _features(parameters: Mapping[str, Parameter], conditions: Mapping[str, tuple[Any, ...]]) -> dict[str, Vector]:
    """The same as kernels see them."""
    return {other: parameters[other].codec(other).encode(values) for other, values in conditions.items()}
