"""Candidates in the machine's memory, with their covariances with the unique ones, in single precision.

Two things take long: to compute all covariances anew, after a fit, and to stream them from memory in every epoch. After
a fit covariances are computed in tiles that fit the processor's cache, are summed there at once, and gathered there
where variances are to be refined. So they are written to memory once, and not read again.
"""

import mmap
from collections.abc import Iterator, Sequence
from copy import copy
from functools import reduce
from itertools import pairwise
from math import ceil
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.posterior.cache import Indices
from ostinato.posterior.screen_block import Covariances, Floats, Preview, Rough, ScreenBlock

SWEEP, ENOUGH = 2_048, 512  # candidates whose variances are refined at a time: at the most; at the least, about
WIDE = 65_536  # candidates, at the most, that are brought up to date at a time
HIGH, TILE = 16, 98_304  # rows and covariances, at the most, that are computed and summed at a time after a fit
STRIP = 64  # rows that are summed at a time otherwise, and for which memory is taken at a time
GATHERED = 32  # rows that are summed at a time where variances are refined
SPREAD = 16_384  # candidates of which one is hopeful
DIRECTIONS = 7  # of as many as there are unique candidates, by which variances are bounded at first
HUGE = 2**22  # bytes from which NumPy asks for large pages
SAMPLE = 256  # candidates of a block, about, that are looked at first


class Awaited(NamedTuple):
    """Covariances that are not computed yet: rows from this one on, their memory, and what they are of."""

    first: int
    rows: Floats
    points: Any

    def within(self, first: int, stop: int) -> slice:
        """Which of these rows are from the first of all rows to the last."""
        return slice(max(first - self.first, 0), max(stop - self.first, 0))


class BlockMemory(NamedTuple):
    """What the blocks of one model after the other are kept in: the system clears fresh memory first, page by page."""

    chunks: list[Floats]  # of rows
    moments: tuple[Floats, Floats]  # means and variances
    refined: NDArray[np.bool_]

    @classmethod
    def of(cls, size: int, number: type[np.floating[Any]]) -> Self:
        return cls([], (np.empty(size, dtype=number), np.empty(size, dtype=number)), np.empty(size, dtype=bool))


