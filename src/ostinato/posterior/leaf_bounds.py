"""How high, at most, mean + slope · standard deviation is in a leaf of candidates that was not looked at for a while.

A leaf is some candidates that lie near each other, in a box. When it was last looked at, the highest μ + g σ in it was
noted for a few slopes g. Since then terms (p, z) came, each of which changed a mean by z c(x) and took c(x)² off a
variance, c(x) = p · k(X, x). Let J be some of them, and the others S. Then

    μ_now + s σ_now = μ + Σ_S z c + Σ_J z c + s σ_now

**By the box.** c(x) lies between Σ_i p_i k_i with each k_i = k(X_i, x) at its lowest or highest in the box, as the signs
of the p_i want it (`kernels/boxes.py`): this bounds Σ_S z c, and is good where what was measured is far away.

**By Cauchy and Schwarz.** Because Σ_J c² ≤ σ² − σ_now²,

    Σ_J z c + s σ_now ≤ √(Σ_J z²) √(σ² − σ_now²) + s σ_now ≤ σ √(s² + Σ_J z²)

So with Z = Σ_J z² the leaf is at most at Σ_S max z c + max_x (μ + √(s² + Z) σ). The last part is a convex function of
the slope √(s² + Z), so that between slopes that were noted it lies below the straight line. Each term joins S or J when
it comes, whichever raises the bound less.

Shapes: n leaves, g slopes, q unique candidates. All numbers are in units of κ, about the prior mean.
"""

from copy import copy

import numpy as np

from ostinato.arrays import Matrix, Vector, grown
from ostinato.kernels import Kernel
from ostinato.kernels.base import without_constant
from ostinato.kernels.boxes import Boxes, departure, linear

STEPS = (1.0, 1.05, 1.15, 1.3, 1.6, 2.2, 4.0)  # slopes that are noted, over the one that was asked for
USUAL = 2.0  # the slope, as long as none was asked for


class LeafBounds:
    """Of all leaves. `slope`: the one that was last asked for."""

    def __init__(self, kernel: Kernel, kappa2: float, boxes: Boxes) -> None:
        count = len(boxes.low)
        (self._kernel, self._constant), self._kappa2, self._boxes = without_constant(kernel), kappa2, boxes
        self._rows = np.empty((boxes.low.shape[1] + 3, count, 16))  # of k(X, x) in a box: value, slopes, below, above
        self._filled, self.slope = 0, USUAL
        self._X, self._K = np.empty((0, boxes.low.shape[1])), np.zeros((16, 16))
        self._departure = departure(self._kernel, boxes) / np.sqrt(kappa2)
        self._slopes = np.tile(self.slopes, (count, 1))
        self._tops = self._slopes.copy()  # mean 0, variance 1
        self.widest = np.ones(count)  # standard deviations
        self._shift, self._Z, self.lowest = np.zeros((3, count))  # lowest: means, as they were

    @property
    def slopes(self) -> Vector:
        """Those for which the highest reach of a leaf is noted now."""
        return np.array([0.0, *(step * self.slope for step in STEPS)])

    def add(self, X: Matrix) -> None:
        """More unique candidates."""
        stop = self._filled + len(X)
        self._rows = grown(self._rows, (*self._rows.shape[:2], stop))
        found = linear(self._kernel, self._boxes, X)
        new = np.stack([found.value + self._constant, *found.slope, found.below, found.above])
        self._X = np.concatenate([self._X, X])
        self._K = grown(self._K, (stop, stop))
        self._K[self._filled:stop, :stop] = self._kernel(X, self._X) / self._kappa2
        self._K[:stop, self._filled:stop] = self._K[self._filled:stop, :stop].T
        self._rows[:, :, self._filled : stop] = new / self._kappa2
        self._filled = stop

    def term(self, p: Vector, z: float) -> None:
        """mean += z c, variance −= c², for c = p · k(X, x), in all leaves."""
        w = z * p
        value, *slopes, below, above = self._rows[:, :, : len(p)]
        rest = above @ np.maximum(w, 0.0) - below @ np.minimum(w, 0.0)
        norm = np.sqrt(max(w @ self._K[: len(p), : len(p)] @ w, 0.0))
        by_box = value @ w + np.minimum(rest, norm * self._departure)
        for slope, half in zip(slopes, self._boxes.half.T, strict=True):
            by_box += np.abs(slope @ w) * half
        now, then = (self._reach(np.sqrt(self.slope**2 + self._Z + more)) for more in (0.0, z * z))
        local = by_box < then - now
        self._shift += np.where(local, by_box, 0.0)
        self._Z += np.where(local, 0.0, z * z)

    def note(self, leaf: int, slopes: Vector, tops: Vector, widest: float, lowest: float) -> None:
        """What the highest mean + slope · standard deviation is in a leaf, and the largest standard deviation."""
        self._slopes[leaf], self._tops[leaf], self.widest[leaf], self.lowest[leaf] = slopes, tops, widest, lowest
        self._shift[leaf] = self._Z[leaf] = 0.0

    def fork(self) -> "LeafBounds":
        """The same, which goes its own way."""
        other = copy(self)
        for name in ("_rows", "_slopes", "_tops", "widest", "lowest", "_shift", "_Z"):
            setattr(other, name, getattr(self, name).copy())
        return other

    def forget(self) -> None:
        """Nothing is known of any leaf."""
        self._shift[:] = np.inf

    def at(self, slope: float) -> Vector:
        """The most that mean + slope · standard deviation may be in each leaf."""
        return self._shift + self._reach(np.sqrt(slope**2 + self._Z))

    def _reach(self, slope: Vector) -> Vector:
        """max (μ + slope σ) when leaves were last looked at: between two slopes by the chord."""
        place = np.clip(np.sum(self._slopes <= slope[:, None], axis=1), 1, self._slopes.shape[1] - 1)
        rows = np.arange(len(place))
        left, right = self._slopes[rows, place - 1], self._slopes[rows, place]
        low, high = self._tops[rows, place - 1], self._tops[rows, place]
        inside = low + (high - low) * ((np.minimum(slope, right) - left) / (right - left))
        return inside + np.maximum(slope - right, 0.0) * self.widest
