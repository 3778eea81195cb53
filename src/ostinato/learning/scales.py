"""Columns of any unit, made comparable: numbers by their range, categories by being equal or not.

A length-scale of 0.5 then means half of a column's range, whatever its unit; and the kernel that comes out speaks the
user's units again.
"""

from collections.abc import Sequence

import numpy as np

from ostinato.arrays import Matrix, Vector
from ostinato.kernels import Column, Constant, Kernel, Matern52
from ostinato.learning.likelihood import Features


class Scales:
    """The range of every column, and which of them are categories."""

    def __init__(self, span: tuple[Vector, Vector], columns: Sequence[Column]) -> None:
        self.columns = list(columns)
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

    def kernel(self, lengthscales: Vector, std: float, constant: float) -> Kernel:
        """The learned kernel in the user's units, bound to the columns; `constant` is the std of the unknown mean."""
        scales = tuple(float(each) for each in lengthscales * self._range)
        matern = Matern52(scales, std).bind(self.columns)
        return matern + Constant(constant) if constant > 0 else matern
