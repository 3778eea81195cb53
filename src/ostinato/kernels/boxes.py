"""Kernels over boxes: how high, at most, weighted sums of covariances are anywhere in a box.

A box holds all points x with low ≤ x ≤ high; in a column of categories it holds one level. For points Y there are

    extremes     between what k(x, Y_i) lies while x is in the box
    majorant     a quadratic in x that is nowhere in the box below Σ_i w_i k(x, Y_i), of each column by itself

**Stationary kernels.** ρ is falling and convex in s = ‖(x − y)/lengthscale‖², and s itself is a quadratic in x. So k is
highest where s is lowest, and between the lowest and the highest s in the box

    ρ(s) ≤ the chord from ρ(lowest s) to ρ(highest s)        for weights above 0
    ρ(s) ≥ the tangent at any s                              for weights below 0

Both are A + B s, and Σ w_i (A_i + B_i s_i) is a quadratic in x without mixed terms: its maximum over a box is that of
each column. It is off by the square of the box's width, so that boxes near a smooth maximum need not be tiny.

**Sums** add up. **Products** of k₁ ≥ 0 and k₂ ≥ 0, each between bounds l and u, lie between planes (McCormick, 1976):

    k₁ k₂ ≤ u₂ k₁ + l₁ k₂ − l₁ u₂,        k₁ k₂ ≥ u₂ k₁ + u₁ k₂ − u₁ u₂

Shapes: n boxes, q points Y, d columns; extremes are (n, q), weights (n, q).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector, squared_distances
from ostinato.kernels.base import Constant, Kernel, On, Product, Scaled, Sum
from ostinato.kernels.other import Hamming
from ostinato.kernels.stationary import Stationary

TINY = 1e-30  # squared distance at which a slope still is finite


class Boxes(NamedTuple):
    """All x with low ≤ x ≤ high, row by row."""

    low: Matrix
    high: Matrix

    @property
    def centre(self) -> Matrix:
        return self.low + (self.high - self.low) / 2

    @property
    def half(self) -> Matrix:
        """From the centre to the farther side, which rounding may make the larger of the two."""
        centre = self.centre
        return np.maximum(centre - self.low, self.high - centre)

    def columns(self, places: list[int]) -> "Boxes":
        return Boxes(self.low[:, places], self.high[:, places])


class Quadratic(NamedTuple):
    """value + Σ_j slope_j h_j + bend_j h_j², for h = x − the centre of the box."""

    value: Vector
    slope: Matrix
    bend: Matrix

    def plus(self, other: "Quadratic") -> "Quadratic":
        return Quadratic(self.value + other.value, self.slope + other.slope, self.bend + other.bend)

    def highest(self, half: Matrix) -> tuple[Matrix, Vector]:
        """Where in the box, from its centre, it is highest; and how high."""
        side = np.where(self.slope < 0, -half, half)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            inside = np.clip(-0.5 * self.slope / self.bend, -half, half)
        at = np.where(self.bend < 0, inside, side)
        return at, self.value + np.sum(self.slope * at + self.bend * at * at, axis=1)


def bounded_over_boxes(kernel: Kernel) -> bool:
    """Whether this module knows the kernel: stationary ones, and what is made of them."""
    if isinstance(kernel, Sum | Product):
        return bounded_over_boxes(kernel.first) and bounded_over_boxes(kernel.second)
    if isinstance(kernel, Scaled | On):
        return bounded_over_boxes(kernel.kernel)
    if isinstance(kernel, Stationary):
        return kernel.slope(np.ones(1)) is not None
    return isinstance(kernel, Constant | Hamming)


def extremes(kernel: Kernel, boxes: Boxes, Y: Matrix) -> tuple[Matrix, Matrix]:
    """The lowest and the highest covariance of each of Y with any point of a box; or bounds on them."""
    if isinstance(kernel, Sum | Product):
        (l1, u1), (l2, u2) = extremes(kernel.first, boxes, Y), extremes(kernel.second, boxes, Y)
        return (l1 + l2, u1 + u2) if isinstance(kernel, Sum) else (l1 * l2, u1 * u2)
    if isinstance(kernel, Scaled):
        low, high = extremes(kernel.kernel, boxes, Y)
        return kernel.factor * low, kernel.factor * high
    if isinstance(kernel, On):
        places = [int(name) for name in kernel.names]
        return extremes(kernel.kernel, boxes.columns(places), Y[:, places])
    if isinstance(kernel, Stationary):
        nearest, farthest = _distances(kernel, boxes, Y)
        return kernel.std**2 * kernel.correlation(farthest), kernel.std**2 * kernel.correlation(nearest)
    if isinstance(kernel, Hamming):
        return _hamming_extremes(kernel, boxes, Y)
    constant = kernel(boxes.low, Y)
    return constant, constant


class Linear(NamedTuple):
    """k(x, Y_i) lies between value + slope · h − below and value + slope · h + above, for h = x − the box's centre."""

    value: Matrix
    slope: NDArray[np.float64]  # (d, n, q)
    below: Matrix
    above: Matrix


