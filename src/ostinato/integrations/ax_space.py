"""A search space of Ax as one of Ostinato's."""

from math import isclose
from typing import Any

from ax.core.parameter import ChoiceParameter, DerivedParameter, FixedParameter, ParameterType, RangeParameter
from ax.core.search_space import SearchSpace

from ostinato import Category, Float, Integer, Ordered, Space
from ostinato.errors import InvalidSetting


class Translation:
    """What can be chosen in a search space of Ax, and what follows from it: fixed and derived parameters."""

    def __init__(self, search_space: SearchSpace) -> None:
        if search_space.is_hierarchical:
            raise InvalidSetting("The search space has parameters that depend on others: give one that has none.")
        found = search_space.parameters
        chosen = {name: _translated(each) for name, each in found.items() if isinstance(each, _CHOSEN)}
        self._fixed = {name: each.value for name, each in found.items() if isinstance(each, FixedParameter)}
        self._derived = {name: each for name, each in found.items() if isinstance(each, DerivedParameter)}
        self._numbers = [name for name, each in found.items() if each.parameter_type.is_numeric]
        self._constraints = list(search_space.parameter_constraints)
        space = Space(chosen)
        self.space = space.where(self._allowed) if self._constraints else space

    def parameters(self, candidate: dict[str, Any]) -> dict[str, Any]:
        """All parameters of an arm."""
        known = candidate | self._fixed
        return known | {name: each.compute(known) for name, each in self._derived.items()}

    def candidate(self, parameters: dict[str, Any]) -> dict[str, Any]:
        """What was chosen in an arm."""
        return {name: parameters[name] for name in self.space.parameters}

    def _allowed(self, candidate: dict[str, Any]) -> bool:
        known = self.parameters(candidate)
        numbers = {name: known[name] for name in self._numbers}
        return all(each.check(numbers) for each in self._constraints)


_CHOSEN = (RangeParameter, ChoiceParameter)


def _translated(parameter: RangeParameter | ChoiceParameter) -> Any:
    if parameter.is_fidelity or getattr(parameter, "is_task", False) or getattr(parameter, "logit_scale", False):
        raise InvalidSetting(
            f"{parameter.name} is a fidelity, a task or on a logit scale, which Ostinato does not know: make it a "
            "plain range or choice."
        )
    if isinstance(parameter, ChoiceParameter):
        return (Ordered if parameter.is_ordered else Category)(*parameter.values)
    low, high, log = parameter.lower, parameter.upper, parameter.log_scale
    if parameter.parameter_type == ParameterType.INT:
        return Integer(int(low), int(high), log=log)
    return Float(low, high, log=log, digits=parameter.digits)


def same(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two candidates are the same, but for rounding."""
    return all(_alike(value, second[name]) for name, value in first.items())


def _alike(first: Any, second: Any) -> bool:
    return isclose(first, second, rel_tol=1e-9) if isinstance(first, float) else bool(first == second)
