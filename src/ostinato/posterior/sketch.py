"""A Nyström (DTC) posterior from scratch: the Gaussian process seen through some inducing candidates S.

The process is replaced by its projection on S, f̂(x) = k(x, S) K_SS⁻¹ f(S), whose kernel is
k̂(x, y) = k(x, S) K_SS⁻¹ k(S, y); what the projection does not see, k − k̂, stays uncertain for ever:

    mean(x)    = E[f̂(x) | data]
    cov(x, y)  = k(x, y) − k̂(x, y) + cov[f̂(x), f̂(y) | data]

(With z(x) = K_SS^{−½} k(S, x) these are BKB's zᵀV⁻¹Σ n m z and k − zᵀz + λ zᵀV⁻¹z.) It is computed in two steps. On S
itself f̂ is f, so what was measured there gives the exact posterior of `factor.py`: M, α. What was measured at other
candidates R (with ℓ = λ/n each) comes on top, through their interpolation weights A = K_SS⁻¹ K_SR:

    V = M diag(ℓ_S) A        Σ = diag(ℓ_R) + K_RS V
    G = M + V Σ⁻¹ Vᵀ         a = α + V Σ⁻¹ (m_R − K_RS α)
    mean(x) = a · k(S, x)    var(x) = k(x, x) − k(x, S) G k(S, x)

G = U Uᵀ has a norm of at most max n/λ, so all |A| variances are one product of the triangular m×m matrix Uᵀ with the
m×|A| matrix k(S, A): m²|A| flops, m the number of inducing candidates. The rest is of the size m³ and m²·|R|.
"""

from dataclasses import dataclass

from ostinato.arrays import Array, cholesky, namespace_of, solve_lower, transposed_times
from ostinato.errors import InvalidKernel
from ostinato.posterior.factor import Factor, factorise, reciprocal

JITTERS = (0.0, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8)  # of the largest variance


@dataclass(frozen=True)
class Sketch:
    """The posterior in the coordinates of k(S, ·)."""

    a: Array
    U: Array
    L: Array  # of K_SS
    exact: Factor  # of what was measured at S
    V: Array
    L_R: Array  # of Σ
    K_SR: Array
    log_det: float

    def mean(self, k_x: Array) -> Array:
        """The prior mean not yet added, for k_x = k(S, x)."""
        return namespace_of(k_x).matmul(self.a, k_x)

    def variance(self, k_x: Array, k_xx: Array) -> Array:
        """k(x, x) − |Uᵀ k(S, x)|², which rounding may take below zero; k_x is overwritten."""
        xp = namespace_of(k_x)
        T = transposed_times(self.U, k_x)
        return k_xx - xp.sum(xp.multiply(T, T), axis=0)

    def shrinks(self, k_x: Array) -> Array:
        """G k(S, x): the coefficients of what the data have taken off the covariance with x."""
        return namespace_of(k_x).matmul(self.U, transposed_times(self.U, k_x))

    def seen(self, k_x: Array) -> Array:
        """The coefficients of cov[f̂(·), f̂(x) | data], which measuring x can still shrink.

        K_SS⁻¹ k(S, x) − G k(S, x), written as products that lose no digits: M diag(ℓ_S) A as in V, less R's share.
        """
        xp = namespace_of(k_x)
        p = xp.matmul(self.exact.M, self.exact.l * _solve(self.L, k_x))
        return p - xp.matmul(self.V, _solve(self.L_R, xp.matmul(p, self.K_SR)))


def sketch(K_SS: Array, K_SR: Array, data_S: tuple[Array, Array], data_R: tuple[Array, Array]) -> Sketch:
    """The posterior seen through S, after measurements of weights n/λ and means m at S and at other candidates R."""
    xp = namespace_of(K_SS)
    exact = factorise(K_SS, *data_S)
    L = _cholesky_with_jitter(K_SS)
    w_R, m_R = data_R
    V = xp.matmul(exact.M, exact.l[:, None] * _solve(L, K_SR))
    Sigma = xp.matmul(xp.matrix_transpose(K_SR), V)
    Sigma = (Sigma + xp.matrix_transpose(Sigma)) / 2 + xp.eye(w_R.shape[0], dtype=w_R.dtype) * reciprocal(w_R)
    L_R = _cholesky_with_jitter(Sigma)
    T = solve_lower(L_R, xp.matrix_transpose(V))
    U = _cholesky_with_jitter(exact.M + xp.matmul(xp.matrix_transpose(T), T))
    a = exact.alpha + xp.matmul(solve_lower(L_R, m_R - xp.matmul(exact.alpha, K_SR)), T)
    log_det = exact.log_det + float(xp.sum(2 * xp.log(xp.linalg.diagonal(L_R)) + xp.log(w_R)))
    return Sketch(a, U, L, exact, V, L_R, K_SR, log_det)


def _solve(L: Array, b: Array) -> Array:
    return solve_lower(L, solve_lower(L, b), transposed=True)


def _cholesky_with_jitter(K: Array) -> Array:
    """L of K, with a little of the largest variance added where neighbours among the candidates are nearly equal."""
    xp = namespace_of(K)
    if not K.shape[0]:
        return K
    largest = float(xp.max(xp.linalg.diagonal(K)))
    identity = xp.eye(K.shape[0], dtype=K.dtype)
    for jitter in JITTERS:
        L = cholesky(K + identity * (jitter * largest))
        if L is not None:
            return L
    raise InvalidKernel(
        "The kernel is not positive on the inducing candidates. Check that k(x, y) is symmetric and a valid covariance."
    )
