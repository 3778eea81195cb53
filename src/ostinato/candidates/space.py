"""A space of named parameters: enumerated to a table of candidates where that is possible, else sampled.

Space(
    temp=Float(20, 80, step=5),
    cycles=Integer(1, 10),
    grade=Ordered("low", "medium", "high"),
    solvent=Category("water", "ethanol"),
).where(lambda c: not (c["solvent"] == "ethanol" and c["temp"] > 75))
"""

from collections.abc import Callable, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.candidates.parameters import Parameter
from ostinato.errors import InvalidCandidates, InvalidSetting

LARGEST = 10_000_000  # combinations that are enumerated


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

    def allows(self, candidate: dict[str, Any]) -> bool:
        return all(allowed(candidate) for allowed in self._constraints)

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        """How many combinations the constraints allow."""
        return len(self.enumerate())

    def enumerate(self) -> "Enumeration":
        """The table of all allowed combinations; the last parameter varies fastest."""
        if not self.enumerable:
            raise InvalidCandidates(
                f"The space has {self.size:,} combinations, above the {LARGEST:,} that can be listed."
            )
        total = int(self.size)
        table = Enumeration(self.parameters, np.arange(total))
        if not self._constraints:
            return table
        kept = [i for i, candidate in enumerate(table) if self.allows(candidate)]
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

    def __bool__(self) -> bool:
        return True

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
