"""The posterior of a Gaussian process on its q unique candidates, from scratch: METHOD in one screen.

Notation, used throughout this package:
    X     (q, d)   the unique candidates measured so far
    K     (q, q)   k(X, X)
    w     (q,)     weights n_i/λ_i: counts over noise variances; ℓ_i = 1/w_i is the variance of the mean m_i
    m     (q,)     means of the measurements, with the prior mean μ₀ taken off
    M     (q, q)   (K + diag ℓ)⁻¹
    α     (q,)     M m, so that  mean(x) = μ₀ + k(x, X) α
    k_x   (q, n)   k(X, x) for n points x

With S = diag √w the matrix B = I + S K S = L Lᵀ has no eigenvalue below 1: repeats cannot make it singular, and
a candidate with no measurement (w = 0) simply drops out. Then M = S B⁻¹ S and
log det(I + K_t/λ) = log det B = 2 Σ log L_ii, which is what all t measurements would give.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ostinato.arrays import Array, cholesky, inverse_from_cholesky, namespace_of, solve_lower, to_numpy
from ostinato.errors import InvalidKernel

STRIP = 32  # rows that are multiplied at a time
JITTERS = (0.0, 1e-14, 1e-12, 1e-10)


@dataclass(frozen=True)
class Factor:
    """A fresh factorisation, and the posterior it gives at any points."""

    w: Array
    m: Array
    L: Array
    alpha: Array
    jitter: float  # the part of the diagonal that had to be added; 0 unless float64 is at its end

    @cached_property
    def M(self) -> Array:
        S = namespace_of(self.w).sqrt(self.w)
        return S[:, None] * inverse_from_cholesky(self.L) * S[None, :]

    @property
    def log_det(self) -> float:
        xp = namespace_of(self.L)
        return 2 * float(xp.sum(xp.log(xp.linalg.diagonal(self.L))))

    def mean(self, k_x: Array) -> Array:
        """k(x, X) α, the prior mean not yet added."""
        return namespace_of(k_x).matmul(self.alpha, k_x)

    def variance(self, k_x: Array, k_xx: Array) -> Array:
        """k(x, x) − k(x, X) M k(X, x), for the diagonal k_xx."""
        T = self._whitened(k_x)
        return k_xx - namespace_of(k_x).sum(T * T, axis=0)

    def variance_of_many(self, k_x: Array, k_xx: Array) -> Array:
        """The same for many points: by products instead of a triangular solve, which takes three times as long.

        L⁻¹ is lower-triangular, so that some rows at a time need the first covariances only.
        """
        xp, q = namespace_of(k_x), self.L.shape[0]
        for start in range(0, q, STRIP):
            stop = min(start + STRIP, q)
            T = xp.matmul(self.whitener[start:stop, :stop], k_x[:stop, :])
            k_xx = k_xx - xp.sum(T * T, axis=0)
        return k_xx

    def covariance(self, k_x: Array, k_xx: Array) -> Array:
        """k(x, x') − k(x, X) M k(X, x'), for the whole matrix k_xx."""
        T = self._whitened(k_x)
        xp = namespace_of(k_x)
        return k_xx - xp.matmul(xp.matrix_transpose(T), T)

    @cached_property
    def whitener(self) -> Array:
        """L⁻¹ S."""
        return self._whitened(namespace_of(self.L).eye(self.L.shape[0], dtype=self.L.dtype))

    @property
    def has_whitener(self) -> bool:
        """Whether L⁻¹ S was worked out already."""
        return "whitener" in vars(self)

    def with_whitener(self, whitener: Array) -> "Factor":
        """This one, told L⁻¹ S by who has it."""
        vars(self)["whitener"] = whitener
        return self

    def _whitened(self, k_x: Array) -> Array:
        """T = L⁻¹ S k(X, x), with TᵀT = k(x, X) M k(X, x)."""
        return solve_lower(self.L, namespace_of(self.w).sqrt(self.w)[:, None] * k_x)

    # At a measured candidate with ℓ_i far below k_ii, the differences above lose everything to cancellation.
    # Because M K = I − M diag ℓ, the same numbers are products there:

    @cached_property
    def mean_at_measured(self) -> Array:
        """m_i − ℓ_i α_i (where w_i > 0)."""
        return self.m - self.alpha * self.l

    @cached_property
    def variance_at_measured(self) -> Array:
        """ℓ_i − ℓ_i² M_ii (where w_i > 0)."""
        return self.l * (1 - self.l * namespace_of(self.L).sum(self.whitener * self.whitener, axis=0))

    def covariance_with_measured(self, k_x: Array) -> Array:
        """ℓ_i M_i k(X, x), a row a unique candidate i."""
        return self.l[:, None] * namespace_of(self.M).matmul(self.M, k_x)

    def covariance_among_measured(self) -> Array:
        """δ_ij ℓ_i − ℓ_i M_ij ℓ_j."""
        identity = namespace_of(self.M).eye(self.l.shape[0], dtype=self.l.dtype)
        return self.l[:, None] * (identity - self.M * self.l[None, :])

    @cached_property
    def l(self) -> Array:
        """ℓ_i, and 0 where nothing was measured."""
        return reciprocal(self.w)


def factorise(K: Array, w: Array, m: Array) -> Factor:
    """The posterior after measurements of weights w and means m at candidates of covariance K."""
    xp = namespace_of(K)
    S = xp.sqrt(w)
    B = xp.eye(S.shape[0], dtype=S.dtype) + S[:, None] * K * S[None, :]
    L, jitter = _cholesky_with_jitter(B)
    alpha = _solve(L, S, m)
    alpha = alpha + _solve(L, S, m - xp.matmul(K, alpha) - alpha * reciprocal(w))  # refined once
    return Factor(w, m, L, alpha, jitter)


def reciprocal(w: Array) -> Array:
    """1/w, and 0 where w is 0."""
    xp = namespace_of(w)
    measured = w > 0
    return xp.where(measured, 1 / xp.where(measured, w, xp.ones_like(w)), xp.zeros_like(w))


def _solve(L: Array, S: Array, b: Array) -> Array:
    """M b = S L⁻ᵀ L⁻¹ S b."""
    return S * solve_lower(L, solve_lower(L, S * b), transposed=True)


def _cholesky_with_jitter(B: Array) -> tuple[Array, float]:
    """L of B, with a little of the diagonal added if rounding demands it: bounded, and reported."""
    xp = namespace_of(B)
    for jitter in JITTERS:
        L = cholesky(B if jitter == 0 else B + xp.eye(B.shape[0], dtype=B.dtype) * (jitter * xp.linalg.diagonal(B)))
        if L is not None:
            return L, jitter
    lowest = float(np.linalg.eigvalsh(to_numpy(B))[0])
    raise InvalidKernel(
        f"The kernel is not positive on the measured candidates: the lowest eigenvalue of I + W½KW½/λ is {lowest:.3g}, "
        "and it can never be below 1. Check that k(x, y) is symmetric and a valid covariance."
    )
