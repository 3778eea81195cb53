"""Exact means and variances, with measurements in flight, of only those candidates that are asked for."""

import numpy as np

from ostinato.arrays import Vector
from ostinato.posterior.cache import Indices
from ostinato.posterior.exact import Posterior
from ostinato.posterior.pending import Imagined


class PendingPointwise:
    """Computes a candidate when it is first asked for, and keeps the result and how many imagined measurements it has
    seen.
    """

    def __init__(self, posterior: Posterior, imagined: Imagined) -> None:
        self.size, self.posterior, self.imagined = len(posterior.features), posterior, imagined
        self._mean, self._variance = np.empty(self.size), np.empty(self.size)
        self._seen = np.zeros(self.size, dtype=np.int64)  # and one more: 0 where nobody has looked

    def means(self, candidates: Indices) -> Vector:
        """Of some candidates."""
        new = candidates[self._seen[candidates] == 0]
        if len(new):
            self._mean[new], self._variance[new] = self.posterior.at_each(new)
            self._seen[new] = 1
        return self._mean[candidates]

    def at_each(self, candidates: Indices) -> tuple[Vector, Vector]:
        """Means and variances of some candidates."""
        means, seen, count = self.means(candidates), self._seen[candidates] - 1, len(self.imagined)
        stale = seen < count
        if stale.any():
            self._update(candidates[stale], seen[stale])
        return means, self._variance[candidates]

    def _update(self, stale: Indices, seen: Indices) -> None:
        first, count = int(np.min(seen)), len(self.imagined)
        C = self.imagined.covariances(first, stale)
        C[np.arange(first, count)[:, None] < seen] = 0.0
        self._variance[stale] = np.maximum(self._variance[stale] - np.sum(C * C, axis=0), 0.0)
        for candidate in self.imagined.candidates.intersection(stale.tolist()):
            self._variance[candidate] = self.imagined.ghost.variance(candidate)
        self._seen[stale] = count + 1