def linear(kernel: Stationary, boxes: Boxes, Y: Matrix) -> Linear:
    """Off by the square of the box's width. For kernels of which `slope` is known, of numbers alone.

    s = s_c + 2 (c − y)·h/ℓ² + ‖h/ℓ‖², and ρ, convex in s, lies above its tangent at s_c; above that it is highest at
    the lowest or the highest s of the box.
    """
    scales = np.asarray(kernel.scale_of_each(Y.shape[1]))
    centre = boxes.centre
    s = np.maximum(squared_distances(centre, Y, kernel.scales), TINY)
    value, steepness = kernel.correlation(s.copy()), np.asarray(kernel.slope(s))
    above = np.zeros_like(s)
    for end in _distances(kernel, boxes, Y):
        above = np.maximum(above, kernel.correlation(end.copy()) - value - steepness * (end - s))
    below = -steepness * np.sum(np.square(boxes.half / scales), axis=1)[:, None]
    slope = np.stack(
        [2 * steepness * (centre[:, j, None] - Y[None, :, j]) / scales[j] ** 2 for j in range(len(scales))]
    )
    variance = kernel.std**2
    return Linear(variance * value, variance * slope, variance * below, variance * above)


def departure(kernel: Stationary, boxes: Boxes) -> Vector:
    """The prior's standard deviation, at most, of f(x) − f(c) − ∇f(c)·h for x = c + h in a box of centre c.

    Its square is 2(ρ(0) − ρ(a)) − 2aρ′(0) + 4aρ′(a) with a = ‖h/ℓ‖², which rises with a because ρ is convex. A function
    of norm N departs from its tangent at c by N times that, at most.
    """
    scales = np.asarray(kernel.scale_of_each(boxes.low.shape[1]))
    a = np.sum(np.square(boxes.half / scales), axis=1)
    nothing = np.full_like(a, TINY)
    variance = 2 * (1 - kernel.correlation(a.copy())) - 2 * a * np.asarray(kernel.slope(nothing))
    variance += 4 * a * np.asarray(kernel.slope(np.maximum(a, TINY)))
    return kernel.std * np.sqrt(np.maximum(variance, 0.0))


def majorant(kernel: Kernel, weights: Matrix, boxes: Boxes, Y: Matrix) -> Quadratic:
    """A quadratic that is nowhere in a box below Σ_i weights_i k(x, Y_i)."""
    if isinstance(kernel, Sum):
        return majorant(kernel.first, weights, boxes, Y).plus(majorant(kernel.second, weights, boxes, Y))
    if isinstance(kernel, Product):
        return _product_majorant(kernel, weights, boxes, Y)
    if isinstance(kernel, Scaled):
        return majorant(kernel.kernel, kernel.factor * weights, boxes, Y)
    if isinstance(kernel, On):
        places = [int(name) for name in kernel.names]
        own = majorant(kernel.kernel, weights, boxes.columns(places), Y[:, places])
        wide = _flat(own.value, boxes)
        wide.slope[:, places], wide.bend[:, places] = own.slope, own.bend
        return wide
    if isinstance(kernel, Stationary):
        return _stationary_majorant(kernel, weights, boxes, Y)
    low, high = extremes(kernel, boxes, Y)
    return _flat(np.sum(np.where(weights > 0, weights * high, weights * low), axis=1), boxes)


