"""The exact marginal likelihood of all measurements, on unique candidates, with its gradient.

For groups of measurements (`sample.py`) the log-likelihood of all t single values is

    log p(y) = log N(m | 0, K + diag 1/w)                                      what unique candidates say of f
             + ½ Σ_i log(2π/w_i) − ½ Σ_b [log 2πv_b + (ȳ_b − m_i)²/v_b]         what set-ups say of τ² (0 if there is
             one each) − Σ_b [(n_b − 1)/2 log(2πλr_b) + ½ log n_b + Q_b/(2λr_b)]          what repeats say of λ

and costs O(q³), not O(t³). With A = (K + diag 1/w)⁻¹, α = A m and G = ½(α αᵀ − A), the derivative by any entry of K is
that of G. For the Matérn-5/2 kernel K = s² ρ(r²) + c², r² = Σ_j (gap_j/ℓ_j)², so that

    ∂/∂log s  = Σ G ∘ 2s²ρ        ∂/∂log ℓ_j = Σ G ∘ s² (5/3)(1 + √5 r) e^{−√5 r} gap_j²/ℓ_j²

and Σ H_ik (x_i − x_k)² = 2 Σ x_i² (H1)_i − 2 xᵀHx needs no matrix of gaps: one product of H with the features for
all columns.
"""

from dataclasses import dataclass
from math import exp, log, pi, sqrt
from typing import Any, Protocol, cast

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.spatial.distance import cdist, pdist, squareform

from ostinato.arrays import Matrix, Vector
from ostinato.learning.sample import Sample


@dataclass(frozen=True)
class Features:
    """Unique candidates as the learned kernel sees them: columns scaled to [0, 1], categories one-hot over √2.

    `owner` says which of the table's columns each feature belongs to: its length-scale is shared by all of them.
    """

    F: Matrix
    owner: Any
    columns: int


@dataclass(frozen=True)
class Point:
    """Hyper-parameters, as logarithms: length-scales ℓ (units of a column's range), std s, noise λ, set-ups τ²."""

    lengthscales: Vector
    std: float
    noise: float
    setup: float

    def vector(self) -> Vector:
        return np.concatenate([self.lengthscales, [self.std, self.noise, self.setup]])

    @classmethod
    def of(cls, vector: Vector) -> "Point":
        return cls(vector[:-3], float(vector[-3]), float(vector[-2]), float(vector[-1]))


NO_SETUP = -np.inf  # log τ² where repeats share nothing


class CovarianceAt(Protocol):
    """K on the unique candidates as a function of the hyper-parameters, and what follows from a derivative by K."""

    def matrix(self, point: Point) -> Matrix: ...

    def gradient(self, point: Point, G: Matrix) -> Vector: ...


class LearnedKernel:
    """s² ρ(r²) + c² on the unique candidates, for ever new s and ℓ."""

    def __init__(self, features: Features, constant: float) -> None:
        self._features, self._constant = features, constant

    def matrix(self, point: Point) -> Matrix:
        F = self._features.F / np.exp(point.lengthscales)[self._features.owner]
        r2: Matrix = cdist(F, F, "sqeuclidean")
        r2 *= 5.0
        a = np.sqrt(r2)
        decay = np.exp(-a)
        decay *= exp(2 * point.std)
        a += 1.0
        r2 *= 1 / 3
        r2 += a
        self._slope = np.multiply(a, decay, out=a)  # s² (1 + √5 r) e^{−√5 r}
        _diagonal(self._slope)[:] = 0.0  # where there is no gap, whatever G is
        self._rho = np.multiply(r2, decay, out=r2)  # s² ρ
        return self._rho + self._constant

    def gradient(self, point: Point, G: Matrix) -> Vector:
        """∂/∂(log ℓ_1, …, log ℓ_d, log s), for G the derivative by K; after `matrix`."""
        F, owner = self._features.F, self._features.owner
        H = G * self._slope
        spread = 2 * (H.sum(axis=1) @ (F * F) - (F * (H @ F)).sum(axis=0))
        by_scale = np.bincount(owner, weights=spread, minlength=self._features.columns)
        by_std = 2 * float(np.vdot(G, self._rho))
        return np.concatenate([5 / 3 * by_scale * np.exp(-2 * point.lengthscales), [by_std]])


