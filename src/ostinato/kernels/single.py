"""Covariances in single precision, in units of the largest, for candidates that stay the same: several times faster.

Squared distances come from one matrix product in double precision, |x|² + |y|² − 2xy about the middle of the
candidates, and are rounded before ρ is computed from them. What cancellation costs is far below single precision
unless columns are very many length-scales wide; where it may not be, there is no such form. Candidates are kept in
single precision, as if they lay a little elsewhere, and do not depend on length-scales. Given r², all roundings until
ρ, with an exponential that is off by 4 units in the last place, add up to 14 · 2⁻²⁴ at most.

Where that is asked for (`loose`), the product is in single precision too, about a point among the candidates X. Let
u = 2⁻²⁴, d the number of columns, and a = |x|, all in length-scales. A candidate y at distance r from x has
b = |y| ≤ a + r. The sum of the d + 2 terms of r², in any order, is off by (d + 1) u (a + b)². What is summed is off
itself: |x|² by u a², |y|² by (d + 2) u b², and the products by 4 u a b. Rounding y about the point changes r² by
2 u r b. With b = a + r, and ρ′ the slope in r², ρ is off by at most

    u [(5d + 11) c₀ a² + (6d + 14) c₁ a + (2d + 5) c₂],    c₀ = sup |ρ′|, c₁ = sup r |ρ′|, c₂ = sup r² |ρ′|

and a hundredth more, for the terms of second order. The bound is small for those X that lie close together, and their
coefficients are large.
"""

from collections.abc import Callable
from math import exp, log, prod, sqrt
from threading import local
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.kernels.base import Kernel, without_constant
from ostinato.kernels.stationary import RBF, Matern32, Matern52, Stationary

Single: TypeAlias = NDArray[np.float32]
ACCURACY = 1e-6  # of the largest covariance: by how much these may be off, given r² in single precision
CANCELLED = 1e-9  # of squared distances, at most, that cancellation may cost
TILE = 98_304  # covariances computed at a time: what is made on the way stays in the processor's cache
LARGEST = 1e18  # range of a column, and one over the smallest length-scale: squares are numbers in single precision
NARROW = 16_384  # candidates whose differences from one are computed at a time, likewise


class TileBuffers(local):
    """Memory for one tile of each thread: fresh memory for every row would take longer than what is computed in it."""

    def __init__(self) -> None:
        self.exact, self.r2, self.s = np.empty(TILE), *np.empty((2, TILE), dtype=np.float32)
        self._differences = np.empty(0, dtype=np.float32)

    def tile(self, shape: tuple[int, ...]) -> tuple[Matrix, Single, Single]:
        size = prod(shape)
        return self.exact[:size].reshape(shape), self.r2[:size].reshape(shape), self.s[:size].reshape(shape)

    def differences(self, shape: tuple[int, ...]) -> Single:
        size = prod(shape)
        if size > len(self._differences):
            self._differences = np.empty(size, dtype=np.float32)
        return self._differences[:size].reshape(shape)


TILE_BUFFERS = TileBuffers()
ABREAST = 64  # rows
SMOOTH = (RBF, Matern32, Matern52)  # whose ρ is not steep in r² at 0
STEEPEST = 0.65  # |dρ/dr| of these, at the most
SLOPES = (0.33, 0.38)  # c₁ and c₂ of these, at the most


class Points(NamedTuple):
    """Some candidates X: columns of numbers about their middle; 1, |x|² and −2x/ℓ², by which |y|², 1 and y count.

    centre: the point about which the latter are, in single precision; None for the middle, in double precision.
    """

    X: Matrix
    columns: Single
    terms: Matrix | Single
    centre: Single | None = None


