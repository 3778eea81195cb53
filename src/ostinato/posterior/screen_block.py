"""Some of very many candidates, with means and variances in low precision: what a screen asks of them.

`ScreenBlock` says what that is; `HostBlock` is one in the machine's memory, in single precision, and
`card.CardBlock` one on a GPU. All numbers are in units of κ, about the prior mean. Places are counted within the
block.
"""

import mmap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from math import ceil
from operator import or_
from typing import Any, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.posterior.cache import Indices
from ostinato.posterior.factor import Factor

SWEEP, ENOUGH = 2_048, 512  # candidates whose variances are refined at a time: at the most; at the least, about
WIDE = 65_536  # candidates, at the most, that are brought up to date at a time
HIGH, TILE = 16, 98_304  # rows and covariances, at the most, that are computed and summed at a time after a fit
STRIP = 64  # rows that are summed at a time otherwise, and for which memory is taken at a time
GATHERED = 32  # rows that are summed at a time where variances are refined
SPREAD = 16_384  # candidates of which one is hopeful
DIRECTIONS = 7  # of as many as there are unique candidates, by which variances are bounded at first
HUGE = 2**22  # bytes from which NumPy asks for large pages
SAMPLE = 256  # candidates of a block, about, that are looked at first


Floats: TypeAlias = NDArray[np.floating[Any]]
Along: TypeAlias = Callable[[Matrix], Any]  # from orthonormal directions, one a column, to coefficients Qᵀ W


class Awaited(NamedTuple):
    """Covariances that are not computed yet: rows from this one on, their memory, and what they are of."""

    first: int
    rows: Floats
    points: Any

    def within(self, first: int, stop: int) -> slice:
        """Which of these rows are from the first of all rows to the last."""
        return slice(max(first - self.first, 0), max(stop - self.first, 0))


class Preview(NamedTuple):
    """What was seen of a sample of candidates before the others: W k(X, A) and means."""

    whitened: Floats
    mean: Floats

    def reach(self, slope: float) -> float:
        """The highest mean + slope · standard deviation."""
        return float(np.max(self.mean + slope * np.sqrt(np.maximum(1 - _squares(self.whitened.copy()), 0))))


class Rough(NamedTuple):
    """How variances are bounded by few directions first, and by all of W where any line (slope, bar) is reached then."""

    along: Along
    preview: Preview
    lines: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class SearchCriterion:
    """What a search maximises, in the units of values: `value(mean, variance, places)` of a candidate.

    bound(mean, variance): the most that a value may be; higher where the mean is, and where the variance is.
    least(value, mean, variance): what another candidate must reach to be chosen where the best is this one.
    order(places): lower for what is chosen of several that are equal; None where costs settle that, too.
    """

    bound: Callable[[Any, Any], Any]
    value: Callable[[Any, Any, Any], Any]
    least: Callable[[float, float, float], float]
    order: Callable[[Any], Any] | None
    centre: float
    kappa: float
    slope: float | None = None  # where the bound is mean + slope · standard deviation


class LeadingCandidates(NamedTuple):
    """Candidates that may be chosen, in increasing order, with mean, variance and value in double precision."""

    candidates: Indices
    mean: Vector
    variance: Vector
    values: Vector


class ErrorBounds(NamedTuple):
    """The largest errors: by how much a mean may be off, and by how much a variance may be too small."""

    mean: float
    variance: float


class Terms(NamedTuple):
    """What means and variances are made of in double precision: unique candidates and a factorisation.

    imagined: coefficients of what is in flight, one row each, on X, which then ends with candidates only imagined.
    """

    X: Matrix
    factor: Factor
    imagined: Matrix | None = None


class Covariances(Protocol):
    """k(X, A)/κ² for the candidates A of a block, as rows that are to be weighted.

    ones: 1 where a row of ones comes before all others, else 0.
    """

    @property
    def ones(self) -> int: ...

    def coefficients(self, P: Any) -> Any:
        """On ones and rows, for coefficients P on covariances."""
        ...

    @property
    def accuracy(self) -> float:
        """By how much they may be off, of the largest."""
        ...

    def points(self, X: Matrix) -> Any:
        """Some X, as `fill` wants them."""
        ...

    def loose(self, points: Any, centre: Vector) -> Any:
        """The same, as `fill` computes them faster; where there is a `looseness`."""
        ...

    def looseness(self, X: Matrix, centre: Vector) -> Vector | None:
        """By how much those with each of X may be off then, besides; None where there is no faster way."""
        ...

    def at(self, part: slice) -> Callable[[Any, Any, slice], None]:
        """What writes rows of some of the points at a part of the candidates."""
        ...

    @property
    def memory(self) -> Any:
        """What those of as many candidates may take over."""
        ...


