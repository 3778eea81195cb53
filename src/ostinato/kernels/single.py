"""Covariances in single precision, in units of the largest, for candidates that stay the same: several times faster.

Squared distances come from one matrix product in double precision, |x|² + |y|² − 2xy about the middle of the
candidates, and are rounded before ρ is computed from them. What cancellation costs is far below single precision
unless columns are very many length-scales wide; where it may not be, there is no such form.
"""

from collections.abc import Callable
from math import log, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.kernels.base import Kernel, without_constant
from ostinato.kernels.stationary import RBF, Matern32, Matern52, Stationary

Single: TypeAlias = NDArray[np.float32]
ACCURACY = 2e-6  # of the largest covariance: by how much these may be off
CANCELLED = 1e-9  # of squared distances, at most, that cancellation may cost
TILE, WIDE = (
    65_536,
    8_192,
)  # covariances computed at a time: what is made on the way to them then stays in the processor's cache
SMOOTH = (RBF, Matern32, Matern52)  # whose ρ is not steep in r² at 0


class SinglePrecision:
    """k(X, A)/κ² for the candidates A."""

    def __init__(self, kernel: Stationary, constant: float, features: Matrix, middle: Vector) -> None:
        self._kernel = kernel
        self._numbers = [j for j in range(features.shape[1]) if j not in kernel.categories]
        self._scales = np.array(kernel.scale_of_each(features.shape[1]))
        self._middle = middle
        self._codes = {j: features[:, j] for j in kernel.categories}
        self._candidates = self._augmented(features)
        total = kernel.std**2 + constant
        self._share, self._offset = kernel.std**2 / total, constant / total

    def fill(self, X: Matrix, out: Single) -> None:
        """Write the rows of some X, tile by tile."""
        x = self._augmented(X)
        x[:-2] *= -2.0
        x[[-2, -1]] = x[[-1, -2]]
        size, count = out.shape[1], len(X)
        wide = min(size, WIDE) if count > 1 else TILE
        high = TILE // wide
        for start in range(0, size, wide):
            part = slice(start, min(start + wide, size))
            for first in range(0, count, high):
                rows = slice(first, min(first + high, count))
                self._fill(X[rows], x[:, rows], part, out[rows, part])

    def _fill(self, X: Matrix, x: Matrix, part: slice, out: Single) -> None:
        out[...] = np.matmul(x.T, self._candidates[:, part])
        for j, codes in self._codes.items():
            out += (X[:, j][:, None] != codes[part]) * np.float32(self._scales[j] ** -2.0)
        if isinstance(self._kernel, Matern52):
            _matern52(out, self._share)
        else:
            np.multiply(self._kernel.correlation(out), np.float32(self._share), out=out)
        if self._offset:
            out += np.float32(self._offset)

    def _augmented(self, features: Matrix) -> Matrix:
        """Scaled columns, their squares' sum, and ones; one row each."""
        rows = np.ones((len(self._numbers) + 2, len(features)))
        for row, j in enumerate(self._numbers):
            np.subtract(features[:, j], self._middle[j], out=rows[row])
            rows[row] /= self._scales[j]
        np.einsum("ij,ij->j", rows[:-2], rows[:-2], out=rows[-2])
        rows[-2] += CANCELLED  # so that no squared distance is below 0 by rounding
        return rows


def _matern52(r2: Single, share: float) -> None:
    """share · (1 + √5 r + 5r²/3) exp(−√5 r), in as few passes as it takes."""
    s = np.sqrt(r2)
    s *= np.float32(sqrt(5))
    r2 *= np.float32(5 / 3)
    r2 += s
    r2 += np.float32(1)
    np.subtract(np.float32(log(share)), s, out=s)
    r2 *= np.exp(s, out=s)


SingleForm: TypeAlias = Callable[[Matrix], SinglePrecision]


def has_single_form(kernel: Kernel) -> bool:
    """Whether a kernel has this form, unless cancellation forbids it."""
    return isinstance(without_constant(kernel)[0], SMOOTH)


def single_form(kernel: Kernel, features: Matrix) -> SingleForm | None:
    """What makes the form for a part of the candidates; None where the kernel has none."""
    kernel, constant = without_constant(kernel)
    if not isinstance(kernel, SMOOTH):
        return None
    low, high = np.min(features, axis=0), np.max(features, axis=0)
    middle: Any = (low + high) / 2
    widths = (high - middle) / np.array(kernel.scale_of_each(features.shape[1]))
    widths[list(kernel.categories)] = 0.0
    if not 8 * len(low) * np.finfo(np.float64).eps * float(np.sum(widths**2)) < CANCELLED:
        return None
    return lambda part: SinglePrecision(kernel, constant, part, middle)
