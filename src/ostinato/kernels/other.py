"""Kernels that are not a function of a distance: linear, Hamming, and the user's own."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from ostinato.arrays import Array, Matrix, Vector, from_numpy_like, namespace_of, to_numpy
from ostinato.errors import InvalidKernel
from ostinato.kernels.base import Anisotropic, Column, Kernel


class Linear(Anisotropic):
    """std² · Σ_j x_j y_j / lengthscale_j²: straight planes through the origin (add a Constant for an offset)."""

    def __call__(self, X: Array, Y: Array) -> Array:
        xp = namespace_of(X)
        return xp.matmul(self.weigh(X), xp.matrix_transpose(self.weigh(Y)))

    def diag(self, X: Array) -> Array:
        weighed = self.weigh(X)
        return namespace_of(X).sum(weighed * weighed, axis=1)

    def bind(self, columns: Sequence[Column]) -> Self:
        for column in columns:
            if column.kind == "category":
                raise InvalidKernel(
                    f"Linear draws straight lines, and column {column.name!r} holds unordered categories. Leave that "
                    "column to another kernel, as in Linear().on('number') + Hamming()"
                    f".on({column.name!r}), or make it an ordered parameter."
                )
        return super().bind(columns)

    def weigh(self, X: Array) -> Array:
        """The rows scaled so that the kernel is their inner product."""
        xp = namespace_of(X)
        return X * (self.std / xp.asarray(list(self.scales), dtype=X.dtype))


class Hamming(Anisotropic):
    """std² · exp(−Σ_j [x_j ≠ y_j] / lengthscale_j): categories are alike or they are not."""

    def __call__(self, X: Array, Y: Array) -> Array:
        xp = namespace_of(X)
        distance = xp.zeros((X.shape[0], Y.shape[0]), dtype=X.dtype)
        for j, scale in enumerate(self.scale_of_each(X.shape[1])):
            distance += xp.astype(X[:, j][:, None] != Y[:, j][None, :], X.dtype) / scale
        return self.std**2 * xp.exp(-distance)

    def diag(self, X: Array) -> Array:
        return namespace_of(X).full(X.shape[0], self.std**2, dtype=X.dtype)

    def factors(self, width: int) -> tuple[Kernel, ...]:
        return self.split(width)


@dataclass(frozen=True)
class Custom(Kernel):
    """A kernel of the user's own: `function(X, Y)` returns the matrix of covariances of the rows of X with those of Y.

    `X` and `Y` are NumPy arrays of features (categories as codes). `diagonal(X)`, where given, returns
    k(x, x) for every row and saves evaluating small matrices for it.

    On a GPU the function is called with PyTorch's tensors, if it gives the same numbers for them: use operators and
    `xp = array_api_compat.array_namespace(X)` instead of `numpy`. Else it is called with NumPy arrays there too, and
    what it returns is copied to the card.
    """

    function: Callable[[Matrix, Matrix], Matrix]
    diagonal: Callable[[Matrix], Vector] | None = None

    def __call__(self, X: Array, Y: Array) -> Array:
        return self._checked(self.function(to_numpy(X), to_numpy(Y)), (X.shape[0], Y.shape[0]), X)

    def diag(self, X: Array) -> Array:
        rows = to_numpy(X)
        if self.diagonal is not None:
            return self._checked(self.diagonal(rows), (X.shape[0],), X)
        each = [np.asarray(self.function(row, row), dtype=np.float64).ravel()[0] for row in rows[:, None, :]]
        return self._checked(each, (X.shape[0],), X)

    def _checked(self, values: Any, shape: tuple[int, ...], like: Array) -> Array:
        array = np.asarray(values, dtype=np.float64)
        check_covariances(array, shape)
        return from_numpy_like(array, like)


def check_covariances(values: Array, shape: tuple[int, ...]) -> None:
    """An error where a user's function returned something else than one finite number for each pair of rows."""
    if tuple(values.shape) != shape:
        raise InvalidKernel(
            f"The kernel function returned shape {tuple(values.shape)} where {shape} is due: it must return one "
            "covariance for each row of X with each row of Y."
        )
    xp = namespace_of(values)
    if not bool(xp.all(xp.isfinite(values))):
        raise InvalidKernel("The kernel function returned NaN or infinity: it must be finite on all candidates.")


def as_kernel(kernel: "Kernel | Callable[[Matrix, Matrix], Matrix]") -> Kernel:
    """A kernel stays what it is; any other callable becomes `Custom`."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel) and not isinstance(kernel, type):
        return Custom(kernel)
    raise InvalidKernel(
        f"kernel={kernel!r} is neither a kernel nor a callable: give for instance "
        "ostinato.kernels.Matern52(lengthscale=…, std=…), or a function of two feature matrices."
    )