class SinglePrecision:
    """k(X, A)/κ² for the candidates A, as rows ρ(X, A) that are to be weighted, and ones where there is a constant."""

    def __init__(self, form: "SingleForm", features: Matrix, memory: Single | None = None) -> None:
        """memory: of a form of the same candidates that is not needed any more; columns about their middle."""
        kernel, constant = form.kernel, form.constant
        self._kernel, self._middle, self.accuracy = kernel, form.middle, form.accuracy
        self._matern52 = isinstance(kernel, Matern52)
        self._numbers = [j for j in range(features.shape[1]) if j not in kernel.categories]
        self._weights = (UNIT if self._matern52 else 1.0) / np.array(kernel.scale_of_each(features.shape[1])) ** 2
        self._weights32 = self._weights[self._numbers].astype(np.float32)
        self._steepest = -float(cast("Vector", kernel.slope(np.zeros(1)))[0])
        self._codes = {j: features[:, j] for j in kernel.categories}
        self.memory: Single = self._columns(features, np.float32) if memory is None else memory
        total = kernel.std**2 + constant
        self._share, self._offset = kernel.std**2 / total, constant / total
        self.ones = int(constant > 0)

    def _columns(self, features: Matrix, number: type[np.floating[Any]]) -> Any:
        """Columns of numbers about their middle, one row each."""
        columns = np.empty((len(self._numbers), len(features)), dtype=number)
        for column, j in zip(columns, self._numbers, strict=True):
            np.subtract(features[:, j], self._middle[j], out=column, casting="same_kind")
        return columns

    def coefficients(self, P: Matrix | Vector) -> Matrix | Vector:
        """On ones, where there are any, and the rows, for coefficients P on covariances."""
        weighted = P * (self._share * WEIGHT if self._matern52 else self._share)
        if not self.ones:
            return weighted
        return np.concatenate([self._offset * np.sum(P, axis=-1, keepdims=True), weighted], axis=-1)

    def points(self, X: Matrix) -> Points:
        columns = self._columns(X, np.float64)
        return Points(X, columns.astype(np.float32), self._terms(columns))

    def _terms(self, columns: Matrix) -> Matrix:
        weights = self._weights[self._numbers]
        terms = np.vstack([np.ones(columns.shape[1]), weights @ columns**2, -2 * weights[:, None] * columns]).T
        return np.ascontiguousarray(terms)

    def loose(self, points: Points, centre: Vector) -> Points:
        """The same, for squared distances in single precision."""
        about = self._columns(centre[None], np.float32)
        terms = self._terms(self._columns(points.X, np.float64) - about)
        return points._replace(terms=terms.astype(np.float32), centre=about)

    def looseness(self, X: Matrix, centre: Vector) -> Vector:
        """By how much covariances with each of X may be off then, besides."""
        columns = self._columns(X, np.float64) - self._columns(centre[None], np.float32)
        a2 = self._weights[self._numbers] @ columns**2 / (UNIT if self._matern52 else 1.0)
        (middle, far), d = SLOPES, len(columns)
        near = (5 * d + 11) * self._steepest * a2 + (6 * d + 14) * middle * np.sqrt(a2)
        return 1.01 * 2.0**-24 * (near + (2 * d + 5) * far)

    def at(self, part: slice) -> Callable[[Single, Points, slice], None]:
        """What writes rows of some of the points at a part of the candidates, no more than a tile."""
        candidates: dict[bool, Matrix | Single] = {}

        def fill(rows: Single, points: Points, some: slice) -> None:
            exact = points.centre is None
            if len(points.X) > 1 and exact not in candidates:
                candidates[exact] = self._augmented(part, points.centre)
            X, (count, wide) = points.X[some], rows.shape
            terms = points.terms[some]
            high = max(1, TILE // wide)
            for first in range(0, count, high):
                here = slice(first, min(first + high, count))
                double, r2, s = TILE_BUFFERS.tile((here.stop - first, wide))
                if len(points.X) == 1:
                    self._differ(points.columns, part, r2[0])
                elif exact:
                    r2[...] = np.matmul(terms[here], candidates[exact], out=double)
                else:
                    np.matmul(terms[here], candidates[exact], out=r2)
                    np.abs(r2, out=r2)  # what is below 0 by rounding, in a sixth of the time that a maximum takes
                self._add_categories(X[here], part, r2)
                if self._matern52:
                    _matern52(r2, s, rows[here])
                else:
                    rows[here] = self._kernel.correlation(r2)

        return fill

    def _differ(self, x: Single, part: slice, r2: Single) -> None:
        """Squared distances of one candidate, column by column: in single precision, since nothing cancels."""
        columns = self.memory[:, part]
        for start in range(0, len(r2), NARROW):
            some = columns[:, start : start + NARROW]
            d = TILE_BUFFERS.differences(some.shape)
            np.subtract(some, x, out=d)
            np.multiply(d, d, out=d)
            np.matmul(self._weights32, d, out=r2[start : start + NARROW])

    def _augmented(self, part: slice, centre: Single | None) -> Any:
        """|y|², 1 and y for a part of the candidates as they are rounded, one row each."""
        columns = self.memory[:, part]
        number = np.float64 if centre is None else np.float32
        rows: Any = np.empty((len(columns) + 2, columns.shape[1]), dtype=number)
        rows[1] = 1
        if centre is not None:
            np.subtract(columns, centre, out=rows[2:])
            np.matmul(self._weights32, rows[2:] ** 2, out=rows[0])
            return rows
        rows[2:] = columns
        np.matmul(self._weights[self._numbers], rows[2:] ** 2, out=rows[0])
        rows[0] += CANCELLED * (UNIT if self._matern52 else 1.0)  # so that no squared distance is below 0 by rounding
        return rows

    def _add_categories(self, X: Matrix, part: slice, r2: Single) -> None:
        for j, codes in self._codes.items():
            r2 += (X[:, j][:, None] != codes[part]) * np.float32(self._weights[j])


def _power() -> tuple[Callable[..., Single], float]:
    """The fastest exponential in single precision, and log_base(e): that of base 2 where the processor has one."""
    introspect: Any = getattr(np.lib, "introspect", None)  # from NumPy 2.1 on
    found: dict[str, Any] = introspect.opt_func_info(func_name="^exp2$") if introspect else {}
    dispatched: str = found["exp2"]["ff"]["current"] if found else "baseline"
    return (np.exp, 1.0) if dispatched.startswith("baseline") else (np.exp2, 1 / log(2))


POWER, LOG_E = _power()
UNIT = 5 * LOG_E**2  # of squared distances s² = 5 r² log²_base(e), so that exp(−√5 r) = base^−s
SHIFT, CONSTANT = np.float32(1.5 * LOG_E), np.float32(0.75 * LOG_E**2)
WEIGHT = exp(1.5) / (3 * LOG_E**2)


def _matern52(s2: Single, s: Single, out: Single) -> None:
    """(t² + ¾ log² e) base^−t for t = s + 1.5 log e, which is ρ/WEIGHT, in as few passes as it takes, most of them with
    one array alone; s2, s are overwritten.
    """
    t = np.sqrt(s2, out=s)
    t += SHIFT
    np.square(t, out=s2)
    s2 += CONSTANT
    np.divide(s2, POWER(t, out=t), out=out)


class SingleForm(NamedTuple):
    """A kernel in single precision, for any part of the candidates."""

    kernel: Stationary
    constant: float
    middle: Vector
    accuracy: float  # by how much covariances may be off, of the largest

    def __call__(self, features: Matrix, memory: Single | None = None) -> SinglePrecision:
        return SinglePrecision(self, features, memory)


Extent: TypeAlias = tuple[Vector, Vector]  # the lowest and the highest number in each column


def extent_of(features: Matrix) -> Extent:
    """Some rows side by side at a time: NumPy takes ten times as long where rows are short."""
    rows, width = features.shape
    high = rows // ABREAST
    if not high or not features.flags.c_contiguous:
        return np.min(features, axis=0), np.max(features, axis=0)
    wide, rest = features[: high * ABREAST].reshape(high, ABREAST * width), features[high * ABREAST :]
    low, top = (each(wide, axis=0).reshape(ABREAST, width) for each in (np.min, np.max))
    return np.min(np.concatenate([low, rest]), axis=0), np.max(np.concatenate([top, rest]), axis=0)


def has_single_form(kernel: Kernel) -> bool:
    """Whether a kernel has this form, unless cancellation forbids it."""
    return isinstance(without_constant(kernel)[0], SMOOTH)


def single_form(kernel: Kernel, features: Matrix, extent: Extent | None = None) -> SingleForm | None:
    """What makes the form for a part of the candidates; None where the kernel has none. extent: where it is known."""
    kernel, constant = without_constant(kernel)
    if not isinstance(kernel, SMOOTH):
        return None
    low, high = extent or extent_of(features)
    middle, scales = (low + high) / 2, np.array(kernel.scale_of_each(features.shape[1]))
    widths = (high - middle) / scales
    widths[list(kernel.categories)] = 0.0
    if np.max(high - low) > LARGEST or np.min(scales) * LARGEST < 1:
        return None
    if not 8 * len(low) * np.finfo(np.float64).eps * float(np.sum(widths**2)) < CANCELLED:
        return None
    moved = 2 * 2.0**-24 * sqrt(float(np.sum(widths**2)))  # by rounding two candidates, in length-scales
    summed = (len(low) + len(kernel.categories) + 4) * 2.0**-24 * SLOPES[1]  # by what is added up to r², relative to it
    return SingleForm(kernel, constant, middle, ACCURACY + STEEPEST * moved + summed)