def _flat(value: Vector, boxes: Boxes) -> Quadratic:
    return Quadratic(value, np.zeros_like(boxes.low), np.zeros_like(boxes.low))


def _product_majorant(kernel: Product, weights: Matrix, boxes: Boxes, Y: Matrix) -> Quadratic:
    """By McCormick's planes."""
    (l1, u1), (_, u2) = extremes(kernel.first, boxes, Y), extremes(kernel.second, boxes, Y)
    second = np.where(weights > 0, l1, u1)
    one = majorant(kernel.first, weights * u2, boxes, Y)
    two = majorant(kernel.second, weights * second, boxes, Y)
    return one.plus(two).plus(_flat(-np.sum(weights * second * u2, axis=1), boxes))


def _stationary_majorant(kernel: Stationary, weights: Matrix, boxes: Boxes, Y: Matrix) -> Quadratic:
    """Σ w_i (A_i + B_i s_i), with chords and tangents for A + B s."""
    centre, half, width = boxes.centre, boxes.half, Y.shape[1]
    inverse = np.asarray(kernel.scale_of_each(width)) ** -2.0
    inverse[list(kernel.categories)] = 0.0  # the same throughout a box
    s = squared_distances(centre, Y, kernel.scales, kernel.categories)
    nearest, farthest = _distances(kernel, boxes, Y)
    across = farthest - nearest
    top = kernel.correlation(nearest.copy())
    fall = kernel.correlation(farthest.copy()) - top
    chord = np.divide(fall, across, out=np.zeros_like(fall), where=across > 0)
    touching = np.maximum(s + (half * half) @ inverse[:, None] / 3, TINY)  # the average of s in the box
    tangent = np.asarray(kernel.slope(touching))
    above: Matrix = top + chord * (s - nearest)
    below: Matrix = kernel.correlation(touching.copy()) + tangent * (s - touching)
    positive, weights = weights > 0, kernel.std**2 * weights
    B = weights * np.where(positive, chord, tangent)
    total = np.sum(B, axis=1, keepdims=True)
    value = np.sum(weights * np.where(positive, above, below), axis=1)
    return Quadratic(value, 2 * inverse * (centre * total - B @ Y), total * inverse)


def _distances(kernel: Stationary, boxes: Boxes, Y: Matrix) -> tuple[Matrix, Matrix]:
    """The lowest and the highest squared scaled distance of each of Y from points of a box."""
    nearest, farthest = np.zeros((2, len(boxes.low), len(Y)))
    for j, scale in enumerate(kernel.scale_of_each(Y.shape[1])):
        low, high, y = boxes.low[:, j, None], boxes.high[:, j, None], Y[None, :, j]
        if j in kernel.categories:
            differs = (low != y) * scale**-2.0
            nearest += differs
            farthest += differs
            continue
        below, above = (low - y) / scale, (y - high) / scale
        nearest += np.square(np.maximum(np.maximum(below, above), 0.0))
        farthest += np.square(np.maximum(-below, -above))
    return nearest, farthest


def _hamming_extremes(kernel: Hamming, boxes: Boxes, Y: Matrix) -> tuple[Matrix, Matrix]:
    nearest, farthest = np.zeros((2, len(boxes.low), len(Y)))
    for j, scale in enumerate(kernel.scale_of_each(Y.shape[1])):
        low, high, y = boxes.low[:, j, None], boxes.high[:, j, None], Y[None, :, j]
        nearest += ((y < low) | (y > high)) / scale
        farthest += ((y != low) | (y != high)) / scale
    return kernel.std**2 * np.exp(-farthest), kernel.std**2 * np.exp(-nearest)
