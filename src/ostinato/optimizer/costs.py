"""What a switch costs: from one candidate to another, in the units of a measurement's cost.

switch_cost=20                             every switch costs as much as 20 measurements
switch_cost={"temp": 30, "ph": 1}          a cost per column that changes: temperature is hard to change
switch_cost=table                          costs[i, j] from row i to row j of the candidates
switch_cost=lambda a, b: abs(a - b)        any function of two candidates, as `ask` gives them
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.candidates import Candidates
from ostinato.checks import brief, not_negative, number
from ostinato.errors import InvalidSetting

Indices = NDArray[np.int64]


class SwitchCost(Protocol):
    """The cost of going from a candidate to each of some others; staying costs nothing."""

    def __call__(self, start: int, others: Indices) -> Vector: ...


def cost_between(costs: SwitchCost, start: int, end: int) -> float:
    """Of going from one candidate to another."""
    return float(costs(start, np.array([end]))[0])


class ConstantSwitchCost:
    """Every switch costs the same."""

    def __init__(self, cost: float) -> None:
        self._cost = cost

    def __call__(self, start: int, others: Indices) -> Vector:
        return np.where(others == start, 0.0, self._cost)


class PerColumn:
    """A cost for each column that changes."""

    def __init__(self, features: Matrix, costs: Mapping[int, float]) -> None:
        self._features, self._costs = features, costs

    def __call__(self, start: int, others: Indices) -> Vector:
        total = np.zeros(len(others))
        for j, cost in self._costs.items():
            total += cost * (self._features[others, j] != self._features[start, j])
        return total


class FromTable:
    """Costs looked up."""

    def __init__(self, costs: Matrix) -> None:
        self._costs = costs

    def __call__(self, start: int, others: Indices) -> Vector:
        return np.where(others == start, 0.0, self._costs[start, others])


class ByFunction:
    """Costs by a function of two candidates, as the user knows them."""

    def __init__(self, table: Candidates, function: Callable[[Any, Any], Any]) -> None:
        self._table, self._function = table, function

    def __call__(self, start: int, others: Indices) -> Vector:
        return np.array([0.0 if int(other) == start else self._one(start, int(other)) for other in others])

    def _one(self, start: int, other: int) -> float:
        pair = [self._table.point(candidate) for candidate in (start, other)]
        cost = number(self._function(*pair))
        if not (np.isfinite(cost) and cost >= 0):
            raise InvalidSetting(
                f"switch_cost({brief(pair[0])}, {brief(pair[1])}) is {cost!r}: it must be a finite number, 0 or more."
            )
        return cost


def read_costs(given: Any, table: Candidates) -> SwitchCost | None:
    """The switching cost that the user gave, checked; None where none was."""
    if given is None:
        return None
    if isinstance(given, Mapping):
        return PerColumn(table.features, _per_column(cast("Mapping[Any, Any]", given), table))
    if callable(given):
        return ByFunction(table, given)
    if np.ndim(given) == 2:
        return FromTable(_table(given, table))
    return ConstantSwitchCost(not_negative("switch_cost", given))


def shortest_way(start: int | None, stops: list[int], costs: SwitchCost | None) -> list[int]:
    """The stops in an order that is cheap to walk: always on to the one that is cheapest to reach."""
    if costs is None:
        return stops
    left, way, here = list(stops), list[int](), start
    while left:
        place = 0 if here is None else int(np.argmin(costs(here, np.array(left))))
        here = left.pop(place)
        way.append(here)
    return way


def _per_column(given: Mapping[Any, Any], table: Candidates) -> dict[int, float]:
    names = [column.name for column in table.columns]
    unknown = [name for name in given if name not in names]
    if unknown:
        raise InvalidSetting(
            f"switch_cost names column {unknown[0]!r}, which is not there. The columns are "
            f"{', '.join(map(repr, names))}."
        )
    return {names.index(name): not_negative(f"switch_cost[{name!r}]", cost) for name, cost in given.items()}


def _table(given: Any, table: Candidates) -> Matrix:
    costs = np.asarray(given, dtype=np.float64)
    if costs.shape != (table.rows, table.rows) or not np.all(np.isfinite(costs) & (costs >= 0)):
        raise InvalidSetting(
            f"switch_cost is a table of shape {costs.shape} for {table.rows:,} candidates: give one "
            "row and one column for "
            "each, of finite numbers, 0 or more."
        )
    return costs[np.ix_(table.indices, table.indices)]
