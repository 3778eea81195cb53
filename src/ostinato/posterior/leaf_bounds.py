"""How high, at most, mean + slope · standard deviation is in a leaf of candidates that was not looked at for a while.

A leaf is some candidates that lie near each other, in a box of centre c. When it was last looked at, the highest
μ + g σ in it was noted for a few slopes g. Since then terms (p, z) came, each of which changed means by z t(x) and took
t(x)² off variances, t(x) = p · k(X, x). Let J be some of these terms, and S the others. Then

    μ_now + s σ_now = μ + Σ_S z t + Σ_J z t + s σ_now

**By the box.** z t is a function of x of which value and slope at c are known. How far it departs from that tangent
anywhere in the box is bounded twice: term by term of w · k(X, x), w = z p, each of which departs by no more than
`kernels.boxes.linear` says; and by its norm √(w · K w), times the prior's standard deviation of f(x) − f(c) −
∇f(c)·(x − c) (`kernels.boxes.departure`), which is the better one where many w of both signs cancel. So

    z t(x) ≤ z t(c) + Σ_j |slope_j| half_j + the smaller departure

**By Cauchy and Schwarz.** Because Σ_J t² ≤ σ² − σ_now², with Z = Σ_J z²

    Σ_J z t + s σ_now ≤ √Z √(σ² − σ_now²) + s σ_now ≤ σ √(s² + Z)

So the leaf is at most at Σ_S (z t by the box) + max (μ + √(s² + Z) σ). The last part is convex in the slope √(s² + Z),
so that between slopes that were noted it lies below the straight line. Each term joins S or J when it comes, whichever
raises the bound less.

Shapes: n leaves, g slopes, q unique candidates. All numbers are in units of κ, about the prior mean.
"""

from copy import copy
from math import sqrt
from typing import cast

import numpy as np

from ostinato.arrays import Matrix, Vector, grown
from ostinato.kernels import Kernel
from ostinato.kernels.base import without_constant
from ostinato.kernels.boxes import Boxes, departure, linear
from ostinato.kernels.stationary import Stationary

STEPS = (1.0, 1.05, 1.15, 1.3, 1.6, 2.2, 4.0)  # slopes that are noted, over the one that was asked for
USUAL = 2.0  # the slope, as long as none was asked for


class LeafBounds:
    """Of all leaves. `slope`: the one that was last asked for."""

    def __init__(self, kernel: Kernel, kappa2: float, boxes: Boxes) -> None:
        stationary, self._constant = without_constant(kernel)
        self._kernel, self._kappa2, self._boxes = cast("Stationary", stationary), kappa2, boxes
        count, width = boxes.low.shape
        self._departure = departure(self._kernel, boxes) / sqrt(kappa2)
        self._X, self._K = np.empty((0, width)), np.zeros((16, 16))
        self._rows = np.zeros((width + 3, count, 16))  # of k(X, x): at the centre, slopes, departures below and above
        self.slope = USUAL
        self._slopes = np.tile(self.slopes, (count, 1))
        self._tops = self._slopes.copy()  # mean 0, variance 1
        self.widest, self.lowest = np.ones(count), np.zeros(count)  # standard deviations and means, when last noted
        self._shift, self._Z = np.zeros((2, count))

    @property
    def slopes(self) -> Vector:
        """Those for which the highest reach of a leaf is noted now."""
        return np.array([0.0, *(step * self.slope for step in STEPS)])

    def add(self, X: Matrix, filled: int) -> None:
        """More unique candidates, after those that are filled."""
        self._X = np.concatenate([self._X[:filled], X])
        stop = len(self._X)
        self._K = grown(self._K, (stop, stop))
        self._K[filled:stop, :stop] = (self._kernel(X, self._X) + self._constant) / self._kappa2
        self._K[:filled, filled:stop] = self._K[filled:stop, :filled].T
        self._rows = grown(self._rows, (*self._rows.shape[:2], stop))
        found = linear(self._kernel, self._boxes, X)
        rows = np.stack([found.value + self._constant, *found.slope, found.below, found.above])
        self._rows[:, :, filled:stop] = rows / self._kappa2

    def term(self, p: Vector, z: float) -> None:
        """mean += z t, variance −= t², for t = p · k(X, x), in all leaves."""
        by_box = self._by_box(z * p)
        now, then = (self._reach(np.sqrt(self.slope**2 + self._Z + more)) for more in (0.0, z * z))
        local = by_box < then - now
        self._shift += np.where(local, by_box, 0.0)
        self._Z += np.where(local, 0.0, z * z)

    def _by_box(self, w: Vector) -> Vector:
        """The most that w · k(X, x) is in each leaf."""
        value, *slopes, below, above = self._rows[:, :, : len(w)]
        departs = above @ np.maximum(w, 0.0) - below @ np.minimum(w, 0.0)
        norm = sqrt(max(float(w @ self._K[: len(w), : len(w)] @ w), 0.0))
        highest = value @ w + np.minimum(departs, norm * self._departure)
        for slope, half in zip(slopes, self._boxes.half.T, strict=True):
            highest += np.abs(slope @ w) * half
        return highest

    def note(self, leaf: int, slopes: Vector, tops: Vector, widest: float, lowest: float) -> None:
        """What the highest mean + slope · standard deviation is in a leaf, and the largest standard deviation."""
        self._slopes[leaf], self._tops[leaf], self.widest[leaf], self.lowest[leaf] = slopes, tops, widest, lowest
        self._shift[leaf] = self._Z[leaf] = 0.0

    def fork(self) -> "LeafBounds":
        """The same, which goes its own way."""
        other = copy(self)
        for name in ("_rows", "_K", "_slopes", "_tops", "widest", "lowest", "_shift", "_Z"):
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
