"""Optuna's LogEI in NumPy: the numbers of optuna/_gp/acqf.py and of their autograd, without what PyTorch takes a call.

Notation: u = x √ils, a point in units of the lengthscales; U, those measured; r² = |u − U|², s = √5 r; c the scale.
k = c (1 + s + s²/3) exp(−s), with ∂k/∂r² = −5/6 c (1 + s) exp(−s). With K + σ²I = L Lᵀ and α = (L Lᵀ)⁻¹ y,
the mean is kᵀα and the variance c − |w|², w = L⁻¹k, of which the gradient in k is −2 L⁻ᵀw.
"""

from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
from optuna._gp import acqf, batched_lbfgsb, optim_mixed
from scipy.linalg.blas import dtrmm
from scipy.linalg.lapack import dtrtri
from scipy.spatial.distance import cdist
from scipy.special import erfc, erfcx

from ostinato.arrays import Matrix, Vector

HALF, DENSITY, LOG_ROOT = np.sqrt(0.5), 1 / np.sqrt(2 * np.pi), np.log(np.sqrt(2 * np.pi))
ROOT_HALF_PI = np.sqrt(0.5 * np.pi)
FAR = -25.0  # below, Optuna takes LogEI by erfcx

ascent = optim_mixed._gradient_ascent_batched


class LeanLogEI(acqf.LogEI):
    """Of a Gaussian process that is fitted: its factor is inverted once, all points are evaluated with that."""

    def __init__(self, gpr: Any, search_space: Any, threshold: float, stabilizing_noise: float = 1e-12) -> None:
        super().__init__(gpr, search_space, threshold, stabilizing_noise)
        self.roots = np.sqrt(gpr.inverse_squared_lengthscales.numpy())
        self.U = gpr._X_train.numpy() * self.roots
        self.scale, self.alpha = gpr.kernel_scale.item(), gpr._cov_Y_Y_inv_Y.numpy()
        self.inverse, _ = dtrtri(np.asfortranarray(gpr._cov_Y_Y_chol.numpy()), lower=1)

    def eval_acqf(self, x: Any) -> Any:
        raise AssertionError("Optuna's own arithmetic is not replaced everywhere")

    def eval_acqf_no_grad(self, x: Matrix) -> Vector:
        s = cdist(x * self.roots, self.U)
        s *= np.sqrt(5)
        k = matern(s, np.exp(-s), self.scale)
        mean = k @ self.alpha
        w = dtrmm(1.0, self.inverse, k.T, lower=1, overwrite_b=1)  # k.T is in the order that BLAS writes over
        variance = np.maximum(self.scale - np.einsum("ij,ij->j", w, w), 0.0)
        sigma = np.sqrt(variance + self._stabilizing_noise)
        return standard((mean - self._threshold) / sigma) + np.log(sigma)

    def with_gradient(self, u: Matrix) -> tuple[Vector, Matrix]:
        """At points in units of the lengthscales, and in them."""
        away = u[:, None, :] - self.U
        s = np.sqrt(5 * np.einsum("ijk,ijk->ij", away, away))
        decay = np.exp(-s)
        k = matern(s, decay, self.scale)
        w = k @ self.inverse.T
        variance = self.scale - np.einsum("ij,ij->i", w, w)
        value, by_mean, by_variance = self.of_moments(k @ self.alpha, variance)
        by_k = by_mean[:, None] * self.alpha - 2 * by_variance[:, None] * (w @ self.inverse)
        by_square = by_k * (s + 1) * decay * (-5 / 6 * self.scale)
        return value, 2 * (by_square[:, None, :] @ away)[:, 0, :]

    def of_moments(self, mean: Vector, variance: Vector) -> tuple[Vector, Vector, Vector]:
        """h(z) + log σ at z = (mean − threshold)/σ; its slopes: h'(z)/σ in the mean, (1 − z h'(z))/2σ² in σ²."""
        square = np.maximum(variance, 0.0) + self._stabilizing_noise
        sigma = np.sqrt(square)
        z = (mean - self._threshold) / sigma
        value, slope = standard(z), standard_slope(z)
        by_variance = np.where(variance >= 0, (1 - z * slope) / (2 * square), 0.0)  # a clamp has no slope
        return value + np.log(sigma), slope / sigma, by_variance


def matern(s: Matrix, decay: Matrix, scale: float) -> Matrix:
    return ((s / 3 + 1) * s + 1) * decay * scale


def improvement(z: Vector) -> Vector:
    """z Φ(z) + φ(z)"""
    return 0.5 * z * erfc(-HALF * z) + np.exp(-0.5 * z * z) * DENSITY


def standard(z: Vector) -> Vector:
    """log E max(0, z + N(0, 1)), in Optuna's two branches."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(improvement(z))
    if (far := z < FAR).any():
        value[far] = -0.5 * z[far] ** 2 - LOG_ROOT + np.log(1 + ROOT_HALF_PI * z[far] * erfcx(-HALF * z[far]))
    return value


def standard_slope(z: Vector) -> Vector:
    """Φ(z) over the improvement, and far below the slope of the other branch."""
    plain = improvement(z)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = 0.5 * erfc(-HALF * z) / plain
    if (far := z < FAR).any():
        slope[far] = far_slope(z[far])
        # Autograd goes through both branches, and through log 0 it is 0 · ∞: Optuna's climbs from there end at once.
        slope[far & (plain == 0)] = np.nan
    return slope


def far_slope(z: Vector) -> Vector:
    """Term by term as autograd does; the slope of erfcx(t) is 2t erfcx(t) − 2/√π."""
    t = -HALF * z
    scaled = erfcx(t)
    inner = ROOT_HALF_PI * (scaled - HALF * z * (2 * t * scaled - 2 / np.sqrt(np.pi)))
    return inner / (1 + ROOT_HALF_PI * z * scaled) - z


def lean_ascent(score: LeanLogEI, *arguments: Any) -> Any:
    """Optuna's own climb, given another function. All columns are continuous: it climbs in units of lengthscales."""

    def negative(u: Matrix, _: Any) -> tuple[Vector, Matrix]:
        value, gradient = score.with_gradient(u)
        return -value, -gradient

    climb = partial(swapped, batched_lbfgsb.batched_lbfgsb, negative)
    # The name by which optim_mixed knows the module: a lazy import, which keeps what it finds when it is first used.
    with patch.object(optim_mixed, "batched_lbfgsb", SimpleNamespace(batched_lbfgsb=climb)):
        return ascent(score, *arguments)


def swapped(climb: Any, function: Any, *, func_and_grad: Any, **settings: Any) -> Any:
    """Another function in the place of the one that a climb is asked for."""
    return climb(func_and_grad=function, **settings)
