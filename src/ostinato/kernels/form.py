"""A kernel as a product of formulas in squared distances, plus a constant: what a GPU can evaluate in one pass.

    k(x, y) = share · Π_f ρ_f(Σ_j w_fj d_fj(x_j, y_j)) + offset,     share + offset = 1 in units of κ²

d is the squared difference of numbers, and 0 or 1 for categories. Sums of kernels, linear kernels and users' own have
no such form.
"""

from typing import NamedTuple

import numpy as np

from ostinato.arrays import Matrix
from ostinato.kernels.base import Anisotropic, Constant, Kernel, On, Product, Scaled, without_constant
from ostinato.kernels.other import Hamming
from ostinato.kernels.stationary import (
    RBF,
    Matern12,
    Matern32,
    Matern52,
    ProductMatern52,
    RationalQuadratic,
    Stationary,
)

FORMULAS: dict[type[Kernel], str] = {
    RBF: "rbf",
    Matern12: "matern12",
    Matern32: "matern32",
    Matern52: "matern52",
    RationalQuadratic: "rational",
}


class Factor(NamedTuple):
    """One formula. weights: of each column's difference, by its place; categories: the columns that hold codes."""

    formula: str
    weights: dict[int, float]
    categories: frozenset[int]
    alpha: float = 1.0


class ProductForm(NamedTuple):
    """The factors; share and offset, in units of κ²."""

    factors: tuple[Factor, ...]
    share: float
    offset: float

    def steepness(self, half_widths: Matrix) -> float:
        """How many length-scales, at most, lie between the middle of the candidates and any of them."""
        total = 0.0
        for factor in self.factors:
            total += sum(w * half_widths[j] ** 2 for j, w in factor.weights.items() if j not in factor.categories)
        return float(np.sqrt(total))


def product_form(kernel: Kernel, width: int) -> ProductForm | None:
    """The form of a kernel on so many columns; None where it has none."""
    product, constant = without_constant(kernel)
    found = _factors(product, tuple(range(width)))
    if found is None or not found[0]:
        return None
    factors, variance = found
    total = variance + constant
    return ProductForm(tuple(factors), variance / total, constant / total)


def has_product_form(kernel: Kernel, width: int) -> bool:
    """Whether a kernel on so many columns has one."""
    return product_form(kernel, width) is not None


def _factors(kernel: Kernel, columns: tuple[int, ...]) -> tuple[list[Factor], float] | None:
    """Of a kernel that looks at these columns; and its variance."""
    if isinstance(kernel, Scaled):
        inner = _factors(kernel.kernel, columns)
        return None if inner is None else (inner[0], kernel.factor * inner[1])
    if isinstance(kernel, On):
        return _factors(kernel.kernel, tuple(columns[int(name)] for name in kernel.names))
    if isinstance(kernel, Constant):
        return [], kernel.std**2
    if isinstance(kernel, Product):
        parts = _factors(kernel.first, columns), _factors(kernel.second, columns)
        return None if parts[0] is None or parts[1] is None else (parts[0][0] + parts[1][0], parts[0][1] * parts[1][1])
    if isinstance(kernel, ProductMatern52):  # one factor a column
        split = zip(kernel.split(len(columns)), columns, strict=True)
        each = [_factor("matern52", part, (column,)) for part, column in split]
        return each, kernel.std**2
    if isinstance(kernel, Hamming):
        scales = kernel.scale_of_each(len(columns))
        weights = {column: 1 / scale for column, scale in zip(columns, scales, strict=True)}
        return [Factor("hamming", weights, frozenset(columns))], kernel.std**2
    if type(kernel) in FORMULAS and isinstance(kernel, Stationary):
        return [_factor(FORMULAS[type(kernel)], kernel, columns)], kernel.std**2
    return None


def _factor(formula: str, kernel: Anisotropic, columns: tuple[int, ...]) -> Factor:
    scales = kernel.scale_of_each(len(columns))
    weights = {column: scale**-2.0 for column, scale in zip(columns, scales, strict=True)}
    alpha = kernel.alpha if isinstance(kernel, RationalQuadratic) else 1.0
    return Factor(formula, weights, frozenset(columns[j] for j in kernel.categories), alpha)
