"""The posterior on the unique candidates, kept up to date by one rank-one term an epoch.

Let x* be the candidate measured, v its variance, e = λ/B the variance of the new mean ȳ, D = v + e.
Everything follows from the coefficients p of its covariance with any other candidate,

    cov(x, x* | past) = p · k(X, x),        p = ℓ* M_*        where ℓ* ≤ k(x*, x*)   (no cancellation)
                                            p = e_* − M K_*   otherwise, so too when x* is new

because with p scaled by 1/√D and z = (ȳ − μ(x*))/√D the whole update is

    M += p pᵀ      α += z p      mean(x) += z p·k(X, x)      var(x) −= (p·k(X, x))²      log_det += log(D/e)

(For a new x* this is the bordered inverse, for a known one the Sherman–Morrison formula: they are the same.)
p solves (K + diag ℓ) p = ℓ* e_*. Under smooth kernels M loses digits fast, even at modest counts, so a few rows of that
equation are tried every time (O(q)); where they do not hold to RESIDUAL of v, one step of refinement (O(q²)) makes p as
good as a fresh factorisation would. The terms p pᵀ are held back and added to M by one matrix product every FLUSH
epochs. This file keeps the q-sized half; `blocks.py` the half that has the size of the candidate set.
"""

from math import log, sqrt

import msgspec

from ostinato.arrays import Array, Namespace, grown, namespace_of
from ostinato.errors import InvalidKernel
from ostinato.posterior.factor import Factor, reciprocal
from ostinato.posterior.incremental_factor import IncrementalFactor

FLUSH = 32
STRIP = 512
EPSILON = 2.0**-52
PROBES = 8  # rows of p's equation that are tried
RESIDUAL = 1e-12


class Direction(msgspec.Struct, frozen=True, eq=False):
    """Where measuring a unique candidate moves the posterior: p, not yet scaled, and its variance v."""

    slot: int
    p: Array
    variance: float


