"""Gaussian processes computed the long way, to check the engine against.

Two references that share no code with it: scikit-learn on every single measurement, and mpmath with fifty digits on the
unique candidates.
"""

from dataclasses import dataclass

import mpmath as mp
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk


@dataclass(frozen=True)
class Reference:
    mean: np.ndarray
    variance: np.ndarray
    covariance: np.ndarray
    log_det: float


def scikit_learn(X, rows, values, noise, *, lengthscale=1.0, std=1.0, prior_mean=0.0):
    """The posterior at the rows of X after single measurements `values` at X[rows], of noise variance noise[rows]."""
    kernel = sk.ConstantKernel(std**2, "fixed") * sk.RBF(lengthscale, "fixed")
    model = GaussianProcessRegressor(kernel, alpha=noise[rows], optimizer=None)
    model.fit(X[rows], values - prior_mean)
    mean, covariance = model.predict(X, return_cov=True)
    K = kernel(X[rows])
    root = 1 / np.sqrt(noise[rows])
    log_det = np.linalg.slogdet(np.eye(len(rows)) + root[:, None] * K * root[None, :])[1]
    return Reference(mean + prior_mean, np.diagonal(covariance), covariance, log_det)


def fifty_digits(K, rows, counts, means, noise, *, prior_mean=0.0):
    """The posterior at all candidates of covariance K, after counts and means at `rows`, in fifty digits."""
    with mp.workdps(50):
        return _fifty_digits(K, rows, counts, means, noise, prior_mean)


def _fifty_digits(K, rows, counts, means, noise, prior_mean):
    exact = mp.matrix(K.tolist())
    q, size = len(rows), len(K)
    A = mp.matrix(q, q)
    m = mp.matrix(q, 1)
    for i, a in enumerate(rows):
        for j, b in enumerate(rows):
            A[i, j] = exact[a, b]
        A[i, i] += mp.mpf(float(noise[a])) / int(counts[i])
        m[i] = mp.mpf(float(means[i])) - mp.mpf(prior_mean)
    inverse = A**-1
    k_x = mp.matrix([[exact[a, x] for x in range(size)] for a in rows])
    mean = k_x.T * (inverse * m)
    covariance = exact - k_x.T * (inverse * k_x)
    log_det = mp.log(mp.det(A)) - mp.fsum(
        mp.log(mp.mpf(float(noise[a])) / int(n)) for a, n in zip(rows, counts, strict=True)
    )
    full = np.array([[float(covariance[i, j]) for j in range(size)] for i in range(size)])
    mean = np.array([float(mean[i]) for i in range(size)]) + prior_mean
    return Reference(mean, np.diagonal(full).copy(), full, float(log_det))


def nystrom(X, rows, values, noise, inducing, kernel, *, prior_mean=0.0):
    """DTC on every single measurement, through the features z(x) = K_S^{+½} k_S(x): no repeats merged, no shortcuts."""
    S = X[inducing]
    eigenvalues, vectors = np.linalg.eigh(kernel(S, S))
    keep = eigenvalues > 1e-13 * eigenvalues.max()
    Z = kernel(X, S) @ (vectors[:, keep] / np.sqrt(eigenvalues[keep]))
    seen, w = Z[rows], 1 / noise[rows]
    V = np.eye(Z.shape[1]) + seen.T @ (w[:, None] * seen)
    mean = prior_mean + Z @ np.linalg.solve(V, seen.T @ (w * (values - prior_mean)))
    covariance = kernel(X, X) - Z @ Z.T + Z @ np.linalg.solve(V, Z.T)
    return Reference(mean, np.diagonal(covariance).copy(), covariance, np.linalg.slogdet(V)[1])
