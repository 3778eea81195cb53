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

PARALLEL = 1e-12  # of the largest coefficient: what rounding may leave of coefficients that are multiples of others


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


class Imagined:
    """Imagined measurements: the coefficients p of each, in the order in which they were imagined."""

    def __init__(self, ghost: Ghost) -> None:
        self.ghost = ghost
        self.candidates: set[int] = set()
        self.terms: list[Vector] = []
        self._last: tuple[int, Matrix] | None = None  # a measurement and its c at all candidates

    def __len__(self) -> int:
        return len(self.terms)

    def add(self, candidate: int, n: float) -> float:
        """Imagine n measurements of a candidate; returns its variance before them."""
        p, variance = self.ghost.add(candidate, n)
        self.terms.append(to_numpy(p))
        self.candidates.add(candidate)
        return variance

    def coefficients(self, first: int = 0) -> Matrix:
        """One row each, from the first on; earlier ones may be shorter, from before a candidate joined."""
        terms = self.terms[first:]
        P = np.zeros((len(terms), max(len(p) for p in terms)))
        for row, p in zip(P, terms, strict=True):
            row[: len(p)] = p
        return P

    def covariances(self, first: int, candidates: Indices) -> Matrix:
        """c of each, from the first on, at some candidates."""
        P = self.coefficients(first)
        return P @ self.ghost.columns(candidates)[: P.shape[1]]

    def everywhere(self, first: int = 0) -> Matrix:
        """The same at all candidates.

        Plans often imagine the same candidate again and again; its c is then the last one, scaled.
        """
        if first < len(self.terms) - 1:
            return self.ghost.spread(self.coefficients(first))
        C = self._scaled(first)
        C = self.ghost.spread(self.coefficients(first)) if C is None else C
        self._last = first, C
        return C

    def _scaled(self, number: int) -> Matrix | None:
        """c of one measurement, if that of the one before is known and is a multiple of it."""
        if self._last is None or self._last[0] != number - 1:
            return None
        before, now = self.terms[number - 1], self.terms[number]
        if len(before) != len(now) or not before.any():
            return None
        scale = float(before @ now) / float(before @ before)
        same = float(np.max(np.abs(now - scale * before))) <= PARALLEL * float(np.max(np.abs(now)))
        return scale * self._last[1] if same else None


class PendingVariances:
    """The variances of all candidates, and how many of the imagined measurements each of them has seen."""

    def __init__(self, variances: BlockedVector, ghost: Ghost, imagined: Imagined | None = None) -> None:
        """imagined: what was imagined so far by the ghost."""
        self.variances = variances.flat()
        self.ghost = ghost
        self._imagined = imagined or Imagined(ghost)
        self._seen = np.zeros(len(self.variances), dtype=np.int64)

    def add(self, candidate: int, n: float = 1) -> float:
        """Imagine n measurements of a candidate; returns its variance before them."""
        return self._imagined.add(candidate, n)

    def variance(self, candidate: int) -> float:
        """The variance of one candidate now, to the last digit."""
        return self.ghost.variance(candidate)

    def update(self, candidates: Indices) -> Indices:
        """Bring some candidates up to date; returns those that were not."""
        seen, count = self._seen[candidates], len(self._imagined)
        stale = candidates[seen < count]
        if len(stale):
            seen = self._seen[stale]
            first = int(np.min(seen))
            C = self._covariances(first, stale)
            C[np.arange(first, count)[:, None] < seen] = 0.0
            self.variances[stale] = np.maximum(self.variances[stale] - np.sum(C * C, axis=0), 0.0)
            self._seen[stale] = count
        return stale

    def covariance(self, before: Callable[[int], Vector], candidate: int) -> Vector:
        """The covariance of all candidates with one: that before, less what the imagined measurements take off it."""
        C = self._imagined.everywhere()
        return before(candidate) - C[:, candidate] @ C

    def everywhere(self) -> Vector:
        """All variances, up to date; to the last digit where measurements were imagined."""
        self.update(np.arange(len(self.variances)))
        for candidate in self._imagined.candidates.intersection(range(len(self.variances))):
            self.variances[candidate] = self.ghost.variance(candidate)
        return self.variances

    def _covariances(self, first: int, candidates: Indices) -> Matrix:
        """c of the imagined measurements from the first on, at some candidates."""
        if 2 * len(candidates) > len(self.variances):
            return self._imagined.everywhere(first)[:, candidates]
        return self._imagined.covariances(first, candidates)