class HostBlock(ScreenBlock):
    """In single precision, with the covariances of all candidates with the unique ones."""

    number: type[np.floating[Any]] = np.float32
    unit = 2.0**-24

    def __init__(self, start: int, covariances: Covariances, size: int, memory: "BlockMemory | None" = None) -> None:
        self.start, self.size, self._covariances = start, size, covariances
        self.strip, self.accuracy = STRIP, covariances.accuracy
        self._chunks, (self._mean, self._variance), self._refined = memory or BlockMemory.of(size, self.number)
        self._mean[:], self._variance[:] = 0, 1
        self._refined[:] = True  # whose variances are by all unique candidates
        self._awaited: list[Awaited] = []
        self._means: tuple[float, float] | None = None  # the lowest and the highest, once somebody asked
        self._largest: float | None = None  # variance, likewise

    @property
    def high(self) -> int:
        return HIGH

    @property
    def gathered(self) -> int:
        return GATHERED

    def prepared(self, numbers: Matrix | Vector) -> Floats:
        return numbers.astype(self.number)

    def coefficients(self, P: Matrix | Vector) -> Floats:
        return self.prepared(self._covariances.coefficients(P))

    def fork(self) -> Self:
        other = copy(self)
        other._mean, other._variance, other._refined = self._mean.copy(), self._variance.copy(), self._refined.copy()
        other._chunks, other._awaited = self._chunks.copy(), self._awaited.copy()
        return other

    @property
    def memory(self) -> tuple["BlockMemory", Any]:
        return BlockMemory(self._chunks, (self._mean, self._variance), self._refined), self._covariances.memory

    def add(self, X: Matrix, filled: int) -> None:
        """Their covariances are computed in the next pass over all candidates, which has them in the cache then."""
        row = filled + self._covariances.ones
        while len(X):
            chunk, first = divmod(row, STRIP)
            if chunk == len(self._chunks):
                self._chunks.append(rows_of(STRIP, self.size, self.number))
            if row == self._covariances.ones:
                self._chunks[0][: self._covariances.ones] = 1
            now = X[: STRIP - first]
            memory = self._chunks[chunk][first : first + len(now)]
            self._awaited.append(Awaited(row, memory, self._covariances.points(now)))
            X, row = X[len(now) :], row + len(now)

    def looseness(self, X: Matrix, centre: Vector) -> Vector | None:
        return self._covariances.looseness(X, centre)

    def loosen(self, centre: Vector) -> None:
        self._awaited = [each._replace(points=self._covariances.loose(each.points, centre)) for each in self._awaited]

    def _passed(self) -> Iterator[slice]:
        """Parts of the candidates, one after the other, with the covariances that were awaited; all are to change."""
        for part in self._parts(WIDE):
            fill = self._covariances.at(part)
            with np.errstate(over="ignore"):  # what is far is divided by infinity
                for each in self._awaited:
                    fill(each.rows[:, part], each.points, slice(None))
            yield part
        self._awaited = []  # when all is done: what is stopped half-way is computed again

    def _parts(self, width: int) -> Iterator[slice]:
        self._means = self._largest = None
        return (slice(start, min(start + width, self.size)) for start in range(0, self.size, width))

    def condition(self, P: Floats, z: Floats) -> None:
        for part in self._passed():
            mean, variance = self._mean[part], self._variance[part]
            for c, each in zip(self._spread(P, part), z, strict=True):
                mean += c * each
                variance -= np.multiply(c, c, out=c)

    def preview(self, alpha: Floats, W: Floats) -> Preview | None:
        """In memory of its own: to write to the rows, where the sample lies far apart, takes four times as long."""
        if len(W) <= DIRECTIONS:
            return None
        step = ceil(self.size / SAMPLE)
        known = self._awaited[0].first if self._awaited else len(alpha)  # rows; those that are awaited come last
        K = np.empty((len(alpha), len(range(0, self.size, step))), dtype=self.number)
        for first in range(0, known, STRIP):
            K[first : min(first + STRIP, known)] = self._chunks[first // STRIP][: known - first, ::step]
        fill = self._covariances.at(slice(0, self.size, step))
        with np.errstate(over="ignore"):
            for each in self._awaited:
                fill(K[each.first : each.first + len(each.rows)], each.points, slice(None))
        return Preview(self._whitened(W, K), alpha @ K)

    def refresh(self, alpha: Floats, W: Floats, rough: Rough | None = None) -> None:
        """Variances by the few directions alone that take most off them, and by all of W where that may matter."""
        rows = W if rough is None else rough.along(_most_of(rough.preview.whitened))
        self._refined[:] = rough is None
        found = list[tuple[Indices, Floats]]()
        with np.errstate(over="ignore"):  # what is far is divided by infinity
            for part, both in self._products(np.concatenate([alpha[None], rows])):
                self._mean[part] = both[0]
                np.subtract(1, _squares(both[1:]), out=self._variance[part])
                if rough:
                    places = self._reached(part, rough.lines)
                    found.append((places, self._columns(W, places)))  # while they are in the processor's cache
                if sum(len(places) for places, _ in found) > ENOUGH:
                    self._refine(W, found)
                    found.clear()
        if rough:
            self._refine(W, found)
            step = slice(0, self.size, ceil(self.size / SAMPLE))
            self._variance[step], self._refined[step] = self.number(1) - _squares(rough.preview.whitened), True

    def _products(self, P: Floats) -> Iterator[tuple[slice, Floats]]:
        """P · k(X, A), part by part. Rows that are awaited are summed while they are in the processor's cache."""
        tiles: list[tuple[Floats, Floats, list[tuple[Floats, Any, slice]]]] = []
        for first, stop in _tile_edges(P.shape[1]):
            due = [(each, each.within(first, stop)) for each in self._awaited]
            awaited = [(each.rows[some], each.points, some) for each, some in due if len(each.rows[some])]
            start = first % STRIP
            tiles.append((P[:, first:stop], self._chunks[first // STRIP][start : start + stop - first], awaited))
        width = min(WIDE, TILE // max(p.shape[1] for p, _, _ in tiles))
        buffers = np.empty((2, len(P) * width), dtype=self.number)
        for part in self._parts(width):
            wide, fill = part.stop - part.start, self._covariances.at(part)
            total, product = (buffer[: len(P) * wide].reshape(len(P), wide) for buffer in buffers)
            for number, (p, rows, awaited) in enumerate(tiles):
                for missing, points, some in awaited:
                    fill(missing[:, part], points, some)
                np.matmul(p, rows[:, part], out=product if number else total)
                if number:
                    total += product
            yield part, total
        self._awaited = []

    def _reached(self, part: slice, lines: Sequence[tuple[float, float]]) -> Indices:
        """Where mean + slope · standard deviation reaches the bar of any line."""
        width = np.sqrt(np.abs(self._variance[part]))
        over = (self._mean[part] + self.number(slope) * width >= self.number(bar) for slope, bar in lines)
        return part.start + np.flatnonzero(reduce(np.logical_or, over))

    def adopt(self, mean: Vector, variance: Vector) -> None:
        """Means and variances that are known from elsewhere."""
        self._means = self._largest = None
        self._mean[:], self._variance[:] = mean, variance

    def forget(self) -> None:
        """Variances are those of the prior, until they are refined."""
        self._variance[:], self._refined[:], self._largest = 1, False, None

    def renew(self, alpha: Floats) -> None:
        """Means from scratch; variances stay, until they are refined."""
        for part in self._passed():
            self._mean[part] = self._spread(alpha, part)
        self._refined[:] = False

    def tops(self, slopes: Vector, error: float) -> tuple[Vector, int, float, float]:
        """The highest mean + slope · standard deviation for each slope, and where it is for the second one.

        With the largest standard deviation, and the lowest mean.
        """
        width = self._variance + self.number(error)
        np.sqrt(np.maximum(width, self.number(0), out=width), out=width)
        reach = np.multiply.outer(slopes.astype(self.number), width)
        reach += self._mean
        places = np.argmax(reach, axis=1)
        tops = reach[np.arange(len(slopes)), places].astype(np.float64)
        return tops, int(places[1]), float(np.max(width)), float(np.min(self._mean))

    def unrefined(self, places: Indices) -> NDArray[np.bool_]:
        return ~self._refined[places]

    def refine(self, W: Floats, places: Indices) -> None:
        places = places[self.unrefined(places)]
        for start in range(0, len(places), SWEEP):
            here = places[start : start + SWEEP]
            self._refine(W, [(here, self._columns(W, here))])

    def _refine(self, W: Floats, found: Sequence[tuple[Indices, Floats]]) -> None:
        """At some places, with the covariances there."""
        if not found:
            return
        places, K = (np.concatenate(each, axis=-1) for each in zip(*found, strict=True))
        self._variance[places] = self.number(1) - _squares(self._whitened(W, K))
        self._refined[places], self._largest = True, None

    def _columns(self, W: Floats, places: Indices) -> Floats:
        """The covariances that W is for."""
        return np.concatenate([rows.take(places, axis=1) for _, rows in self._strips(W)])

    def _whitened(self, W: Floats, K: Floats) -> Floats:
        """W K for some columns K of k(X, A)."""
        T = np.matmul(W[:, :GATHERED], K[:GATHERED])
        for start in range(GATHERED, len(K), GATHERED):
            first = start - self._covariances.ones  # W is lower-triangular
            T[first:] += np.matmul(W[first:, start : start + GATHERED], K[start : start + GATHERED])
        return T

    def set_variances(self, places: Indices, variances: Vector) -> None:
        self._variance[places], self._refined[places], self._largest = variances, True, None

    def at(self, places: Indices) -> tuple[Vector, Vector]:
        return self._mean[places].astype(np.float64), self._variance[places].astype(np.float64)

    @property
    def means(self) -> tuple[float, float]:
        if self._means is None:
            self._means = float(np.min(self._mean)), float(np.max(self._mean))
        return self._means

    @property
    def largest_variance(self) -> float:
        if self._largest is None:
            self._largest = float(np.max(self._variance))
        return self._largest

    @property
    def variances(self) -> Vector:
        return self._variance.astype(np.float64)

    def above(self, bar: float, slope: float, error: float = 0.0) -> Indices:
        if slope == 0:
            return np.flatnonzero(self._mean >= self.number(bar))
        return np.flatnonzero(self._reach(slope, error) >= self.number(bar))

    def highest(self, slope: float, count: int) -> tuple[Indices, Vector]:
        reach = self._reach(slope)
        places = np.argpartition(-reach, count)[:count] if count < self.size else np.arange(self.size)
        return places, reach[places].astype(np.float64)

    def hopeful(self, slope: float, taken: Indices) -> Indices:
        hope = self._reach(slope)
        np.copyto(hope, self.number(-np.inf), where=~self._refined)
        hope[taken] = -np.inf
        best = [start + int(np.argmax(hope[start : start + SPREAD])) for start in range(0, self.size, SPREAD)]
        return np.array([place for place in best if hope[place] > -np.inf], dtype=np.int64)

    def _reach(self, slope: float, error: float = 0.0) -> Floats:
        """mean + slope · standard deviation, if variances are this much more."""
        reach = self._variance + self.number(error)
        np.sqrt(np.abs(reach, out=reach), out=reach)  # below 0 by rounding alone; a maximum takes six times as long
        reach *= self.number(slope)
        reach += self._mean
        return reach

    def _spread(self, P: Floats, part: slice) -> Floats:
        """P · k(X, A) at a part of the candidates, for one row of coefficients or several."""
        products = (np.matmul(each, rows[:, part]) for each, rows in self._strips(P))
        total = next(products)
        for product in products:
            total += product
        return total

    def _strips(self, P: Floats) -> Iterator[tuple[Floats, Floats]]:
        """Coefficients and covariances, some rows at a time."""
        for chunk, start in zip(self._chunks, range(0, P.shape[-1], STRIP), strict=False):
            coefficients = P[..., start : start + STRIP]
            yield coefficients, chunk[: coefficients.shape[-1]]


def rows_of(count: int, size: int, number: type[np.floating[Any]]) -> Floats:
    """Memory for rows that are written one after the other, in small pages.

    Of arrays of 4 MB NumPy asks for pages of 2 MB, which the first row that is written clears; in a virtual machine
    whose memory was not used before that takes up to 5 ms each.
    """
    bytes_ = count * size * np.dtype(number).itemsize
    if bytes_ < HUGE or not hasattr(mmap, "MAP_ANONYMOUS"):
        return np.empty((count, size), dtype=number)
    memory = mmap.mmap(-1, bytes_, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return np.frombuffer(memory, dtype=number).reshape(count, size)


def _tile_edges(rows: int) -> Iterator[tuple[int, int]]:
    """Rows of each strip in tiles that are about as high as each other."""
    for first in range(0, rows, STRIP):
        count = min(STRIP, rows - first)
        yield from pairwise(np.linspace(first, first + count, ceil(count / HIGH) + 1).astype(int).tolist())


def _squares(T: Floats) -> Floats:
    """The sum of squares in each column; T is overwritten."""
    np.multiply(T, T, out=T)
    return np.matmul(np.ones(len(T), dtype=T.dtype), T)


def _most_of(T: Floats) -> Matrix:
    """Some orthonormal directions in which the columns of T are long; nearly the best ones there are."""
    exact = np.asarray(T, dtype=np.float64)
    found = exact[:, np.linspace(0, exact.shape[1] - 1, DIRECTIONS, dtype=np.int64)]
    for _ in range(2):
        found = exact @ (exact.T @ found)
    return np.linalg.qr(found)[0]