class ScreenBlock(ABC):
    """Candidates start … start + size."""

    start: int
    size: int
    unit: float  # the rounding error of one operation, relative
    accuracy: float  # by how much covariances may be off, of the largest
    strip: int  # covariances that are summed at a time
    settles = False  # whether it finds what may be chosen by itself, in double precision
    lazy = False  # whether it puts off what comes until it matters
    updated_share = 0.0  # if so, the share of candidates that is brought up to date at a time
    affordable = 0.1  # the share of candidates that may be computed exactly, before computing all of them is better

    @property
    def high(self) -> int:
        """Covariances that are summed at a time in a refresh."""
        return self.strip

    @property
    def gathered(self) -> int:
        """The same, where variances are refined."""
        return self.strip

    @abstractmethod
    def prepared(self, numbers: Matrix | Vector) -> Any:
        """Numbers as blocks like this one use them."""

    def coefficients(self, P: Matrix | Vector) -> Any:
        """Coefficients on covariances as blocks like this one use them."""
        return self.prepared(P)

    @property
    @abstractmethod
    def memory(self) -> Any:
        """What another block of the same candidates may take over, when this one is not needed any more."""

    @abstractmethod
    def fork(self) -> Self:
        """The same covariances and means, with variances that go their own way."""

    @abstractmethod
    def add(self, X: Matrix, filled: int) -> None:
        """More unique candidates, after those that are filled."""

    def looseness(self, X: Matrix, centre: Vector) -> Vector | None:
        """By how much covariances with each of X may be off besides, if `loosen` follows; None where it may not."""
        return None

    def loosen(self, centre: Vector) -> None:  # noqa: B027 (nothing, where there is no faster way)
        """Compute the covariances that are awaited about this point, which is faster."""

    @abstractmethod
    def condition(self, P: Any, z: Any) -> None:
        """mean += z c, variance −= c², for each row p of P and c = p · k(X, A)."""

    def preview(self, alpha: Any, W: Any) -> Preview | None:
        """A look at some candidates before a refresh, for blocks that use some directions of W alone."""
        return None

    @abstractmethod
    def refresh(self, alpha: Any, W: Any, rough: Rough | None = None) -> None:
        """Means and variances from scratch; after a preview, variances as they are, or more."""

    def adopt(self, mean: Vector, variance: Vector) -> None:  # noqa: B027 (for blocks that begin later than others)
        """Means and variances that are known from elsewhere."""

    def follow(self, alpha: Any, mean_error: float, variance_error: float) -> None:  # noqa: B027 (for blocks that wait)
        """What means are made of after all terms so far, and by how much means and variances may be off."""

    # Blocks that settle choices by themselves:

    def leading(self, criterion: SearchCriterion, off: ErrorBounds, taken: Indices, terms: Terms) -> LeadingCandidates:
        """The candidates that may be chosen, but for those that are taken."""
        raise NotImplementedError

    def leading_draw(self, drawn: Any, criterion: SearchCriterion, off: float, taken: Indices) -> LeadingCandidates:
        """Those that may be the highest in a draw, which may be off by so much here; in units of f."""
        raise NotImplementedError

    def highest_mean(self, bar: float, taken: Indices, terms: Terms) -> float:
        """The highest mean in double precision, in units of f, of those whose mean here reaches a bar, but for some."""
        raise NotImplementedError

    # Blocks that do not always have the variances by all unique candidates:

    def unrefined(self, places: Indices) -> NDArray[np.bool_]:
        """At which of some places variances are by some of the unique candidates alone."""
        return np.zeros(len(places), dtype=np.bool_)

    def refine(self, W: Any, places: Indices) -> None:  # noqa: B027 (nothing, unless there is something to refine)
        """Variances by all unique candidates, at some places."""

    def set_variances(self, places: Indices, variances: Vector) -> None:  # noqa: B027 (nothing, unless there is something to refine)
        """What the variances at some places are."""

    @abstractmethod
    def at(self, places: Indices) -> tuple[Vector, Vector]:
        """Means and variances at some places, as they are here."""

    @property
    @abstractmethod
    def means(self) -> tuple[float, float]:
        """The lowest and the highest."""

    @property
    @abstractmethod
    def largest_variance(self) -> float:
        """Of all that are here."""

    @property
    @abstractmethod
    def variances(self) -> Vector:
        """All of them."""

    @abstractmethod
    def above(self, bar: float, slope: float, error: float = 0.0) -> Indices:
        """Where mean + slope · standard deviation may be above a bar, if variances are off by `error` at the most."""

    def beyond(
        self, chord: tuple[float, float], lines: Sequence[tuple[float, float]], error: float
    ) -> tuple[Indices, Vector]:
        """Where any of some lines (bar, slope) may be reached, and by how much; a chord lies below them all."""
        here = self.above(*chord, error)
        mean, variance = self.at(here)
        width = np.sqrt(np.maximum(variance + error, 0.0))
        over = np.max([slope * width + mean - bar for bar, slope in lines], axis=0)
        return here[over >= 0], over[over >= 0]

    @abstractmethod
    def highest(self, slope: float, count: int) -> tuple[Indices, Vector]:
        """Where mean + slope · standard deviation is highest, and how high; as many places as asked for, or all."""

    @abstractmethod
    def hopeful(self, slope: float, taken: Indices) -> Indices:
        """Some refined places of high mean + slope · standard deviation, spread over all but those that are taken."""


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
        self._awaited = [
            each._replace(points=self._covariances.loose(each.points, centre)) for each in self._awaited
        ]

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
        """In memory of its own: what is written far apart takes long."""
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
        with np.errstate(over="ignore"):
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
        """P · k(X, A) part by part. Some rows at a time are computed where that is due, and summed while they are in the
        processor's cache.
        """
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
        return part.start + np.flatnonzero(reduce(or_, over))

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
        places = np.flatnonzero(self._refined)
        places = places[~np.isin(places, taken)] if len(taken) else places
        hope = self._mean[places] + self.number(slope) * np.sqrt(np.abs(self._variance[places]))
        edges = np.searchsorted(places, range(0, self.size + SPREAD, SPREAD)).tolist()
        best = [start + int(np.argmax(hope[start:stop])) for start, stop in pairwise(edges) if start < stop]
        return places[best]

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
