"""Four noise-free functions of the BBOB suite of COCO, as losses above their minimum: f(x) − f(x_opt) ≥ 0.

Each is a textbook function of z, where z is x after transformations that hide the optimum and break symmetries:

    f3  rastrigin    z = Λ T_asy^0.2 (T_osz (x − x_opt))        10 (d − Σ cos 2π z_i) + |z|²
    f8  rosenbrock   z = max(1, √d / 8) (x − ¾ x_opt) + 1       Σ 100 (z_i² − z_{i+1})² + (z_i − 1)²
    f10 ellipsoid    z = T_osz (R (x − x_opt))                  Σ condition^{(i−1)/(d−1)} z_i²
    f17 schaffer     z = Λ Q T_asy^0.5 (R (x − x_opt))          (mean_i √s_i (1 + sin² 50 s_i^{1/5}))²

with s_i² = z_i² + z_{i+1}², Λ = diag(√10^{(i−1)/(d−1)}), random rotations R and Q, and

    T_osz(x) = sign(x) exp(u + 0.049 (sin c₁ u + sin c₂ u)), u = log|x|, c = (10, 7.9) for x > 0, (5.5, 3.1) for x < 0
    T_asy^β(x)_i = x_i^{1 + β (i−1)/(d−1) √x_i} for x_i > 0, else x_i.

An instance is a seed of x_opt, R and Q: function + 10000 · instance (10⁶ more for R). The penalty that COCO adds
outside [−5, 5] is left out: candidates lie inside. COCO's noisy f104, f116 and f122
are f8, f10 with condition 10⁴, and f17.
"""

import numpy as np

from ostinato.arrays import Matrix, Vector
from ostinato.checks import positive, whole
from ostinato.errors import InvalidSetting
from ostinato.problems.bbob_random import optimum, rotation


def rastrigin(X: Matrix, instance: int = 1) -> Vector:
    """f3: a separable bowl with about 10^d local optima."""
    X, seed = _checked(X), _seed(3, instance)
    z = _asymmetric(_oscillated(X - optimum(X.shape[1], seed)), 0.2) * np.sqrt(_powers(10, X.shape[1]))
    return 10 * (X.shape[1] - np.sum(np.cos(2 * np.pi * z), axis=1)) + np.sum(z**2, axis=1)


def rosenbrock(X: Matrix, instance: int = 1) -> Vector:
    """f8: a long, bent, flat valley."""
    X = _checked(X)
    d = X.shape[1]
    z = max(1.0, np.sqrt(d) / 8) * (X - 0.75 * optimum(d, _seed(8, instance))) + 1
    return np.sum(100 * (z[:, :-1] ** 2 - z[:, 1:]) ** 2 + (z[:, :-1] - 1) ** 2, axis=1)


def ellipsoid(X: Matrix, instance: int = 1, conditioning: float = 1e6) -> Vector:
    """f10: a rotated bowl, `conditioning` times steeper along its last axis than along its first."""
    X, seed = _checked(X), _seed(10, instance)
    d = X.shape[1]
    z = _oscillated((X - optimum(d, seed)) @ rotation(d, seed + 1_000_000).T)
    return z**2 @ _powers(positive("conditioning", conditioning), d)


def schaffer(X: Matrix, instance: int = 1) -> Vector:
    """f17: rings of ripples around the optimum, ever finer towards it (Schaffer's F7)."""
    X, seed = _checked(X), _seed(17, instance)
    d = X.shape[1]
    turned = _asymmetric((X - optimum(d, seed)) @ rotation(d, seed + 1_000_000).T, 0.5)
    z = turned @ rotation(d, seed).T * np.sqrt(_powers(10, d))
    s = np.sqrt(z[:, :-1] ** 2 + z[:, 1:] ** 2)
    return np.mean(np.sqrt(s) * (1 + np.sin(50 * s**0.2) ** 2), axis=1) ** 2


def _checked(X: Matrix) -> Matrix:
    array = np.asarray(X, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] < 2:
        raise InvalidSetting(f"X has shape {array.shape}: give a 2-D array, a row a point, of at least 2 columns.")
    return array


def _seed(function: int, instance: int) -> int:
    return function + 10_000 * whole("instance", instance)


def _powers(base: float, d: int) -> Vector:
    """base^{(i−1)/(d−1)}, from 1 to base."""
    return base ** (np.arange(d) / (d - 1))


def _oscillated(x: Matrix) -> Matrix:
    """T_osz: gentle, irregular waves."""
    with np.errstate(divide="ignore", invalid="ignore"):  # at 0, which stays 0
        u = np.log(np.abs(x))
        c1, c2 = np.where(x > 0, 10, 5.5), np.where(x > 0, 7.9, 3.1)
        waves: Matrix = np.sign(x) * np.exp(u + 0.049 * (np.sin(c1 * u) + np.sin(c2 * u)))
    return np.where(x == 0, 0.0, waves)


def _asymmetric(x: Matrix, beta: float) -> Matrix:
    """T_asy: steeper on the positive side."""
    above = np.maximum(x, 0)
    steepness: Vector = beta * np.linspace(0, 1, x.shape[1])
    return np.where(x > 0, np.power(above, 1 + steepness * np.sqrt(above)), x)
