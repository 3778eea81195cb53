"""What scikit-learn's users search, as a space: a `Space`, lists of levels, parameters or SciPy's distributions."""

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, cast

import numpy as np

from ostinato.candidates import Category, Float, Integer, Ordered, Parameter, Space
from ostinato.errors import InvalidSetting

LOGARITHMIC = ("loguniform", "reciprocal")


class ParamSpace:
    """A space, and how its points become the parameters of an estimator.

    Levels of a list are known by their places: they may be anything, such as None or an estimator. Lists of numbers
    are ordered; others are not.
    """

    def __init__(self, given: Any) -> None:
        self._levels: dict[str, list[Any]] = {}
        if isinstance(given, Space):
            self.space = deepcopy(given)  # parameters keep what they worked out, and what users give stays as it is
        elif isinstance(given, Mapping):
            described = cast("Mapping[str, Any]", given)
            self.space = Space({name: self._read(name, each) for name, each in described.items()})
        else:
            raise InvalidSetting(
                f"param_space={given!r} is not a space: give an ostinato.Space, or a dict from names to lists of "
                "levels, ostinato's parameters or SciPy's distributions."
            )

    def params(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """A point as `set_params` takes it; parameters that depend on others and are not there are left out."""
        left_out = {name for name in self.space.depends if point[name] is None}
        there = {name: each for name, each in point.items() if name not in left_out}
        return {name: self._levels[name][each] if name in self._levels else each for name, each in there.items()}

    def _read(self, name: str, given: Any) -> Parameter:
        if hasattr(given, "codec"):
            return deepcopy(given)
        if hasattr(given, "support") and hasattr(given, "rvs"):
            return _range(name, given)
        if isinstance(given, (list, tuple, np.ndarray)):
            levels = cast("list[Any]", given.tolist() if isinstance(given, np.ndarray) else list(cast("Any", given)))
            numbers = all(isinstance(each, (int, float, np.number)) and not isinstance(each, bool) for each in levels)
            self._levels[name] = sorted(levels) if numbers else levels
            return (Ordered if numbers else Category)(*range(len(levels)))
        raise InvalidSetting(
            f"param_space[{name!r}]={given!r} is not a parameter: give a list of levels, an ostinato Float, Integer, "
            "Ordered or Category, or a SciPy distribution such as scipy.stats.loguniform(1e-4, 1)."
        )


def _range(name: str, distribution: Any) -> Parameter:
    """The range of a distribution of SciPy; how it weighs the numbers in between is not used, but for logarithms."""
    low, high = map(float, distribution.support())
    if not np.isfinite([low, high]).all():
        raise InvalidSetting(
            f"param_space[{name!r}] goes from {low} to {high}: give a distribution that ends, such as uniform, "
            "loguniform or randint, or a Float(low, high)."
        )
    if hasattr(distribution, "pmf"):
        return Integer(int(low), int(high))
    return Float(low, high, log=distribution.dist.name in LOGARITHMIC)
