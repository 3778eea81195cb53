"""A Cholesky factorisation that grows: O(q²) for each new candidate, where starting again would take O(q³).

With one more candidate of weight w and covariances k_* with the others, B = I + S K S gets one more row and column,
b = √w S k_* and 1 + w k. In the notation of `factor.py`,

    L⁺ = [ L   0 ]      l = L⁻¹ b = √w W k_*              W⁺ = [    W        0   ]
         [ lᵀ  d ]      d² = 1 + w k − lᵀl                     [ −lᵀW/d    √w/d  ]

which is how Cholesky's factor comes about row by row in any case. l is refined once by its own equation, L l = b, so
that it is as good as that of a triangular solve; and α = Wᵀ(W m), refined once as in `factorise`. A changed weight (a
repeat) and κ² n/λ above `HEAVIEST` make it start again, and so does a factorisation whose W nobody has asked for: to
work it out takes longer than another one. Results are those of `factorise` up to rounding.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from ostinato.arrays import Array, Matrix, Vector, namespace_of
from ostinato.posterior.factor import Factor, factorise

MAX_ADDED = 8  # candidates that are added one by one
HEAVIEST = 1e9  # κ² n/λ up to which that is precise
MIN_SPARE_ROWS = 32  # candidates for which there is room, at the least, when that runs out


class GrowableFactor(NamedTuple):
    """A factorisation in matrices with room for more rows. Rows that are filled are never written again."""

    w: Vector
    L: Matrix
    W: Matrix


class IncrementalFactor:
    """Extends the last factorisation where it can, and factorises anew where it cannot.

    It is read and replaced as a whole, so that two threads that look at one posterior do not disturb each other.
    """

    def __init__(self) -> None:
        self._last: Factor | GrowableFactor | None = None  # a Factor was made anew, and has no room for more

    def __reduce__(self) -> tuple[type["IncrementalFactor"], tuple[()]]:
        """For pickle and copy: it starts again."""
        return IncrementalFactor, ()

    def factor(self, K: Array, w: Array, m: Array) -> Factor:
        """The factorisation of what was measured; K must be that of last time, or that with more rows and columns."""
        if namespace_of(K) is not np:
            return factorise(K, w, m)
        return self._extended(K, w.copy(), m.copy()) or self._anew(K, w.copy(), m.copy())

    def _anew(self, K: Matrix, w: Vector, m: Vector) -> Factor:
        factor = factorise(K, w, m)
        self._last = factor if factor.jitter == 0 else None
        return factor

    def _extended(self, K: Matrix, w: Vector, m: Vector) -> Factor | None:
        last, size = self._last, len(w)
        if last is None or (isinstance(last, Factor) and not last.has_whitener):
            return None
        known = len(last.w)
        if not 0 < known < size <= known + MAX_ADDED or not np.array_equal(w[:known], last.w):
            return None
        if float(np.max(w * K.diagonal())) > HEAVIEST:
            return None
        S = np.sqrt(w)
        L, W = _with_room(last, size)
        for place in range(known, size):
            if not _add(L, W, K[place, : place + 1], S[: place + 1]):
                return None
        self._last = GrowableFactor(w, L, W)
        return _factor_of(K, w, m, L[:size, :size], W[:size, :size])


def _with_room(last: Factor | GrowableFactor, size: int) -> tuple[Matrix, Matrix]:
    """L and W of the last factorisation, in matrices of at least this size."""
    if isinstance(last, GrowableFactor) and size <= len(last.L):
        return last.L, last.W
    known, room = len(last.w), size + max(MIN_SPARE_ROWS, size // 2)
    L, W = (last.L, last.W) if isinstance(last, GrowableFactor) else (last.L, last.whitener)
    return _copied(L[:known, :known], room), _copied(W[:known, :known], room)


def _add(L: Matrix, W: Matrix, k: Vector, S: Vector) -> bool:
    """Write one more row of both; False where it cannot be added."""
    place, s = len(k) - 1, float(S[-1])
    before = W[:place, :place]
    b = s * S[:-1] * k[:-1]
    l = s * (before @ k[:-1])
    left = b - L[:place, :place] @ l
    l += before @ np.divide(left, S[:-1], out=np.zeros(place), where=S[:-1] > 0)
    d2 = 1 + s * s * float(k[-1]) - float(l @ l)
    if not d2 > 0.5:  # it is never below 1: the kernel is not positive, or rounding has taken over
        return False
    d = sqrt(d2)
    L[place, :place], L[place, place] = l, d
    W[place, :place], W[place, place] = (l @ before) / -d, s / d
    return True


def _factor_of(K: Matrix, w: Vector, m: Vector, L: Matrix, W: Matrix) -> Factor:
    alpha = (W @ m) @ W
    left = m - K @ alpha
    measured = w > 0
    left[measured] -= alpha[measured] / w[measured]
    alpha += (W @ left) @ W
    return Factor(w, m, L, alpha, 0.0).with_whitener(W)


def _copied(matrix: Matrix, room: int) -> Matrix:
    larger = np.zeros((room, room))
    larger[: len(matrix), : len(matrix)] = matrix
    return larger
