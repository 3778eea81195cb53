"""Candidates on a grid, under a kernel that splits over its columns: K = K₁ ⊗ K₂ ⊗ … + c².

Every `Space` that can be listed is such a grid, or, with constraints, a part of one. Draws from the prior and products
with the kernel cache are then far cheaper, and exact: they are computed on the whole grid, and read where there are
candidates.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.candidates import Lattice, lattice_of
from ostinato.kernels import Kernel
from ostinato.kernels.base import without_constant


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
        return self.lattice.shape


def find_grid(kernel: Kernel, features: Matrix) -> Grid | None:
    """The grid that distinct candidates lie on, where they do and the kernel is a product over its columns."""
    product, constant = without_constant(kernel)
    factors = product.factors(features.shape[1])
    lattice = None if factors is None else lattice_of(features)
    return None if factors is None or lattice is None else Grid(lattice, factors, constant)