class Unique:
    """K, w, m, M and α on the unique candidates. A slot is a candidate's place in them."""

    def __init__(self, xp: Namespace) -> None:
        self.size = 0
        self.log_det = 0.0
        self.heaviest = 0.0
        self._K = xp.zeros((16, 16), dtype=xp.float64)
        self._M = xp.zeros((16, 16), dtype=xp.float64)
        self._held = xp.zeros((FLUSH, 16), dtype=xp.float64)
        self._holding = 0
        self._w, self._l, self._m, self._alpha = (xp.zeros(16, dtype=xp.float64) for _ in range(4))

    _xp = property(lambda self: namespace_of(self._M))
    K = property(lambda self: self._K[: self.size, : self.size])
    w = property(lambda self: self._w[: self.size])
    m = property(lambda self: self._m[: self.size])
    alpha = property(lambda self: self._alpha[: self.size])

    def add(self, rows: Array) -> None:
        """Give candidates slots of their own, unmeasured.

        `rows` holds their covariances with all slots, the old ones and then their own.
        """
        first, size = self.size, self.size + rows.shape[0]
        if size > self._K.shape[0]:
            self._grow(size)
        self._K[first:size, :size] = rows
        self._K[:size, first:size] = self._xp.matrix_transpose(rows)
        self.size = size

    def direction(self, slot: int) -> Direction:
        """Where a measurement at `slot` would move the posterior."""
        k, l = float(self._K[slot, slot]), float(self._l[slot])
        p = l * self._column(slot) if 0 < l <= k else self._subtracted(slot)
        v = self._variance(p, slot)
        if self._misses(p, slot) > RESIDUAL * v:
            p = p - self.times(self._residual(p, slot, slice(0, self.size)))
            v = self._variance(p, slot)
        if min(k, v) < 0:
            self._check_positive(k, v)
        return Direction(slot, p, max(v, 0.0))  # below zero by rounding only: anything more was refused

    def direction_of_new(self, k_x: Array, k: float) -> Direction:
        """The same for a candidate without a slot, of covariances k_x with those in slots; its own coefficient, 1, is
        the last."""
        p = -self.times(k_x)
        v = k + float(self._xp.vecdot(k_x, p))
        some = slice(0, self.size, max(1, self.size // PROBES))
        if self.size and float(self._xp.max(self._xp.abs(self._left(p, k_x, some)))) > RESIDUAL * v:
            p = p - self.times(self._left(p, k_x, slice(0, self.size)))
            v = k + float(self._xp.vecdot(k_x, p))
        if min(k, v) < 0:
            self._check_positive(k, v)
        own = self._xp.ones(1, dtype=self._xp.float64)
        return Direction(self.size, self._xp.concat([p, own]), max(v, 0.0))

    def _left(self, p: Array, k_x: Array, rows: slice) -> Array:
        """Some rows of (K + diag ℓ) p + k_x, which should be nothing at measured candidates."""
        l = self._l[rows]
        left = self._xp.matmul(self._K[rows, : self.size], p) + l * p[rows] + k_x[rows]
        return self._xp.where(l > 0, left, self._xp.zeros_like(left))

    def absorb(self, direction: Direction, noise: float, value: float | None = None) -> tuple[Array, float]:
        """Take in a mean `value` (prior mean off) whose noise has the variance e; returns p, over √D, and z.

        Of a measurement that has not come yet there is no value: the variance shrinks, the mean stays, and z is 0.
        """
        slot, D, z = direction.slot, direction.variance + noise, 0.0
        p = direction.p / sqrt(D)
        if value is not None:
            l, old = float(self._l[slot]), float(self._m[slot])
            if 0 < l <= float(self._K[slot, slot]):
                mean = old - l * float(self._alpha[slot])
            else:
                mean = float(self._xp.vecdot(self._K[slot, : self.size], self.alpha))
            z = (value - mean) / sqrt(D)
            self._m[slot] = old + (value - old) / (1 + float(self._w[slot]) * noise)
            self._alpha[: self.size] += z * p
        self._held[self._holding, : self.size] = p
        self._holding += 1
        if self._holding == FLUSH:
            self._flush()
        self._w[slot] += 1 / noise
        self._l[slot] = 1 / self._w[slot]
        self.heaviest = max(self.heaviest, float(self._w[slot]))
        self.log_det += log(D / noise)
        return p, z

    def fork(self) -> "Unique":
        """A copy whose variances can go their own way."""
        copy = object.__new__(Unique)
        copy.__dict__.update(self.__dict__)
        xp = self._xp
        copy._K, copy._M, copy._held, copy._w, copy._l = (
            xp.asarray(a, copy=True) for a in (self._K, self._M, self._held, self._w, self._l)
        )
        return copy

    def times(self, b: Array) -> Array:
        """M b."""
        xp = self._xp
        held = self._held[: self._holding, : self.size]
        return xp.matmul(self._M[: self.size, : self.size], b) + xp.matmul(xp.matmul(held, b), held)

    def restart(self, w: Array, m: Array) -> None:
        """Forget all measurements but these weights and means (all slots); to be followed by `adopt`."""
        self._w[: self.size], self._l[: self.size], self._m[: self.size] = w, reciprocal(w), m
        self.heaviest = float(self._xp.max(w)) if self.size else 0.0

    def factor(self, growing: IncrementalFactor | None = None) -> Factor:
        """A fresh factorisation of what was measured; or one that goes on from the last."""
        return (growing or IncrementalFactor()).factor(self.K, self.w, self.m)

    def adopt(self, factor: Factor) -> None:
        """Replace what was kept incrementally by a fresh factorisation of it."""
        self._M[: self.size, : self.size] = factor.M
        self._alpha[: self.size] = factor.alpha
        self.log_det = factor.log_det
        self._holding = 0

    def _grow(self, size: int) -> None:
        self._K = grown(self._K, (size, size))
        room = self._K.shape[0]
        self._M = grown(self._M, (room, room))
        self._held = grown(self._held, (FLUSH, room))
        self._w, self._l, self._m, self._alpha = (grown(a, (room,)) for a in (self._w, self._l, self._m, self._alpha))

    def _flush(self) -> None:
        held = self._held[: self._holding, : self.size]
        for start in range(0, self.size, STRIP):  # in strips, so that no second matrix of M's size is needed
            strip = slice(start, min(start + STRIP, self.size))
            self._M[strip, : self.size] += self._xp.matmul(self._xp.matrix_transpose(held[:, strip]), held)
        self._holding = 0

    def _column(self, slot: int) -> Array:
        held = self._held[: self._holding, : self.size]
        return self._M[slot, : self.size] + self._xp.matmul(held[:, slot], held)

    def _subtracted(self, slot: int) -> Array:
        """e_* − M K_*."""
        p = -self.times(self._K[slot, : self.size])
        p[slot] += 1
        return p

    def _variance(self, p: Array, slot: int) -> float:
        """v = ℓ* (1 − p_*) where that is a product, and p · K_* otherwise."""
        l = float(self._l[slot])
        if 0 < l <= float(self._K[slot, slot]):
            return l * (1 - float(p[slot]))
        return float(self._xp.vecdot(self._K[slot, : self.size], p))

    def _misses(self, p: Array, slot: int) -> float:
        """By how much p misses its equation, in a few rows."""
        rows = slice(slot % PROBES, self.size, max(1, self.size // PROBES))
        return float(self._xp.max(self._xp.abs(self._residual(p, slot, rows))))

    def _residual(self, p: Array, slot: int, rows: slice) -> Array:
        """Some rows of (K + diag ℓ) p − ℓ* e_*; unmeasured candidates have no equation."""
        l = self._l[rows]
        residual = self._xp.matmul(self._K[rows, : self.size], p) + l * p[rows]
        place, within = divmod(slot - rows.start, rows.step or 1)
        if within == 0 and 0 <= place < residual.shape[0]:
            residual[place] -= self._l[slot]
        return self._xp.where(l > 0, residual, self._xp.zeros_like(residual))

    def _check_positive(self, k: float, v: float) -> None:
        """One of the two is below zero: by more than rounding, that is the kernel's fault."""
        largest = float(self._xp.max(self._xp.linalg.diagonal(self.K)))
        if k < 0 or v < -rounding_at(self.size, largest * self.heaviest) * largest:
            raise InvalidKernel(
                f"The kernel is not positive on these candidates: it gives the variance {min(k, v):.3g}. "
                "Check that k(x, y) is symmetric and a valid covariance."
            )


def rounding_at(q: int, rho: float) -> float:
    """How far below zero rounding can take a variance, relative to the prior's, for ρ = k n/λ."""
    return 1e-6 + 100 * q * EPSILON * (1 + rho)
