"""The loss by which Optuna fits hyperparameters, in NumPy: minus log likelihood and log prior of optuna/_gp.

θ = (log ils, log c, log(σ² − least)). With C = K + σ²I = L Lᵀ and α = C⁻¹y, minus the log likelihood is
Σ log L_ii + αᵀy/2, with gradient G = (C⁻¹ − ααᵀ)/2 in C. K is symmetric, and constant on its diagonal: only pairs
i < j are computed, and count twice. Minus the log prior: Σ (0.1/ils + 0.1 ils) − log c + c − 0.1 log σ² + 30 σ².
"""

from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.optimize
from optuna._gp import gp
from optuna._gp.prior import default_log_prior
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from ostinato.arrays import Vector

fit = gp.GPRegressor._fit_kernel_params


class Loss:
    """Of measurements: what does not depend on the hyperparameters is computed once."""

    def __init__(self, gpr: Any, least: float) -> None:
        X, self.y, self.least = gpr._X_train.numpy(), gpr._y_train.numpy()[:, 0], least
        self.n = len(X)
        self.pairs = np.triu_indices(self.n, 1)
        self.flat = self.pairs[0] * self.n + self.pairs[1]
        self.squares = (X[self.pairs[0]] - X[self.pairs[1]]) ** 2
        self.C = np.empty((self.n, self.n))

    def __call__(self, theta: Vector) -> tuple[float, Vector]:
        with np.errstate(divide="ignore", invalid="ignore"):  # a scale that comes out as 0 has an infinite loss
            return self._at(np.exp(theta[:-2]), np.exp(theta[-2]), np.exp(theta[-1]))

    def _at(self, ils: Vector, scale: np.float64, extra: np.float64) -> tuple[float, Vector]:
        noise = extra + self.least
        s = np.sqrt(5 * (self.squares @ ils))
        decay = np.exp(-s)
        unscaled = ((s / 3 + 1) * s + 1) * decay
        value, G, trace = self.likelihood(scale * unscaled, scale + noise)
        by_ils = (2 * G * (s + 1) * decay * (-5 / 6 * scale)) @ self.squares
        gradient = np.array([*by_ils, 2 * float(G @ unscaled) + trace, trace])
        gradient += [*(0.1 - 0.1 / ils**2), 1 - 1 / scale, 30 - 0.1 / noise]
        prior = float(np.sum(0.1 / ils + 0.1 * ils)) - np.log(scale) + scale - 0.1 * np.log(noise) + 30 * noise
        return value + prior, gradient * [*ils, scale, extra]

    def likelihood(self, above: Vector, diagonal: np.float64) -> tuple[float, Vector, float]:
        """Minus its logarithm; G above the diagonal; its trace."""
        self.C.ravel()[self.flat] = above
        self.C.ravel()[:: self.n + 1] = diagonal
        # C.T is in the order that BLAS writes over: its lower triangle is what was written above the diagonal.
        L, failed = dpotrf(self.C.T, lower=1, clean=0, overwrite_a=1)
        if failed:
            raise RuntimeError("not positive definite")  # Optuna starts over from its default, as after PyTorch's
        alpha, _ = dpotrs(L, self.y, lower=1)
        value = float(np.sum(np.log(L.diagonal()))) + 0.5 * float(alpha @ self.y)
        inverse, _ = dpotri(L, lower=1, overwrite_c=1)
        G = 0.5 * (inverse.T.ravel()[self.flat] - alpha[self.pairs[0]] * alpha[self.pairs[1]])
        return value, G, 0.5 * (float(np.sum(inverse.diagonal())) - float(alpha @ alpha))


def lean_fit(gpr: Any, log_prior: Any, minimum_noise: float, deterministic_objective: bool, gtol: float) -> Any:
    """Optuna's own fit, given another loss."""
    assert log_prior is default_log_prior
    assert not deterministic_objective
    loss, minimize = Loss(gpr, minimum_noise), scipy.optimize.minimize

    def lean(_: Any, *arguments: Any, **settings: Any) -> Any:
        return minimize(loss, *arguments, **settings)

    with patch.object(scipy.optimize, "minimize", lean), patch.object(gpr, "marginal_log_likelihood", replaced):
        return fit(gpr, log_prior, minimum_noise, deterministic_objective, gtol)


def replaced() -> Any:
    raise AssertionError("Optuna's own arithmetic is not replaced everywhere")