class LearnedProduct:
    """s² Π_j ρ(|gap_j|/ℓ_j) + c² on the unique candidates, for ever new s and ℓ."""

    def __init__(self, features: Features, constant: float) -> None:
        self._constant, self._size, self._columns = constant, features.F.shape[0], features.columns
        self._gaps = [pdist(features.F[:, features.owner == j]) for j in range(features.columns)]

    def matrix(self, point: Point) -> Matrix:
        s2 = exp(2 * point.std)
        self._rho = np.full(self._size * (self._size - 1) // 2, s2)
        self._slopes: list[Vector] = []
        decay = np.zeros_like(self._rho)
        for gap, ell in zip(self._gaps, np.exp(point.lengthscales), strict=True):
            a = gap * (sqrt(5) / ell)
            third = a * a / 3
            rho = 1 + a
            self._slopes.append(third * rho / (rho + third))  # of log ρ by log ℓ
            self._rho *= rho + third
            decay += a
        self._rho *= np.exp(-decay)
        K = squareform(self._rho, checks=False)
        K += self._constant
        np.fill_diagonal(K, s2 + self._constant)
        return K

    def gradient(self, point: Point, G: Matrix) -> Vector:
        """As of the radial one: each column's slope has its own matrix."""
        weighted = squareform(G, checks=False) * self._rho
        by_std = 2 * (2 * float(np.sum(weighted)) + exp(2 * point.std) * float(np.trace(G)))
        return np.append([2 * float(weighted @ slope) for slope in self._slopes], by_std)


class GivenKernel:
    """A kernel that the user fixed: nothing of it is learned."""

    def __init__(self, K: Matrix, columns: int) -> None:
        self._K, self._columns = K, columns

    def matrix(self, point: Point) -> Matrix:
        return self._K

    def gradient(self, point: Point, G: Matrix) -> Vector:
        return np.zeros(self._columns + 1)


def log_likelihood(kernel: CovarianceAt, sample: Sample, point: Point) -> tuple[float, Vector]:
    """log p(y) and its gradient by the logarithms in `point`."""
    noise, setup = exp(point.noise), exp(point.setup) if point.setup > NO_SETUP else 0.0
    v = sample.variances(noise, setup)
    w, m = sample.merged(v)
    value, alpha, A = _of_means(kernel.matrix(point), w, m)
    G = np.multiply.outer(0.5 * alpha, alpha)
    G -= 0.5 * A
    by_kernel, by_v = kernel.gradient(point, G), G.diagonal()
    if not sample.alone:
        more, by_v = _of_setups(sample, v, w, m, alpha, by_v)
        value += more
    freedom, squares, rest = sample.repeats
    value -= freedom / 2 * log(2 * pi * noise) + squares / (2 * noise) + rest
    by_noise = noise * float(by_v @ sample.per_measurement) + squares / (2 * noise) - freedom / 2
    return value, np.concatenate([by_kernel, [by_noise, setup * float(by_v.sum())]])


def _of_setups(sample: Sample, v: Vector, w: Vector, m: Vector, alpha: Vector, by_own: Vector) -> tuple[float, Vector]:
    """What groups of the same candidate say of each other, and the derivative of everything by the variances v."""
    off = sample.mean - m[sample.slot]
    value = 0.5 * float(np.sum(np.log(2 * pi / w))) - 0.5 * float(np.sum(np.log(2 * pi * v) + off**2 / v))
    by_v = (by_own / w**2 + 0.5 / w)[sample.slot]  # through 1/w
    by_v += (alpha / w)[sample.slot] * off  # through m
    by_v += 0.5 * (off**2 - v)
    by_v /= v**2
    return value, by_v


def _of_means(K: Matrix, w: Vector, m: Vector) -> tuple[float, Vector, Matrix]:
    """log N(m | 0, K + diag 1/w), with α and A; through B = I + W½KW½, which repeats cannot make singular."""
    S = np.sqrt(w)
    B = K * S[:, None]
    B *= S
    _diagonal(B)[:] += 1
    L, failed = cast("Any", dpotrf)(B, lower=1, clean=1, overwrite_a=1)
    if failed:
        raise ArithmeticError("K is not positive")
    log_det = 2 * float(np.log(L.diagonal()).sum()) - float(np.log(w).sum())
    A, _ = cast("Any", dpotri)(L, lower=1, overwrite_c=1)
    A = _symmetric(A)
    A *= S[:, None]
    A *= S
    alpha = A @ m
    alpha += A @ (m - K @ alpha - alpha / w)  # refined once
    return -0.5 * (float(m @ alpha) + log_det + len(m) * log(2 * pi)), alpha, A


def _symmetric(lower: Matrix) -> Matrix:
    """Both triangles, from the lower one."""
    full = lower + lower.T
    _diagonal(full)[:] *= 0.5
    return full


def _diagonal(matrix: Matrix) -> Vector:
    """A view of it that can be written to."""
    return cast("Vector", np.einsum("ii->i", matrix))
