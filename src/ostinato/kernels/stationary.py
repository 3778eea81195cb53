"""Stationary kernels: covariance as a function of the distance r = ‖(x − y)/lengthscale‖.

In a column of unordered categories, two that differ are 1 apart: all are equally unlike, as under one-hot codes.

Each class below is one formula ρ(r²), times std². For posterior draws by random Fourier features each also
knows its spectral density: a Gaussian, divided for Matérn and rational quadratic by a random scale.
"""

from abc import abstractmethod
from dataclasses import dataclass
from math import sqrt
from typing import cast

import numpy as np
from numpy.random import Generator

from ostinato.arrays import Array, Matrix, Vector, namespace_of, squared_distances
from ostinato.checks import positive
from ostinato.kernels.base import Anisotropic, Kernel


class Stationary(Anisotropic):
    """std² · ρ(r²)."""

    @abstractmethod
    def correlation(self, r2: Array) -> Array:
        """ρ as a function of the squared scaled distance, which may be overwritten."""

    @abstractmethod
    def mixing(self, count: int, rng: Generator) -> Vector | float:
        """Random scale of the Gaussian frequencies: E over it of exp(−scale² r²/2) is ρ(r²)."""

    def slope(self, r2: Array) -> Array | None:
        """ρ′ as a function of the squared scaled distance, where ρ is known to be falling and convex in it."""
        return None

    def __call__(self, X: Array, Y: Array) -> Array:
        values = self.correlation(squared_distances(X, Y, self.lengthscale, self.categories))
        values *= self.std**2
        return values

    def diag(self, X: Array) -> Array:
        return namespace_of(X).full(X.shape[0], self.std**2, dtype=X.dtype)

    def frequencies(self, width: int, count: int, rng: Generator) -> Matrix | None:
        if self.categories:
            return None
        gaussian = rng.standard_normal((count, width)) / np.asarray(self.scales)
        return gaussian * np.reshape(self.mixing(count, rng), (-1, 1))


@dataclass(frozen=True)
class RBF(Stationary):
    """ρ = exp(−r²/2): very smooth functions. Also called Gaussian, or squared exponential."""

    def correlation(self, r2: Array) -> Array:
        r2 *= -0.5
        return namespace_of(r2).exp(r2)

    def slope(self, r2: Array) -> Array:
        return -0.5 * namespace_of(r2).exp(-0.5 * r2)

    def mixing(self, count: int, rng: Generator) -> float:
        return 1.0

    def factors(self, width: int) -> tuple[Kernel, ...]:
        return self.split(width)


@dataclass(frozen=True)
class Matern12(Stationary):
    """ρ = exp(−r): continuous but rough functions. Also called exponential."""

    def correlation(self, r2: Array) -> Array:
        xp = namespace_of(r2)
        return xp.exp(-xp.sqrt(r2))

    def slope(self, r2: Array) -> Array:
        r = namespace_of(r2).sqrt(r2)
        return -0.5 * namespace_of(r2).exp(-r) / r

    def mixing(self, count: int, rng: Generator) -> Vector:
        return _student_scale(1.0, count, rng)


@dataclass(frozen=True)
class Matern32(Stationary):
    """ρ = (1 + √3 r) exp(−√3 r): functions with one derivative."""

    def correlation(self, r2: Array) -> Array:
        xp = namespace_of(r2)
        s = sqrt(3) * xp.sqrt(r2)
        return (1 + s) * xp.exp(-s)

    def slope(self, r2: Array) -> Array:
        return -1.5 * namespace_of(r2).exp(-sqrt(3) * namespace_of(r2).sqrt(r2))

    def mixing(self, count: int, rng: Generator) -> Vector:
        return _student_scale(3.0, count, rng)


@dataclass(frozen=True)
class Matern52(Stationary):
    """ρ = (1 + √5 r + 5r²/3) exp(−√5 r): functions with two derivatives. A sound first choice."""

    def correlation(self, r2: Array) -> Array:
        xp = namespace_of(r2)
        r2 *= 5.0
        s = xp.sqrt(r2)
        r2 *= 1 / 3
        r2 += s
        r2 += 1.0
        s *= -1.0
        r2 *= xp.exp(s)
        return r2

    def slope(self, r2: Array) -> Array:
        s = sqrt(5) * namespace_of(r2).sqrt(r2)
        return -5 / 6 * (1 + s) * namespace_of(r2).exp(-s)

    def mixing(self, count: int, rng: Generator) -> Vector:
        return _student_scale(5.0, count, rng)


@dataclass(frozen=True)
class ProductMatern52(Anisotropic):
    """std² · Π ρ(|x − y|/lengthscale) over the columns, ρ that of Matern52: cheap on grids, where it splits."""

    def __call__(self, X: Array, Y: Array) -> Array:
        first, *others = self.factors(X.shape[1])
        values = first(X[:, :1], Y[:, :1])
        for column, factor in enumerate(others, 1):
            values *= factor(X[:, column : column + 1], Y[:, column : column + 1])
        return values

    def diag(self, X: Array) -> Array:
        return namespace_of(X).full(X.shape[0], self.std**2, dtype=X.dtype)

    def factors(self, width: int) -> tuple[Kernel, ...]:
        return tuple(
            Matern52(scale, self.std if column == 0 else 1.0, categories=(0,) if column in self.categories else ())
            for column, scale in enumerate(self.scale_of_each(width))
        )

    def frequencies(self, width: int, count: int, rng: Generator) -> Matrix | None:
        if self.categories:
            return None
        return np.concatenate([cast("Matrix", k.frequencies(1, count, rng)) for k in self.factors(width)], axis=1)


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """ρ = (1 + r²/(2·alpha))^(−alpha): a mixture of length-scales, wider for a smaller alpha."""

    alpha: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("alpha", self.alpha)

    def correlation(self, r2: Array) -> Array:
        return (1 + r2 / (2 * self.alpha)) ** -self.alpha

    def slope(self, r2: Array) -> Array:
        return -0.5 * (1 + r2 / (2 * self.alpha)) ** (-self.alpha - 1)

    def mixing(self, count: int, rng: Generator) -> Vector:
        return np.sqrt(rng.gamma(self.alpha, 1 / self.alpha, count))


def _student_scale(degrees: float, count: int, rng: Generator) -> Vector:
    """Matérn-ν's spectral density is a multivariate Student t with 2ν degrees of freedom."""
    return np.sqrt(degrees / rng.chisquare(degrees, count))
