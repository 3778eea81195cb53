"""Two ways to run mini-GP-UCB without this library's engine: to the letter of the paper, and by scikit-learn.

Both keep counts and sums for the unique candidates, and rebuild the posterior from them every epoch. They break ties
by the library's rule, so that the same choices can be demanded of them. The paper's version caches its kernel rows,
which the paper does not ask for: the ratio then speaks of the algorithm only.
"""

from math import floor

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from sklearn.gaussian_process import GaussianProcessRegressor, kernels

from benchmarks.problem import BETA, KERNEL, NOISE_STD, C


class Naive:
    """Ask and tell on counts and sums, with the posterior left open."""

    def __init__(self, X: np.ndarray, priority: np.ndarray) -> None:
        self.X, self.priority = X, priority
        self.rows: list[int] = []
        self.counts = np.zeros(0)
        self.sums = np.zeros(0)

    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    def ask(self, limit: int) -> tuple[int, int]:
        mean, sd = self.posterior() if self.rows else (np.zeros(len(self.X)), np.ones(len(self.X)))
        scores = mean + BETA * sd
        tied = np.flatnonzero(scores >= scores.max() - 1e-9 * (BETA + np.abs(mean).max()))
        index = int(tied[np.argmin(self.priority[tied])])
        return index, min(limit, max(1, floor((C**2 - 1) * NOISE_STD**2 / sd[index] ** 2)))

    def tell(self, index: int, values: np.ndarray) -> None:
        if index not in self.rows:
            self.rows.append(index)
            self.counts, self.sums = np.append(self.counts, 0.0), np.append(self.sums, 0.0)
        slot = self.rows.index(index)
        self.counts[slot] += len(values)
        self.sums[slot] += values.sum()


class LetterOfThePaper(Naive):
    """A fresh Cholesky factorisation, and a solve for all candidates, every epoch."""

    def __init__(self, X: np.ndarray, priority: np.ndarray) -> None:
        super().__init__(X, priority)
        self.cache = np.zeros((1024, len(X)))

    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        q = len(self.rows)
        K_A = self.cache[:q]
        A = K_A[:, self.rows] + np.diag(NOISE_STD**2 / self.counts)
        factor = cho_factor(A, lower=True)
        mean = K_A.T @ cho_solve(factor, self.sums / self.counts)
        T = solve_triangular(np.tril(factor[0]), K_A, lower=True)
        return mean, np.sqrt(np.maximum(1 - np.einsum("ij,ij->j", T, T), 0))

    def tell(self, index: int, values: np.ndarray) -> None:
        new = index not in self.rows
        super().tell(index, values)
        if new:
            self.cache[len(self.rows) - 1] = KERNEL(self.X[[index]], self.X)[0]


class ScikitLearn(Naive):
    """scikit-learn refitted on the unique rows with alpha = λ/n."""

    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        model = GaussianProcessRegressor(kernels.RBF(2.0, "fixed"), alpha=NOISE_STD**2 / self.counts, optimizer=None)
        model.fit(self.X[self.rows], self.sums / self.counts)
        return model.predict(self.X, return_std=True)
