"""Candidates that form a full grid, under a kernel that splits over its columns: K = K₁ ⊗ K₂ ⊗ …

Every `Space` without constraints is such a grid. Draws from the prior and products with the kernel cache are then far
cheaper, and exact.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.kernels import Kernel


@dataclass(frozen=True)
class Grid:
    """The values along each axis, the kernel along each axis, and where on the grid every candidate lies."""

    axes: tuple[Vector, ...]
    factors: tuple[Kernel, ...]
    place: NDArray[np.int64]  # of every candidate, counted with the last axis fastest

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @property
    def in_order(self) -> bool:
        """Whether the candidates are listed as the grid is counted."""
        return bool(np.array_equal(self.place, np.arange(len(self.place))))


def find_grid(kernel: Kernel, features: Matrix) -> Grid | None:
    """The grid that distinct candidates form, where they do and the kernel is a product over its columns."""
    factors = kernel.factors(features.shape[1])
    if factors is None:
        return None
    found: list[tuple[Vector, Any]] = [np.unique(column, return_inverse=True) for column in features.T]
    axes = tuple(axis for axis, _ in found)
    shape = tuple(len(axis) for axis in axes)
    if prod(shape) != len(features):
        return None
    place: Any = np.ravel_multi_index(tuple(code for _, code in found), shape)
    return Grid(axes, factors, place)
