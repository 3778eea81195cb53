"""Columns of any unit, made comparable: numbers by their range, categories by being equal or not.

A length-scale of 0.5 then means half of a column's range, whatever its unit; and the kernel that comes out speaks the
user's units again.

The learned kernel is Matérn-5/2 of the distance in all columns together. On large grids it is the product of one a
column, which answers as well (docs/results.md, "Grids") and makes use of the grid: an epoch on 10⁶ points takes a
fifth of the time.
"""

from collections.abc import Sequence

import numpy as np

from ostinato.arrays import Matrix, Vector
from ostinato.candidates import Candidates, Sampled, ShardedTable, lattice_of
from ostinato.candidates.lattice import FILLED
from ostinato.kernels import Column, Constant, Kernel, Matern52, ProductMatern52
from ostinato.learning.likelihood import Features, LearnedKernel, LearnedProduct

PRODUCT_KERNEL_FROM = 20_000  # candidates on a grid from which the learned kernel is a product over columns
MAX_AXIS_VALUES = 2_000  # values of one column, at most


def is_large_grid(table: Candidates) -> bool:
    """Whether candidates are so many, and form a grid of several columns."""
    large = len(table) >= PRODUCT_KERNEL_FROM and not isinstance(table, Sampled)
    if large and isinstance(table, ShardedTable):
        return table.is_grid(MAX_AXIS_VALUES, FILLED)
    lattice = lattice_of(table.features) if large else None
    return lattice is not None and len(lattice.shape) > 1 and max(lattice.shape) <= MAX_AXIS_VALUES


class Scales:
    """The range of every column, and which of them are categories."""

    def __init__(self, span: tuple[Vector, Vector], columns: Sequence[Column], *, product: bool = False) -> None:
        self.columns, self._product = list(columns), product
        self.categories = tuple(j for j, column in enumerate(columns) if column.kind == "category")
        self._low, high = span
        width = high - self._low
        self._range = np.where(width > 0, width, 1.0)
        self._range[list(self.categories)] = 1.0

    def features(self, rows: Matrix) -> Features:
        """Some candidates as the likelihood sees them; categories one-hot, as far as they occur."""
        parts: list[Matrix] = []
        owner: list[int] = []
        for j in range(len(self.columns)):
            values = rows[:, j]
            if j in self.categories:
                part = (values[:, None] == np.unique(values)).astype(np.float64) / np.sqrt(2)
            else:
                part = ((values - self._low[j]) / self._range[j] - 0.5)[:, None]
            parts.append(part)
            owner += [j] * part.shape[1]
        return Features(np.concatenate(parts, axis=1), np.asarray(owner), len(self.columns))

    def to_learn(self, rows: Matrix, constant: float) -> LearnedKernel | LearnedProduct:
        """The kernel at some candidates, for the likelihood."""
        return (LearnedProduct if self._product else LearnedKernel)(self.features(rows), constant)

    def kernel(self, lengthscales: Vector, std: float, constant: float) -> Kernel:
        """The learned kernel in the user's units, bound to the columns; `constant` is the std of the unknown mean."""
        scales = tuple(float(each) for each in lengthscales * self._range)
        matern = (ProductMatern52 if self._product else Matern52)(scales, std).bind(self.columns)
        return matern + Constant(constant) if constant > 0 else matern
