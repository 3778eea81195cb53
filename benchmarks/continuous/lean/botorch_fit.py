"""The fit of BoTorch's SingleTaskGP, in NumPy: the same function, start, bounds and climb, without automatic gradients.

A parameter vector is (noise, constant, lengthscales), in the order in which BoTorch climbs. Data are standardised.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from botorch.models import SingleTaskGP
from botorch.optim.utils import get_parameters_and_bounds, sample_all_priors
from botorch.optim.utils.numpy_utils import get_bounds_as_ndarray
from gpytorch.mlls import ExactMarginalLogLikelihood
from scipy.linalg.blas import dsyr
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize

from benchmarks.outofthebox.rivals import ITERATIONS
from ostinato.arrays import Matrix, Vector

ATTEMPTS = 5  # of BoTorch's fit_gpytorch_mll
FAILED = 2  # SciPy's status of a climb that ends neither at a maximum nor at its limit
MIDDLE = 0.5  # of the unit cube: differences of centred numbers are more exact


@dataclass(frozen=True)
class Prior:
    """Where a fit starts, its bounds, and the log-normal priors of noise and lengthscales, as BoTorch has them."""

    start: Vector
    bounds: Matrix
    centers: Vector
    variances: Vector

    def log_density(self, theta: Vector) -> tuple[float, Vector]:
        """Of the positive parameters, and its slopes. log N(log x; m, v) - log x has slope -(1 + (log x - m)/v)/x."""
        x = np.delete(theta, 1)
        gap = np.log(x) - self.centers
        value = -np.sum(gap**2 / self.variances + np.log(2 * np.pi * self.variances)) / 2 - np.sum(np.log(x))
        return float(value), np.insert(-(1 + gap / self.variances) / x, 1, 0.0)


@cache
def prior(columns: int) -> Prior:
    """Read from BoTorch's own model, which has them in single precision."""
    model = plain(columns)
    parameters, bounds = get_parameters_and_bounds(ExactMarginalLogLikelihood(model.likelihood, model))
    noise, lengths = model.likelihood.noise_covar.noise_prior, model.covar_module.lengthscale_prior
    return Prior(
        flat(model),
        get_bounds_as_ndarray(parameters, bounds),
        spread(noise.loc, lengths.loc, columns),
        spread(noise.scale**2, lengths.scale**2, columns),
    )


def plain(columns: int) -> Any:
    """BoTorch's model as it is before its fit. Its data do not matter."""
    X = torch.linspace(0, 1, 3, dtype=torch.float64)[:, None].expand(3, columns)
    return SingleTaskGP(X, X[:, :1])


def spread(noise: Any, lengths: Any, columns: int) -> Vector:
    return np.append(float(noise), np.full(columns, float(lengths)))


def flat(model: Any) -> Vector:
    """The parameters of BoTorch's model."""
    parts = model.likelihood.noise, model.mean_module.constant, model.covar_module.lengthscale
    return np.concatenate([part.detach().numpy().ravel() for part in parts])


def fitted(X: Matrix, y: Vector) -> Vector:
    """The parameters. A climb that fails is tried again from a draw of the priors, as BoTorch does it."""
    function = objective(X, y)
    columns = X.shape[1]
    for attempt in range(ATTEMPTS):
        start = drawn(columns) if attempt else prior(columns).start
        options = {"maxiter": ITERATIONS}
        done = minimize(function, start, jac=True, method="L-BFGS-B", bounds=prior(columns).bounds, options=options)
        if done.status != FAILED:
            return done.x
    raise ArithmeticError("all attempts to fit failed")


def drawn(columns: int) -> Vector:
    model = plain(columns)
    sample_all_priors(model)
    return flat(model)


def objective(X: Matrix, y: Vector) -> Callable[[Vector], tuple[float, Vector]]:
    """What a fit minimises: -(log likelihood + log prior) / n, with its slopes."""
    ready, known = X - MIDDLE, prior(X.shape[1])

    def value(theta: Vector) -> tuple[float, Vector]:
        likelihood, slopes = log_likelihood(ready, y, theta)
        density, more = known.log_density(theta)
        return -(likelihood + density) / len(y), -(slopes + more) / len(y)

    return value


def log_likelihood(X: Matrix, y: Vector, theta: Vector) -> tuple[float, Vector]:
    """Of the data, and its slopes. With a = K⁻¹(y - c) it has slope tr((aaᵀ - K⁻¹) dK)/2; half a matrix is enough."""
    scaled = X / theta[2:]
    correlation = correlations(scaled, scaled)
    upper, a = solved(correlation, y - theta[1], theta[0])
    value = -(y - theta[1]) @ a / 2 - np.log(np.diagonal(upper)).sum() - len(y) * np.log(2 * np.pi) / 2
    gap = dsyr(-1.0, a, a=dpotri(upper, overwrite_c=1)[0], overwrite_a=1)  # K⁻¹ - aaᵀ, its upper half
    noise = -np.trace(gap) / 2
    gap *= correlation.T
    return float(value), np.concatenate([[noise, a.sum()], -moments(gap, scaled) / theta[2:]])


def solved(correlation: Matrix, residual: Vector, noise: float) -> tuple[Matrix, Vector]:
    """U with UᵀU = K, the correlations with noise on their diagonal; and K⁻¹ times the residual."""
    K = correlation.copy()
    K.flat[:: len(K) + 1] += noise
    upper, failed = dpotrf(K.T, overwrite_a=1)  # the transpose of symmetric rows are the columns that LAPACK wants
    if failed:
        raise ArithmeticError("a covariance is not positive definite")
    return upper, dpotrs(upper, residual)[0]


def correlations(left: Matrix, right: Matrix) -> Matrix:
    """exp(-|l - r|²/2) by lr - l²/2 - r²/2, which is one product."""
    return np.exp(np.minimum(augmented(left, first=False) @ augmented(right, first=True).T, 0.0))


def augmented(points: Matrix, *, first: bool) -> Matrix:
    """Points with -|x|²/2 and 1 beside them, in one order or the other."""
    full = np.ones((len(points), points.shape[1] + 2))
    full[:, :-2] = points
    full[:, -2 if first else -1] = np.einsum("ij,ij->i", points, points) / -2
    return full


def moments(weights: Matrix, points: Matrix) -> Vector:
    """Σ w (x - x')² over pairs, per column: Σ (rows of w) x² + Σ (columns of w) x² - 2 Σ x (wx)."""
    sums = weights.sum(axis=0) + weights.sum(axis=1)
    return sums @ points**2 - 2 * np.einsum("ij,ij->j", points, weights @ points)
