"""The factorisation of a posterior that goes on: O(q²) for each new candidate, where O(q³) would start again.

With one more candidate of weight w and covariances k_* with the others, B = I + S K S gets one more row and column,
b = √w S k_* and 1 + w k. In the notation of `factor.py`,

    L⁺ = [ L   0 ]      l = L⁻¹ b = √w W k_*              W⁺ = [    W        0   ]
         [ lᵀ  d ]      d² = 1 + w k − lᵀl                     [ −lᵀW/d    √w/d  ]

which is how Cholesky's factor comes about row by row in any case. l is refined once by its own equation, L l = b, so
that it is as good as that of a triangular solve; and α = Wᵀ(W m), refined once as in `factorise`. All starts again
where a weight that is in it changes (a repeat), and where counts over noise are very large.
"""

from math import sqrt

import numpy as np

from ostinato.arrays import Array, Matrix, Vector, is_numpy, namespace_of
from ostinato.posterior.factor import Factor, factorise

MORE = 8  # candidates that are added one by one
HEAVIEST = 1e9  # κ² n/λ up to which that is precise
ROOM = 32  # candidates for which there is room, at the least, when that runs out


class Growing:
    """The last factorisation, and what goes on from it."""

    def __init__(self) -> None:
        self._w: Vector = np.zeros(0)
        self._L: Matrix = np.zeros((0, 0))  # and _W: with room for more; what is in them is never written again
        self._W: Matrix = np.zeros((0, 0))
        self._last: Factor | None = None  # made anew, whose W is not in _W yet

    def __reduce__(self) -> tuple[type["Growing"], tuple[()]]:
        """For pickle and copy: it starts again."""
        return Growing, ()

    def factor(self, K: Array, w: Array, m: Array) -> Factor:
        """The factorisation of what was measured; K is that of last time, or has more rows and columns."""
        if not is_numpy(namespace_of(K)):
            return factorise(K, w, m)
        return self._grown(K, w.copy(), m.copy()) or self._anew(K, w.copy(), m.copy())

    def _anew(self, K: Matrix, w: Vector, m: Vector) -> Factor:
        self._last = factorise(K, w, m)
        self._w = w if self._last.jitter == 0 else np.zeros(0)
        return self._last

    def _grown(self, K: Matrix, w: Vector, m: Vector) -> Factor | None:
        known, size = len(self._w), len(w)
        if not 0 < known < size <= known + MORE or not np.array_equal(w[:known], self._w):
            return None
        S = np.sqrt(w)
        if float(np.max(w * K.diagonal())) > HEAVIEST:
            return None
        self._make_room(size)
        for place in range(known, size):
            if not self._add(K[place, : place + 1], S[: place + 1]):
                return None
        self._w, self._last = w, None
        W = self._W[:size, :size]
        alpha = (W @ m) @ W
        left = m - K @ alpha
        measured = w > 0
        left[measured] -= alpha[measured] / w[measured]
        alpha += (W @ left) @ W
        factor = Factor(w, m, self._L[:size, :size], alpha, 0.0)
        factor.__dict__["whitener"] = W
        return factor

    def _make_room(self, size: int) -> None:
        """Copy the last factorisation to where there is room for more, where it is not there."""
        known, last = len(self._w), self._last
        if last is not None or size > len(self._L):
            L, W = (self._L, self._W) if last is None else (last.L, last.whitener)
            room = size + max(ROOM, size // 2)
            self._L, self._W = (_copied(each[:known, :known], room) for each in (L, W))
            self._last = None

    def _add(self, k: Vector, S: Vector) -> bool:
        """One more row; False where it cannot be added."""
        place, s = len(k) - 1, float(S[-1])
        L, W = self._L[:place, :place], self._W[:place, :place]
        b = s * S[:-1] * k[:-1]
        l = s * (W @ k[:-1])
        left = b - L @ l
        l += W @ np.divide(left, S[:-1], out=np.zeros(place), where=S[:-1] > 0)
        d2 = 1 + s * s * float(k[-1]) - float(l @ l)
        if not d2 > 0.5:  # it is never below 1: the kernel is not positive, or rounding has taken over
            return False
        d = sqrt(d2)
        self._L[place, :place], self._L[place, place] = l, d
        self._W[place, :place], self._W[place, place] = (l @ W) / -d, s / d
        return True


def _copied(matrix: Matrix, room: int) -> Matrix:
    larger = np.zeros((room, room))
    larger[: len(matrix), : len(matrix)] = matrix
    return larger
