"""Covariances in single precision, in units of the largest, for candidates that stay the same: several times faster.

Squared distances come from one matrix product in double precision, |x|² + |y|² − 2xy about the middle of the
candidates, and are rounded before ρ is computed from them. What cancellation costs is far below single precision
unless columns are very many length-scales wide; where it may not be, there is no such form.
"""

from math import log, prod, sqrt
from threading import local
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.kernels.base import Kernel, without_constant
from ostinato.kernels.stationary import RBF, Matern32, Matern52, Stationary

Single: TypeAlias = NDArray[np.float32]
ACCURACY = 2e-6  # of the largest covariance: by how much these may be off
CANCELLED = 1e-9  # of squared distances, at most, that cancellation may cost
TILE, WIDE = 65_536, 8_192  # covariances computed at a time: what is made on the way stays in the processor's cache


class Scratch(local):
    """Memory for one tile of each thread: fresh memory for every row would take longer than what is computed in it."""

    def __init__(self) -> None:
        self.exact, self.r2, self.s = np.empty(TILE), *np.empty((2, TILE), dtype=np.float32)

    def tile(self, shape: tuple[int, ...]) -> tuple[Matrix, Single, Single]:
        size = prod(shape)
        return self.exact[:size].reshape(shape), self.r2[:size].reshape(shape), self.s[:size].reshape(shape)


SCRATCH = Scratch()
SMOOTH = (RBF, Matern32, Matern52)  # whose ρ is not steep in r² at 0


class SinglePrecision:
    """k(X, A)/κ² for the candidates A."""

    def __init__(
        self, kernel: Stationary, constant: float, features: Matrix, middle: Vector, memory: Matrix | None = None
    ) -> None:
        """memory: of a form of as many candidates that is not needed any more."""
        self._kernel = kernel
        self._numbers = [j for j in range(features.shape[1]) if j not in kernel.categories]
        self._scales = np.array(kernel.scale_of_each(features.shape[1]))
        self._middle = middle
        self._codes = {j: features[:, j] for j in kernel.categories}
        self.memory = self._candidates = self._augmented(features, memory)
        total = kernel.std**2 + constant
        self._share, self._offset = kernel.std**2 / total, constant / total

    def fill(self, X: Matrix, out: Single) -> None:
        """Write the rows of some X, tile by tile."""
        x = self._augmented(X)
        x[:-2] *= -2.0
        x[[-2, -1]] = x[[-1, -2]]
        rows = np.ascontiguousarray(x.T)
        size, count = out.shape[1], len(X)
        wide = min(size, WIDE if count > 1 else TILE)
        high = min(count, TILE // wide)
        for start in range(0, size, wide):
            part = slice(start, min(start + wide, size))
            for first in range(0, count, high):
                here = slice(first, min(first + high, count))
                tile = out[here, part]
                exact, r2, s = SCRATCH.tile(tile.shape)
                r2[...] = np.matmul(rows[here], self._candidates[:, part], out=exact)
                self._add_categories(X[here], part, r2)
                self._covariances(r2, s, tile)

    def _add_categories(self, X: Matrix, part: slice, r2: Single) -> None:
        for j, codes in self._codes.items():
            r2 += (X[:, j][:, None] != codes[part]) * np.float32(self._scales[j] ** -2.0)

    def _covariances(self, r2: Single, s: Single, out: Single) -> None:
        """From squared distances, which are overwritten, as is s."""
        if isinstance(self._kernel, Matern52):
            _matern52(r2, self._share, s)
        else:
            r2 = self._kernel.correlation(r2)
            r2 *= np.float32(self._share)
        np.add(r2, np.float32(self._offset), out=out)

    def _augmented(self, features: Matrix, memory: Matrix | None = None) -> Matrix:
        """Scaled columns, their squares' sum, and ones; one row each."""
        rows = np.ones((len(self._numbers) + 2, len(features))) if memory is None else memory
        for row, j in enumerate(self._numbers):
            np.subtract(features[:, j], self._middle[j], out=rows[row])
            rows[row] /= self._scales[j]
        np.einsum("ij,ij->j", rows[:-2], rows[:-2], out=rows[-2])
        rows[-2] += CANCELLED  # so that no squared distance is below 0 by rounding
        return rows


def _matern52(r2: Single, share: float, s: Single) -> None:
    """share · (1 + √5 r + 5r²/3) exp(−√5 r), in as few passes as it takes; s: memory for what is made on the way."""
    np.sqrt(r2, out=s)
    s *= np.float32(-sqrt(5))
    r2 *= np.float32(5 / 3)
    r2 -= s
    r2 += np.float32(1)
    s += np.float32(log(share))
    r2 *= np.exp(s, out=s)


class SingleForm(NamedTuple):
    """A kernel in single precision, for any part of the candidates."""

    kernel: Stationary
    constant: float
    middle: Vector

    def __call__(self, features: Matrix, memory: Matrix | None = None) -> SinglePrecision:
        return SinglePrecision(self.kernel, self.constant, features, self.middle, memory)


Extent: TypeAlias = tuple[Vector, Vector]  # the lowest and the highest number in each column


def extent_of(features: Matrix) -> Extent:
    return np.min(features, axis=0), np.max(features, axis=0)


def has_single_form(kernel: Kernel) -> bool:
    """Whether a kernel has this form, unless cancellation forbids it."""
    return isinstance(without_constant(kernel)[0], SMOOTH)


def single_form(kernel: Kernel, features: Matrix, extent: Extent | None = None) -> SingleForm | None:
    """What makes the form for a part of the candidates; None where the kernel has none. extent: where it is known."""
    kernel, constant = without_constant(kernel)
    if not isinstance(kernel, SMOOTH):
        return None
    low, high = extent or extent_of(features)
    middle = (low + high) / 2
    widths = (high - middle) / np.array(kernel.scale_of_each(features.shape[1]))
    widths[list(kernel.categories)] = 0.0
    if not 8 * len(low) * np.finfo(np.float64).eps * float(np.sum(widths**2)) < CANCELLED:
        return None
    return SingleForm(kernel, constant, middle)
