"""Pending measurements: variances as if measurements had come whose values are not known yet.

A measurement at x* takes c(x)² off the variance at x, whatever its value (hallucination), with c = p · k(X, A) for
coefficients p that the model knows. So an imagined measurement is stored as its p, and variances are brought up
to date only where somebody looks: O(q) for each candidate and each measurement it has not seen yet.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from ostinato.arrays import Array, Matrix, Vector, to_numpy
from ostinato.posterior.blocks import BlockedVector
from ostinato.posterior.cache import Indices


class Ghost(Protocol):
    """A model whose variances go on without it."""

    def add(self, candidate: int, n: float) -> tuple[Array, float]:
        """Imagine n measurements; returns p, and the candidate's variance before them."""
        ...

    def variance(self, candidate: int) -> float:
        """The variance of one candidate now, to the last digit."""
        ...

    def columns(self, candidates: Indices) -> Matrix:
        """k(X, x) for some candidates x: what p multiplies."""
        ...

    def spread(self, P: Matrix) -> Matrix:
        """P k(X, A) for all candidates."""
        ...


class PendingVariances:
    """The variances of all candidates, and how many of the imagined measurements each of them has seen."""

    def __init__(self, variances: BlockedVector, ghost: Ghost) -> None:
        self.variances = variances.flat()
        self.ghost = ghost
        self._seen = np.zeros(len(self.variances), dtype=np.int64)
        self._terms: list[Vector] = []
        self._imagined: set[int] = set()

    def add(self, candidate: int, n: float = 1) -> float:
        """Imagine n measurements of a candidate; returns its variance before them."""
        p, variance = self.ghost.add(candidate, n)
        self._terms.append(to_numpy(p))
        self._imagined.add(candidate)
        return variance

    def variance(self, candidate: int) -> float:
        """The variance of one candidate now, to the last digit."""
        return self.ghost.variance(candidate)

    def update(self, candidates: Indices) -> Indices:
        """Bring some candidates up to date; returns those that were not."""
        seen = self._seen[candidates]
        stale = candidates[seen < len(self._terms)]
        if len(stale):
            seen = self._seen[stale]
            first = int(np.min(seen))
            C = self._covariances(first, stale)
            C[np.arange(first, len(self._terms))[:, None] < seen] = 0.0
            self.variances[stale] = np.maximum(self.variances[stale] - np.sum(C * C, axis=0), 0.0)
            self._seen[stale] = len(self._terms)
        return stale

    def covariance(self, before: Callable[[int], Vector], candidate: int) -> Vector:
        """The covariance of all candidates with one: that before, less what the imagined measurements take off it."""
        C = self.ghost.spread(_stacked(self._terms))
        return before(candidate) - C[:, candidate] @ C

    def everywhere(self) -> Vector:
        """All variances, up to date; to the last digit where measurements were imagined."""
        self.update(np.arange(len(self.variances)))
        for candidate in self._imagined:
            self.variances[candidate] = self.ghost.variance(candidate)
        return self.variances

    def _covariances(self, first: int, candidates: Indices) -> Matrix:
        """c of the imagined measurements from the first on, at some candidates."""
        P = _stacked(self._terms[first:])
        if 2 * len(candidates) > len(self.variances):
            return self.ghost.spread(P)[:, candidates]
        return P @ self.ghost.columns(candidates)[: P.shape[1]]


def _stacked(terms: list[Vector]) -> Matrix:
    """One row each; earlier ones may be shorter, from before a candidate joined."""
    P = np.zeros((len(terms), max(len(p) for p in terms)))
    for row, p in zip(P, terms, strict=True):
        row[: len(p)] = p
    return P
