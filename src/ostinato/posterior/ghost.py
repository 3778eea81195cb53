"""Imagined measurements of the exact posterior: what is in flight, counted as if it had come."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Array, Matrix, Namespace, from_numpy, grown, to_numpy
from ostinato.posterior.blocks import BlockedVector
from ostinato.posterior.cache import Indices
from ostinato.posterior.unique import Direction

if TYPE_CHECKING:
    from ostinato.posterior.exact import Posterior

FORESEEN = 64  # candidates in flight whose covariances with all others are kept


class ExactGhost:
    """Imagined measurements: a copy of the q-sized half, made when the first comes, loses a rank-one term for each.

    Candidates that were never measured get slots of their own here; the posterior stays as it is.
    """

    def __init__(self, posterior: "Posterior") -> None:
        self._posterior = posterior
        self.unique = posterior.unique
        self._own: list[int] = []  # candidates with slots of their own
        self._rows: list[Array] = []  # their covariances with all candidates: block by block, one row each, and room
        self._kept = 0  # of how many of them

    @property
    def measured(self) -> NDArray[np.int64]:
        """The candidates in slots, in their order."""
        return np.append(self._posterior.measured, self._own).astype(np.int64)

    def add(self, candidate: int, n: float) -> tuple[Array, float]:
        if self.unique is self._posterior.unique:
            self.unique = self.unique.fork()
        direction = self._direction(candidate)
        if direction.slot == self.unique.size:
            self._join(candidate)
        noise = float(self._posterior.noise[candidate]) / n
        return self.unique.absorb(direction, noise)[0], direction.variance

    def variance(self, candidate: int) -> float:
        return self._direction(candidate).variance

    def columns(self, candidates: Indices) -> Matrix:
        """k(X, x), for the candidates X in slots."""
        known = self._posterior.columns(candidates)
        if not self._own:
            return known
        X, x = self._posterior.features[self._own], self._posterior.features[candidates]
        return np.concatenate([known, to_numpy(self._posterior.kernel(*(from_numpy(self._xp, a) for a in (X, x))))])

    def spread(self, P: Matrix, beyond: int | None = None) -> Matrix:
        """P k(X, A) for all candidates; the last coefficient may be that of a candidate beyond those in slots."""
        return self.spread_blocks(from_numpy(self._xp, P), beyond).flat()

    def spread_blocks(self, P: Array, beyond: int | None = None) -> BlockedVector:
        """The same, block by block."""
        q = len(self._posterior.measured)
        known = self._posterior.blocks.spread(P[..., :q])
        if P.shape[-1] == q:
            return known
        own, found = P[..., q : q + len(self._own)], known

        def with_own(part: Array, rows: Array) -> Array:
            return part + self._xp.matmul(own, rows[: own.shape[-1], :])

        def with_last(part: Array, row: Array) -> Array:
            return part + self._xp.matmul(P[..., -1:], row)

        if self._own:
            self._keep(own.shape[-1])
            found = known.map(with_own, BlockedVector(self._rows, known.starts))
        return found if beyond is None else found.map(with_last, self._posterior.rows(beyond))

    @property
    def _xp(self) -> Namespace:
        return self._posterior.xp

    def _direction(self, candidate: int) -> Direction:
        if self.unique is self._posterior.unique:
            return self._posterior.direction(candidate)
        slot = self._posterior.slot_of(candidate)
        if slot is None and candidate in self._own:
            slot = len(self._posterior.measured) + self._own.index(candidate)
        if slot is not None:
            return self.unique.direction(slot)
        k_x = from_numpy(self._xp, self.columns(np.array([candidate]))[:, 0])
        return self.unique.direction_of_new(k_x, self._posterior.prior_variance(candidate))

    def _join(self, candidate: int) -> None:
        """A slot of its own."""
        k_x = self.columns(np.array([candidate]))[:, 0]
        self._own.append(candidate)
        row = np.append(k_x, self._posterior.prior_variance(candidate))
        self.unique.add(from_numpy(self._xp, row[None, :]))

    def _keep(self, count: int) -> None:
        """Covariances of the first candidates with slots of their own with all others, where they are not there yet."""
        for number in range(self._kept, count):
            row = self._posterior.rows(self._own[number])
            if not self._rows:
                self._rows = [self._xp.zeros((FORESEEN, part.shape[-1]), dtype=part.dtype) for part in row]
            self._rows = [grown(rows, (number + 1, rows.shape[1])) for rows in self._rows]
            for rows, part in zip(self._rows, row, strict=True):
                rows[number, :] = part[0, :]
            self._kept = number + 1
