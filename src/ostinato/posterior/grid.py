"""Candidates on a grid, under a kernel that splits over its columns: K = K₁ ⊗ K₂ ⊗ … + c².

Every `Space` that can be listed is such a grid, or, with constraints, a part of one. Draws from the prior and products
with the kernel cache are then far cheaper, and exact: they are computed on the whole grid, and read where there are
candidates.
"""

import weakref
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.kernels import Constant, Kernel, Sum

FILLED = 4  # times as many points as candidates, at most, that a grid may have


@dataclass(frozen=True, eq=False)
class Lattice:
    """The values along each axis, and where on the grid every candidate lies, counted with the last axis fastest."""

    axes: tuple[Vector, ...]
    place: NDArray[np.int64]

    @classmethod
    def of(cls, features: Matrix) -> "Lattice | None":
        """The smallest grid that holds all candidates, unless it has many more points."""
        found: list[tuple[Vector, Any]] = [np.unique(column, return_inverse=True) for column in features.T]
        shape = tuple(len(axis) for axis, _ in found)
        if prod(shape) > FILLED * len(features):
            return None
        place: Any = np.ravel_multi_index(tuple(code for _, code in found), shape)
        return cls(tuple(axis for axis, _ in found), place)


@dataclass(frozen=True, eq=False)
class Grid:
    """A lattice, the kernel along each axis, and the constant that is added to their product."""

    lattice: Lattice
    factors: tuple[Kernel, ...]
    constant: float

    @property
    def axes(self) -> tuple[Vector, ...]:
        return self.lattice.axes

    @property
    def place(self) -> NDArray[np.int64]:
        return self.lattice.place

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @property
    def in_order(self) -> bool:
        """Whether the candidates are all points of the grid, listed as it is counted."""
        return len(self.place) == prod(self.shape) and bool(np.array_equal(self.place, np.arange(len(self.place))))


def find_grid(kernel: Kernel, features: Matrix) -> Grid | None:
    """The grid that distinct candidates lie on, where they do and the kernel is a product over its columns."""
    product, constant = _without_constant(kernel)
    factors = product.factors(features.shape[1])
    lattice = None if factors is None else _lattice(features)
    return None if factors is None or lattice is None else Grid(lattice, factors, constant)


def _without_constant(kernel: Kernel) -> tuple[Kernel, float]:
    """k and c² of a kernel k + c²."""
    if isinstance(kernel, Sum) and isinstance(kernel.second, Constant):
        product, constant = _without_constant(kernel.first)
        return product, constant + kernel.second.std**2
    return kernel, 0.0


class _Last:
    """The lattice of the table that was looked at last: a model is made anew of the same one after every fit."""

    def __init__(self) -> None:
        self._of: Any = lambda: None
        self._found: Lattice | None = None

    def __call__(self, features: Matrix) -> Lattice | None:
        if self._of() is not features:
            self._of, self._found = weakref.ref(features), Lattice.of(features)
        return self._found


_lattice = _Last()
