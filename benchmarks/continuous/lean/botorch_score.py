"""What BoTorch's fitted process says of points, and LogExpectedImprovement with its slopes, in NumPy."""

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dtrtri
from scipy.special import erfcx, ndtr

from benchmarks.continuous.lean.botorch_fit import MIDDLE, augmented, solved
from ostinato.arrays import Matrix, Vector

LEAST = 1e-10  # variance, in the units of the measurements: GPyTorch's for double precision
NEAR, FAR = -1.0, -1e6  # where BoTorch's formula for the log of an improvement changes


@dataclass
class Posterior:
    """Mean and variance in the units of the measurements. mean = c + ka and variance = 1 - |kU⁻¹|², standardised."""

    X: Matrix
    standard: Vector
    center: float
    scale: float
    theta: Vector
    root: Matrix = field(init=False)

    def __post_init__(self) -> None:
        self.lengths = self.theta[2:]
        self.points = (self.X - MIDDLE) / self.lengths
        self.right = np.ascontiguousarray(augmented(self.points, first=True).T)
        self.sums = np.column_stack([self.points, np.ones(len(self.X))])
        upper, self.alpha = solved(self.near(self.points), self.standard - self.theta[1], self.theta[0])
        self.root = np.triu(dtrtri(upper, overwrite_c=1)[0])

    def near(self, points: Matrix) -> Matrix:
        """Correlations of scaled points with those measured."""
        k = augmented(points, first=False) @ self.right
        return np.exp(np.minimum(k, 0.0, out=k), out=k)

    def scaled(self, X: Matrix) -> Matrix:
        return (X - MIDDLE) / self.lengths

    def means(self, X: Matrix) -> Vector:
        return self.mean(self.near(self.scaled(X)))

    def mean(self, k: Matrix) -> Vector:
        return self.center + self.scale * (k @ self.alpha + self.theta[1])

    def variance(self, roots: Matrix) -> Vector:
        return self.scale**2 * (1 - np.einsum("ij,ij->i", roots, roots))

    def slopes(self, points: Matrix, weights: Matrix) -> Matrix:
        """Of Σ wk in a point z, where w holds k already: k has slope k (x - z)/l in scaled points."""
        both = weights @ self.sums
        return (both[:, :-1] - both[:, -1:] * points) / self.lengths


@dataclass
class Score:
    """The log of the expected improvement on a best value."""

    posterior: Posterior
    best: float

    def values(self, X: Matrix) -> Vector:
        k = self.posterior.near(self.posterior.scaled(X))
        u, sigma, _ = self.standing(k, k @ self.posterior.root)
        return log_improvement(u)[0] + np.log(sigma)

    def standing(self, k: Matrix, roots: Matrix) -> tuple[Vector, Vector, Vector]:
        """u = (mean - best)/σ, σ, and where the variance is not at its least, and so has slopes."""
        raw = self.posterior.variance(roots)
        sigma = np.sqrt(np.maximum(raw, LEAST))
        return (self.posterior.mean(k) - self.best) / sigma, sigma, raw >= LEAST

    def climb(self, X: Matrix) -> tuple[Vector, Matrix]:
        """Values and slopes. Of log h(u) + log σ: g/σ in the mean and (1 - gu)/(2σ²) in the variance, g = (log h)'."""
        known, points = self.posterior, self.posterior.scaled(X)
        k = known.near(points)
        roots = k @ known.root
        u, sigma, free = self.standing(k, roots)
        value, g = log_improvement(u)
        ratio = known.scale / sigma
        weights = (ratio * g)[:, None] * known.alpha
        weights -= (ratio**2 * (1 - g * u) * free)[:, None] * (roots @ known.root.T)
        weights *= k
        return value + np.log(sigma), known.slopes(points, weights)


def log_improvement(u: Vector) -> tuple[Vector, Vector]:
    """log h and its slope Φ/h, where h = φ + uΦ is the expected improvement of a standard normal number over -u."""
    above = u > NEAR
    if above.all():
        return plain(u)
    if not above.any():
        return below(u)
    return tuple(np.where(above, high, low) for high, low in zip(plain(np.maximum(u, NEAR)), below(u), strict=True))


def plain(u: Vector) -> tuple[Vector, Vector]:
    mass = ndtr(u)
    h = np.exp(-(u**2) / 2) / np.sqrt(2 * np.pi) + u * mass
    return np.log(h), mass / h


def below(u: Vector) -> tuple[Vector, Vector]:
    """h = φ(1 - eʷ) with w = log(|u|Φ/φ), so that Φ/h = 1 / (|u| (e⁻ʷ - 1)). Far below, 1 - eʷ is u⁻²."""
    v = np.clip(u, FAR, NEAR)
    w = np.log(erfcx(-np.sqrt(0.5) * v) * -v) + np.log(np.pi / 2) / 2
    rest = np.where(w > -np.log(2), np.log(-np.expm1(w)), np.log1p(-np.exp(w)))
    slope = -1 / (v * np.expm1(-w))
    if v[np.argmin(v)] <= FAR:
        far, size = u <= FAR, np.maximum(np.abs(u), 1.0)
        rest, slope = np.where(far, -2 * np.log(size), rest), np.where(far, size + 2 / size, slope)
    return -(u**2) / 2 - np.log(2 * np.pi) / 2 + rest, slope
