"""A block of candidates: its slice of the q×|A| kernel cache, and the mean and variance of its members.

The block is the one unit of memory, of laziness and of transfer: everything that has the size of the candidate set
happens here, block by block. The cache has one row a unique candidate, so that p · k(X, A) streams it once; it is
a list of chunks of rows, so that it grows without being copied.
"""

from collections.abc import Iterator

from ostinato.arrays import Array, Namespace, lowest
from ostinato.kernels import Kernel
from ostinato.posterior.factor import Factor

CHUNK = 256  # rows of the cache allocated at a time
SWEEP = 1024  # columns of the cache taken at a time when variances are recomputed, to bound memory


class Block:
    """Candidates start … start + size of the table."""

    def __init__(self, xp: Namespace, kernel: Kernel, start: int, features: Array, mean: float) -> None:
        self._xp, self._kernel, self._prior_mean = xp, kernel, mean
        self.start, self.features = start, features
        self.size: int = features.shape[0]
        self.prior_variance = kernel.diag(features)
        self.mean = xp.full(self.size, mean, dtype=xp.float64)
        self.variance = xp.asarray(self.prior_variance, copy=True)
        self.rounding = 0.0
        self._chunks: list[Array] = []
        self._rows = 0

    def add(self, X: Array) -> Array:
        """Cache the covariances of the rows of X, new unique candidates, with the block's; and return them."""
        new = self._kernel(X, self.features)
        done = 0
        while done < X.shape[0]:
            chunk, row = divmod(self._rows, CHUNK)
            if chunk == len(self._chunks):
                self._chunks.append(self._xp.zeros((CHUNK, self.size), dtype=self._xp.float64))
            count = min(CHUNK - row, X.shape[0] - done)
            self._chunks[chunk][row : row + count, :] = new[done : done + count, :]
            self._rows += count
            done += count
        return new

    def spread(self, p: Array) -> Array:
        """p · k(X, A): from coefficients on the unique candidates to values on the block's."""
        total = None
        for start, rows in self._filled(p.shape[-1]):
            part = self._xp.matmul(p[..., start : start + rows.shape[0]], rows)
            total = part if total is None else total + part
        return self._xp.zeros((*p.shape[:-1], self.size), dtype=self._xp.float64) if total is None else total

    def condition(self, p: Array, z: float) -> None:
        """mean += z c, variance −= c², for c = p · k(X, A)."""
        c = self.spread(p)
        self.mean += z * c
        self.variance = self._without(c * c)

    def shrunk(self, P: Array) -> Array:
        """The variance if all the measurements with coefficients P (one row each) had come."""
        C = self.spread(P)
        return self._without(self._xp.sum(C * C, axis=0))

    def pin(self, candidate: int, mean: float | None, variance: float) -> None:
        """Set one candidate's numbers from a formula that loses none of their digits."""
        if mean is not None:
            self.mean[candidate - self.start] = mean
        self.variance[candidate - self.start] = variance

    def refresh_mean(self, factor: Factor) -> None:
        self.mean = self._prior_mean + self.spread(factor.alpha)

    def refresh_variance(self, factor: Factor) -> None:
        xp = self._xp
        fresh = xp.zeros_like(self.variance)
        for start in range(0, self.size, SWEEP):
            part = slice(start, min(start + SWEEP, self.size))
            k_x = xp.concat([rows[:, part] for _, rows in self._filled(self._rows)])
            fresh[part] = factor.variance(k_x, self.prior_variance[part])
        self.variance = xp.where(fresh > 0, fresh, xp.zeros_like(fresh))

    def _filled(self, rows: int) -> Iterator[tuple[int, Array]]:
        """The first rows of the cache, chunk by chunk, each with the number of its first."""
        for start, chunk in zip(range(0, rows, CHUNK), self._chunks, strict=False):
            yield start, chunk[: min(CHUNK, rows - start), :]

    def _without(self, decrease: Array) -> Array:
        """variance − decrease; below zero only by rounding, which is counted and taken off."""
        variance = self.variance - decrease  # a new array: beliefs may still hold the old one
        below = lowest(variance)
        if below < 0:
            self.rounding = max(self.rounding, -below)
            variance = self._xp.where(variance > 0, variance, self._xp.zeros_like(variance))
        return variance
