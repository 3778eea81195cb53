"""How high, at most, an upper confidence bound u(x) = μ(x) + β σ(x) is anywhere in a box.

With covariances k = k(x, X) of the measured points X, α and M as in `posterior/factor.py`, and κ² = k(x, x), the same
everywhere because the kernel is stationary:

    μ = μ₀ + α · k,        σ² = κ² − k · M k

Let w = M k_c be the weights with which the box's centre c is predicted. Predicting x with these, too, is allowed, and
not better than with its own; so for every x and every v > 0 (a chord's slope: √a ≤ √v/2 + a/(2√v))

    σ² ≤ κ² + w · k_c − 2 w · k,        σ ≤ √v/2 + (κ² + w · k_c − 2 w · k)/(2√v)

which for v = σ²(c) is the tangent at c of σ as a concave function of k. Three bounds follow, the smallest is taken:

    tangent    u ≤ constant + γ · k with γ = α − β w/√v, and γ · k at most as high as `kernels.boxes.majorant` says.
               Off by the square of the width: it decides about small boxes.
    extremes   every term of α · k and of w · k at its worst in the box: it decides about large boxes.
    norm       u(x) ≤ u(c) + √(N² + β²) d(x, c), d² = 2κ² − 2k(x, c), N² = α · m. For u(x) is ⟨f, k_x⟩ + β‖Π k_x‖ in a
               Hilbert space, with f of norm N orthogonal to all that Π projects on; k_x moves by d(x, c), of which
               both parts are squares that add (Cauchy and Schwarz).

Rounding is allowed for: variances are off by up to `rounding` (METHOD: about q ε κ² (1 + ρ), ρ = κ² n/λ), and sums of
covariances by some ε of the sum of their sizes.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from ostinato.arrays import Matrix, Vector
from ostinato.kernels import Kernel
from ostinato.kernels.boxes import Boxes, extremes, majorant
from ostinato.optimizer.branch_and_bound import Bounds

SMALLEST = 1e-12  # of κ²: the smallest v
EPSILON = 16 * float(np.finfo(np.float64).eps)  # of each term of a sum


class Ceiling(NamedTuple):
    """u, with all that bounds on it need. M: with what is in flight counted as if it had come. norm: N. rounding: by
    how much variances may be off."""

    kernel: Kernel
    X: Matrix
    alpha: Vector
    M: Matrix
    mean: float
    variance: float
    beta: float
    norm: float
    rounding: float = 0.0

    def at(self, points: Matrix) -> Vector:
        """u at some points."""
        k = self.kernel(points, self.X)
        return self._score(k, k @ self.M)

    def _score(self, k: Matrix, w: Matrix) -> Vector:
        return self.mean + k @ self.alpha + self.beta * np.sqrt(self._variance(k, w))

    def _variance(self, k: Matrix, w: Matrix) -> Vector:
        return np.maximum(self.variance - np.sum(k * w, axis=1), 0.0)

    def over(self, boxes: Boxes) -> Bounds:
        """Bounds on u in each box."""
        centre, half = boxes.centre, boxes.half
        k = self.kernel(centre, self.X)
        w = k @ self.M
        at_centre, moved = self._score(k, w), self._moved(half)
        variance = self._variance(k, w) + self.rounding
        far = self.mean + k @ self.alpha + self.beta * np.sqrt(variance) + self._off(self.alpha[None, :])
        far = far + sqrt(self.norm**2 + self.beta**2) * np.sqrt(moved)
        v = np.maximum(np.maximum(variance, moved / 4), SMALLEST * self.variance)
        tangent, step = self._by_tangent(boxes, k, w, v)
        upper = np.minimum(np.minimum(far, tangent), self._by_extremes(boxes, k, w))
        return Bounds(np.maximum(upper, at_centre), at_centre, centre + step)

    def _off(self, weights: Matrix) -> Vector:
        """By how much rounding may lower a weighted sum of covariances."""
        return EPSILON * self.variance * np.sum(np.abs(weights), axis=1)

    def _moved(self, half: Matrix) -> Vector:
        """d² from the centre to a corner."""
        fallen = self.variance - self.kernel(half, np.zeros((1, half.shape[1])))[:, 0]
        return 2 * np.maximum(fallen, 0.0) + EPSILON * self.variance

    def _by_tangent(self, boxes: Boxes, k: Matrix, w: Matrix, v: Vector) -> tuple[Vector, Matrix]:
        std = np.sqrt(v)
        gamma = self.alpha - (self.beta / std)[:, None] * w
        variance = self.variance + self.rounding + np.sum(w * k, axis=1)
        constant = self.mean + self.beta * (std + variance / std) / 2 + self._off(gamma)
        step, highest = majorant(self.kernel, gamma, boxes, self.X).highest(boxes.half)
        return constant + highest, step

    def _by_extremes(self, boxes: Boxes, k: Matrix, w: Matrix) -> Vector:
        low, high = extremes(self.kernel, boxes, self.X)
        mean = self.mean + high @ np.maximum(self.alpha, 0) + low @ np.minimum(self.alpha, 0)
        least = np.sum(np.where(w > 0, w * low, w * high), axis=1)
        variance = self.variance + self.rounding + np.sum(w * k, axis=1) - 2 * least
        return mean + self.beta * np.sqrt(np.clip(variance, 0.0, self.variance)) + self._off(self.alpha[None, :])
