"""Mean and variance of all candidates in single precision, with bounds on how far off they are.

To choose among very many candidates it is enough to know of most of them that they are not the best. So means and
variances are kept in single precision here, at half of the memory and of the time; with the errors that rounding can
have made at most, so that whoever chooses computes the few that may be best exactly (`Posterior.at_each`), and chooses
as if all had been computed so. All numbers are in units of κ, about the prior mean.

Every product p · k(X, A) is summed in strips of STRIP rows, so that with u = 2⁻²⁴ its error is at most

    ‖p‖₁ · ((STRIP + q/STRIP + 4) u + the covariances' own error)

Variances after a rebuild are 1 − ‖T‖² with T = W k(X, A), W = L⁻¹ S: by the same bound for each row of W, they are off
by 2 ‖δT‖ + ‖δT‖², because ‖T‖ is at most 1. The first rows of W alone give the variances that the first unique
candidates leave, which are more: most candidates are out of the question by these, and no more is computed of them. So
means are within their error; variances are at most what is kept, and their error.
"""

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from itertools import pairwise
from math import ceil, sqrt

import numpy as np

from ostinato.arrays import Matrix, Vector
from ostinato.kernels.single import ACCURACY, Single, SingleForm, SinglePrecision
from ostinato.posterior.cache import Indices

BLOCK = 60_000  # candidates of a block
SWEEP = 2_048  # candidates whose variances are computed at a time
STRIP = 64  # rows that are summed at a time, and for which memory is taken at a time
SPREAD = 16_384  # candidates of which one is hopeful
UNIT = 2.0**-24
FIRST = STRIP  # unique candidates by which variances are bounded at first
SAMPLE, SLOPES = 256, (1.5, 4.0)  # candidates of a block, and the least and the most that a standard deviation counts
ENOUGH = 0.02  # error of means and variances from which both are computed afresh


