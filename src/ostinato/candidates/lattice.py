"""Whether candidates lie on a grid, as those of a `Space` that can be listed do: every value with every other.

With constraints they are a part of a grid. As long as it has not many more points, what is cheap on it pays.
"""

import weakref
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector

CHECKED_FIRST = 1_000  # rows that are looked at first
FILLED = 4  # times as many points as candidates, at most, that a grid may have


@dataclass(frozen=True, eq=False)
class Lattice:
    """The values along each axis, and where on the grid every candidate lies, counted with the last axis fastest."""

    axes: tuple[Vector, ...]
    place: NDArray[np.int64]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @property
    def size(self) -> int:
        """How many candidates lie on it."""
        return len(self.place)

    @property
    def in_order(self) -> bool:
        """Whether the candidates are all points of the grid, listed as it is counted."""
        return len(self.place) == prod(self.shape) and bool(np.array_equal(self.place, np.arange(len(self.place))))


class _Last:
    """Looks once at each table: models are made of the same one again after every fit."""

    def __init__(self) -> None:
        self._last: tuple[Any, Lattice | None] = (lambda: None, None)

    def __call__(self, features: Matrix) -> Lattice | None:
        """The smallest grid that holds all candidates, unless it has many more points."""
        own = getattr(features, "lattice", None)  # of all points of a space
        if own is not None:
            return own
        looked_at, found = self._last
        if looked_at() is not features:
            found = _find(features)
            self._last = weakref.ref(features), found
        return found


def _find(features: Matrix) -> Lattice | None:
    """Some rows, looked at first, show most tables to be too scattered; sorting all of them takes seconds."""
    some = features[:: max(1, len(features) // CHECKED_FIRST)]
    if prod(len(np.unique(column)) for column in some.T) > FILLED * len(features):
        return None
    axes: list[Vector] = []
    place, points = np.zeros(len(features), dtype=np.int64), 1
    for column in features.T:
        axis, code = np.unique(column, return_inverse=True)
        axes.append(axis)
        points *= len(axis)
        if points > FILLED * len(features):
            return None
        place = place * len(axis) + code
    return Lattice(tuple(axes), place)


lattice_of = _Last()
