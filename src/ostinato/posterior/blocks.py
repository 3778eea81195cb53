"""A block of candidates: its part of the kernel cache, and the mean and variance of its members.

The block is the one unit of memory, of laziness and of transfer: everything that has the size of the candidate set
happens here, block by block.
"""

from ostinato.arrays import Array, Namespace, lowest, namespace_of
from ostinato.posterior.cache import Cache, Indices
from ostinato.posterior.factor import Factor

SWEEP = 1024  # candidates whose variances are recomputed at a time, to bound memory


class Block:
    """Candidates start … start + size of the table."""

    def __init__(self, xp: Namespace, start: int, prior_mean: float, prior_variance: Array, cache: Cache) -> None:
        self._prior_mean, self._cache = prior_mean, cache
        self.start = start
        self.size: int = prior_variance.shape[0]
        self.prior_variance = prior_variance
        self.mean = xp.full(self.size, prior_mean, dtype=xp.float64)
        self.variance = xp.asarray(prior_variance, copy=True)
        self.rounding = 0.0

    _xp = property(lambda self: namespace_of(self.mean))

    def add(self, X: Array) -> None:
        """Cache the covariances with more unique candidates."""
        self._cache.add(X)

    def spread(self, p: Array) -> Array:
        """p · k(X, A): from coefficients on the unique candidates to values on the block's."""
        return self._cache.spread(p)

    def condition(self, p: Array, z: float) -> None:
        """mean += z c, variance −= c², for c = p · k(X, A)."""
        c = self.spread(p)
        self.mean += z * c
        self.variance = self._without(c * c)

    def columns(self, part: slice | Indices) -> Array:
        """k(X, x) for some of the block's candidates x."""
        return self._cache.columns(part)

    def fresh_mean(self, factor: Factor) -> Array:
        return self._prior_mean + self.spread(factor.alpha)

    def fresh_variance(self, factor: Factor) -> Array:
        fresh = self._xp.zeros_like(self.variance)
        for start in range(0, self.size, SWEEP):
            part = slice(start, min(start + SWEEP, self.size))
            fresh[part] = factor.variance(self._cache.columns(part), self.prior_variance[part])
        return self._not_negative(fresh)

    def _without(self, decrease: Array) -> Array:
        return self._not_negative(self.variance - decrease)

    def _not_negative(self, variance: Array) -> Array:
        """Variances fall below zero by rounding only; how far is noted, for the posterior to judge."""
        below = lowest(variance)
        if below < 0:
            self.rounding = max(self.rounding, -below)
            variance = self._xp.where(variance > 0, variance, self._xp.zeros_like(variance))
        return variance