class ScreenBlock:
    """Candidates start … start + size: their covariances with the unique ones, means and variances."""

    def __init__(self, start: int, covariances: SinglePrecision, size: int, chunks: list[Single]) -> None:
        self.start, self.size, self._covariances = start, size, covariances
        self.chunks = chunks
        self.mean, self.variance = np.zeros(size, dtype=np.float32), np.ones(size, dtype=np.float32)
        self.refined = np.ones(size, dtype=bool)  # whose variances are by all unique candidates

    def fork(self) -> "ScreenBlock":
        """The same covariances and means, with variances that go their own way."""
        other = copy(self)
        other.variance, other.refined, other.chunks = self.variance.copy(), self.refined.copy(), self.chunks.copy()
        return other

    def add(self, X: Matrix, filled: int) -> None:
        """Rows for more unique candidates, after those that are filled."""
        while len(X):
            chunk, row = divmod(filled, STRIP)
            if chunk == len(self.chunks):
                self.chunks.append(np.empty((STRIP, self.size), dtype=np.float32))
            now = X[: STRIP - row]
            self._covariances.fill(now, self.chunks[chunk][row : row + len(now)])
            X, filled = X[len(now) :], filled + len(now)

    def spread(self, P: Single) -> Single:
        """P · k(X, A), for one row of coefficients or several."""
        parts = (np.matmul(part, rows) for part, rows in self._strips(P, slice(None)))
        total = next(parts)
        for part in parts:
            total += part
        return total

    def condition(self, P: Single, z: Single) -> None:
        """mean += z c, variance −= c², for each row p of P and c = p · k(X, A)."""
        C = self.spread(P)
        self.mean += np.matmul(z, C)
        np.multiply(C, C, out=C)
        for c2 in C:
            self.variance -= c2

    def refresh(self, alpha: Single, W: Single) -> None:
        """Means from scratch, and variances by the first unique candidates alone: more than they are."""
        self.mean = self.spread(alpha)
        few = W[:FIRST, :FIRST]
        self.refined[:] = len(few) == len(W)
        for start in range(0, self.size, SWEEP):
            part = slice(start, min(start + SWEEP, self.size))
            T = np.matmul(few, self.chunks[0][: len(few), part])
            np.subtract(np.float32(1), np.einsum("ij,ij->j", T, T), out=self.variance[part])

    def refine(self, W: Single, places: Indices) -> None:
        """Variances by all unique candidates, at some places."""
        places = places[~self.refined[places]]
        self.refined[places] = True
        for start in range(0, len(places), SWEEP):
            here = places[start : start + SWEEP]
            columns = [rows.take(here, axis=1) for _, rows in self._strips(W, slice(None))]
            taken = np.zeros(len(here), dtype=np.float32)
            for first in range(0, len(W), STRIP):
                T = sum(
                    np.matmul(W[first : first + STRIP, place * STRIP : (place + 1) * STRIP], columns[place])
                    for place in range(first // STRIP + 1)  # W is lower-triangular
                )
                taken += np.einsum("ij,ij->j", T, T)
            self.variance[here] = np.float32(1) - taken

    def reach(self, slope: float, places: Indices | slice = slice(None)) -> Single:
        """mean + slope · standard deviation, as they are here."""
        reach = np.sqrt(np.maximum(self.variance[places], np.float32(0)))
        reach *= np.float32(slope)
        reach += self.mean[places]
        return reach

    def _strips(self, P: Single, part: slice) -> Iterator[tuple[Single, Single]]:
        """Coefficients and covariances, some rows at a time."""
        for chunk, start in zip(self.chunks, range(0, P.shape[-1], STRIP), strict=False):
            coefficients = P[..., start : start + STRIP]
            yield coefficients, chunk[: coefficients.shape[-1], part]


class Screen:
    """All candidates. mean_error: by how much a mean may be off; variance_error: by how much a variance may be more."""

    def __init__(self, form: SingleForm, features: Matrix, kappa: float, memory: Sequence[list[Single]] = ()) -> None:
        """memory: that of a screen of the same candidates which is not needed any more."""
        self._kappa, self.filled = kappa, 0
        edges = np.linspace(0, len(features), ceil(len(features) / BLOCK) + 1).astype(int).tolist()
        self.blocks: list[ScreenBlock] = []
        for number, (start, stop) in enumerate(pairwise(edges)):
            chunks = memory[number] if memory else []
            self.blocks.append(ScreenBlock(start, form(features[start:stop]), stop - start, chunks))
        self.mean_error = self.variance_error = 0.0
        self.likely: Indices = np.zeros(0, dtype=np.int64)  # candidates that scored high when somebody looked last

    def fork(self) -> "Screen":
        """The same, with variances that go their own way; as long as this one is not brought up to date."""
        other = copy(self)
        other.blocks = [block.fork() for block in self.blocks]
        return other

    @property
    def memory(self) -> list[list[Single]]:
        """What another screen of the same candidates may take over, when this one is not needed any more."""
        return [block.chunks for block in self.blocks]

    @property
    def rough(self) -> bool:
        """Whether rounding may have made errors that are better repaired."""
        return max(self.mean_error, self.variance_error) > ENOUGH

    def add(self, X: Matrix) -> None:
        """More unique candidates."""
        for block in self.blocks:
            block.add(X, self.filled)
        self.filled += len(X)

    def condition(self, terms: Sequence[tuple[Vector, float]]) -> None:
        """mean += z c, variance −= c², for terms (p, z) and c = p · k(X, A)."""
        if not terms:
            return
        P = np.zeros((len(terms), self.filled))
        for row, (p, _) in zip(P, terms, strict=True):
            row[: len(p)] = self._kappa * p
        z = np.array([z for _, z in terms])
        for block in self.blocks:
            block.condition(P.astype(np.float32), z.astype(np.float32))
        errors = self._error * np.sum(np.abs(P), axis=1)
        self.mean_error += float(np.abs(z) @ errors) + len(terms) * 16 * UNIT
        self.variance_error += float(np.sum(errors * (2 + errors))) + len(terms) * 4 * UNIT

    def tighten(self) -> bool:
        """Bring bounds nearer to what they bound; False where they are as near as they come."""
        return False

    def refresh(self, alpha: Vector, W: Matrix) -> None:
        """Means and variances from scratch, by α and W = L⁻¹ S."""
        alpha = self._kappa * alpha
        self.mean_error = self._error * float(np.sum(np.abs(alpha))) + 16 * UNIT
        self.variance_error = 0.0
        self.whitened_by(W)
        if self.filled:
            self._refresh(alpha.astype(np.float32), self._W)

    def whitened_by(self, W: Matrix) -> None:
        """L⁻¹ S as it is now, by which variances are refined."""
        W = self._kappa * W
        self._W = W.astype(np.float32)
        off = self._error * float(np.linalg.norm(np.sum(np.abs(W), axis=1)))
        self.variance_error = max(self.variance_error, off * (2 + off) + (self.filled + 4) * UNIT)

    def _refresh(self, alpha: Single, W: Single) -> None:
        """Variances by all unique candidates only where that may matter, which a sample shows."""
        samples = [np.arange(0, block.size, ceil(block.size / SAMPLE)) for block in self.blocks]
        for block, sample in zip(self.blocks, samples, strict=True):
            block.refresh(alpha, W)
            block.refine(W, sample)
        bars = [max(float(np.max(b.reach(s, at))) for b, at in zip(self.blocks, samples, strict=True)) for s in SLOPES]
        for block in self.blocks:
            high = [block.reach(slope) >= np.float32(bar) for slope, bar in zip(SLOPES, bars, strict=True)]
            block.refine(W, np.flatnonzero(np.logical_or.reduce(high)))

    def know(self, candidates: Indices, variances: Vector) -> None:
        """What the variances of some candidates, in increasing order, are in double precision."""
        start = 0
        for block, here in self._parts(candidates):
            block.variance[here] = variances[start : start + len(here)] / self._kappa**2
            block.refined[here] = True
            start += len(here)

    @property
    def _error(self) -> float:
        """Of p · k(X, A), for ‖p‖₁ = 1."""
        return (STRIP + self.filled / STRIP + 4) * UNIT + ACCURACY

    @property
    def highest(self) -> float:
        return max(float(np.max(block.mean)) for block in self.blocks)

    @property
    def lowest(self) -> float:
        return min(float(np.min(block.mean)) for block in self.blocks)

    def may_be_highest(self) -> Indices:
        """The candidates whose mean may be the highest."""
        bar = np.float32(self.highest - 3 * self.mean_error)
        return np.concatenate([np.flatnonzero(block.mean >= bar) + block.start for block in self.blocks])

    def hopeful(self, beta: float, taken: Collection[int]) -> Indices:
        """Some candidates of high mean and variance, spread over all, and likely ones; without those that are taken."""
        places, found = np.array(sorted(taken), dtype=np.int64), list[Indices]()
        for block in self.blocks:
            hope = block.reach(beta)
            np.copyto(hope, np.float32(-np.inf), where=~block.refined)
            hope[places[(places >= block.start) & (places < block.start + block.size)] - block.start] = -np.inf
            best = [start + int(np.argmax(hope[start : start + SPREAD])) for start in range(0, block.size, SPREAD)]
            found.append(np.array([place for place in best if hope[place] > -np.inf], dtype=np.int64) + block.start)
        likely = [candidate for candidate in self.likely.tolist() if candidate not in taken]
        return np.union1d(np.concatenate(found), np.array(likely, dtype=np.int64))

    @property
    def widest(self) -> float:
        """The most that any standard deviation may be."""
        return sqrt(max(float(np.max(block.variance)) for block in self.blocks) + self.variance_error)

    def above(self, lines: Sequence[tuple[float, float]]) -> tuple[Indices, Single]:
        """The candidates of which mean + slope · standard deviation may be above a bar, for any of (bar, slope).

        With how far above it may be.
        """
        found, excess = list[Indices](), list[Single]()
        for block in self.blocks:
            width = np.sqrt(np.maximum(block.variance + np.float32(self.variance_error), np.float32(0)))
            highest = np.full(block.size, -np.inf, dtype=np.float32)
            for bar, slope in lines:
                over = np.float32(slope) * width
                over += block.mean
                over -= self._low(bar, slope)
                np.maximum(highest, over, out=highest)
            here = np.flatnonzero(highest >= 0)
            found.append(here + block.start)
            excess.append(highest[here])
        return np.concatenate(found), np.concatenate(excess)

    def _low(self, bar: float, slope: float) -> np.float32:
        return np.float32(bar - 16 * UNIT * (8 + abs(bar) + abs(slope)) - self.mean_error)

    def most(self, candidates: Indices) -> tuple[Vector, Vector]:
        """The most that the mean and the variance of some candidates, in increasing order, may be."""
        parts = self._parts(candidates)
        mean = np.concatenate([block.mean[here] for block, here in parts]).astype(np.float64)
        variance = np.concatenate([block.variance[here] for block, here in parts]).astype(np.float64)
        return mean + self.mean_error, np.maximum(variance + self.variance_error, 0.0)

    def refine(self, candidates: Indices) -> None:
        """Variances by all unique candidates, of some candidates in increasing order."""
        for block, here in self._parts(candidates):
            block.refine(self._W, here)

    def _parts(self, candidates: Indices) -> list[tuple[ScreenBlock, Indices]]:
        """Some candidates in increasing order, block by block."""
        edges = np.searchsorted(candidates, [block.start for block in self.blocks[1:]])
        return [
            (block, here - block.start) for block, here in zip(self.blocks, np.split(candidates, edges), strict=True)
        ]
