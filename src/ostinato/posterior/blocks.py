"""Candidates in blocks: everything that has the size of the candidate set happens here, block by block.

The block is the one unit of memory, of laziness and of transfer. `Block` holds one: its part of the kernel cache.
`Blocks` holds them all, with the mean and variance of every candidate, and knows where a candidate lives.
`BlockedVector` is one number for every candidate, in the same blocks; the rest of the program reads, gathers and
compares through it.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil, inf, isfinite
from typing import Any, cast

import numpy as np

from ostinato.arrays import (
    Array,
    Matrix,
    Namespace,
    Vector,
    from_numpy,
    namespace_of,
    to_numpy,
)
from ostinato.errors import InvalidKernel
from ostinato.kernels import Kernel
from ostinato.posterior.cache import Cache, CachedRows, GridRows, Indices, RowMemory
from ostinato.posterior.factor import Factor
from ostinato.posterior.grid import Grid
from ostinato.posterior.limited import LimitedRows

BLOCK_SIZE = 16_384
TAIL = 512  # candidates, at most, of a block that grows
SWEEP = 1024  # candidates whose variances are recomputed at a time, to bound memory


@dataclass(slots=True, eq=False)
class BlockedVector:
    """One number for every candidate, in blocks that begin at the candidates `starts`.

    `vector.flat()` is all of them as one NumPy array, `vector.at(candidates)` some, `vector[7]` one;
    `vector.like(values)` puts an array of other numbers into the same blocks, and `vector.map(function, other)`
    computes with whole blocks, wherever they are.
    """

    parts: list[Array]
    starts: Sequence[int]

    def __iter__(self) -> Iterator[Array]:
        return iter(self.parts)

    def __getitem__(self, candidate: int) -> float:
        block = bisect_right(self.starts, candidate) - 1
        return float(self.parts[block][candidate - self.starts[block]])

    def __setitem__(self, candidate: int, value: float) -> None:
        block = bisect_right(self.starts, candidate) - 1
        self.parts[block][candidate - self.starts[block]] = value

    def at(self, candidates: Indices) -> Vector:
        """The numbers of some candidates."""
        if len(self.parts) == 1:
            return to_numpy(self.parts[0])[candidates]
        order = np.argsort(candidates, kind="stable")
        places = np.split(order, np.searchsorted(candidates[order], self.starts[1:]))
        found = np.empty(len(candidates))
        for start, part, here in zip(self.starts, self.parts, places, strict=True):
            found[here] = to_numpy(part)[candidates[here] - start]
        return found

    def flat(self) -> Vector:
        """All of them, as one NumPy array; where there are several for each candidate, one row each."""
        return np.concatenate([to_numpy(part) for part in self.parts], axis=-1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Vector:
        """As NumPy sees it: one number for every candidate, so that np.argmax finds the best of all blocks."""
        return self.flat() if dtype is None else self.flat().astype(dtype)

    @property
    def highest(self) -> float:
        """The highest number."""
        xp = namespace_of(self.parts[0])
        return max(float(xp.max(part)) for part in self.parts)

    @property
    def span(self) -> tuple[float, float]:
        """The lowest number and the highest."""
        xp = namespace_of(self.parts[0])
        return min(float(xp.min(part)) for part in self.parts), max(float(xp.max(part)) for part in self.parts)

    @property
    def places_of_highest(self) -> Indices:
        """The candidate of the highest number in each block."""
        return np.array([int(np.argmax(to_numpy(part))) for part in self.parts], dtype=np.int64) + self.starts

    def above(self, bar: float) -> Indices:
        """The candidates whose number is this much or more."""
        found = [
            to_numpy(part >= bar).nonzero()[0] + start for part, start in zip(self.parts, self.starts, strict=True)
        ]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def near_highest(self, gap: float) -> Indices:
        """The candidates whose number is the highest, or lower by this much at most; looked for where they can be."""
        xp = namespace_of(self.parts[0])
        tops = [float(xp.max(part)) for part in self.parts]
        bar, each = max(tops) - gap, zip(self.parts, self.starts, tops, strict=True)
        found = [to_numpy(part >= bar).nonzero()[0] + start for part, start, top in each if top >= bar]
        return found[0] if len(found) == 1 else np.concatenate(found)

    def map(self, function: Callable[..., Array], *others: "BlockedVector") -> "BlockedVector":
        """A function of these numbers, and of others in the same blocks."""
        each = zip(self.parts, *(other.parts for other in others), strict=True)
        return BlockedVector([function(*arrays) for arrays in each], self.starts)

    def like(self, values: Vector) -> "BlockedVector":
        """Other numbers in the same blocks."""
        xp = namespace_of(self.parts[0])
        return BlockedVector([from_numpy(xp, part) for part in np.split(values, self.starts[1:])], self.starts)

    def without(self, candidates: Collection[int]) -> "BlockedVector":
        """The same, with minus infinity for some candidates."""
        if not candidates:
            return self
        others = self.map(_copy)
        if namespace_of(self.parts[0]) is np:
            places = np.fromiter(candidates, dtype=np.int64, count=len(candidates))
            if len(others.parts) == 1:
                others.parts[0][places] = -inf
                return others
            places.sort()
            parts = np.split(places, np.searchsorted(places, self.starts[1:]))
            for start, part, here in zip(self.starts, others, parts, strict=True):
                part[here - start] = -inf
            return others
        for candidate in candidates:
            others[candidate] = -inf
        return others


class ListedVector:
    """One number for some candidates, and minus infinity for all others."""

    def __init__(self, candidates: Indices, values: Vector, size: int) -> None:
        self.candidates, self.values, self._size = candidates, values, size

    def __getitem__(self, candidate: int) -> float:
        found = self.values[self.candidates == candidate]
        return float(found[0]) if len(found) else -inf

    def flat(self) -> Vector:
        values = np.full(self._size, -inf)
        values[self.candidates] = self.values
        return values

    @property
    def highest(self) -> float:
        return float(np.max(self.values, initial=-inf))

    def above(self, bar: float) -> Indices:
        """The candidates whose number is this much or more."""
        return self.candidates[self.values >= bar]

    def near_highest(self, gap: float) -> Indices:
        """The candidates whose number is the highest, or lower by this much at most."""
        return self.above(self.highest - gap)

    def without(self, candidates: Collection[int]) -> "ListedVector":
        """The same, with minus infinity for some candidates."""
        kept = ~np.isin(self.candidates, list(candidates))
        return ListedVector(self.candidates[kept], self.values[kept], self._size)


class Block:
    """Candidates start … start + size of the table: what never changes of them, and their part of the kernel cache."""

    def __init__(self, start: int, prior_mean: float, prior_variance: Array, cache: Cache) -> None:
        self.start, self._prior_mean, self.prior_variance, self.cache = start, prior_mean, prior_variance, cache
        self.size: int = prior_variance.shape[0]

    _xp = property(lambda self: namespace_of(self.prior_variance))

    def fresh_mean(self, factor: Factor) -> Array:
        return self._prior_mean + self.cache.spread(factor.alpha)

    def fresh_variance(self, factor: Factor) -> Array:
        fresh = self._xp.zeros_like(self.prior_variance)
        for start in range(0, self.size, SWEEP):
            part = slice(start, min(start + SWEEP, self.size))
            fresh[part] = factor.variance_of_many(self.cache.columns(part), self.prior_variance[part])
        return fresh

    def fresh(self, factor: Factor, part: slice) -> tuple[Array, Array]:
        """Mean and variance of some candidates."""
        k_x = self.cache.columns(part)
        return self._prior_mean + factor.mean(k_x), factor.variance(k_x, self.prior_variance[part])

    def features_with(self, more: Matrix) -> Array:
        """The features of its candidates, and of more."""
        return self._xp.concat([cast("CachedRows", self.cache).features, from_numpy(self._xp, more)])


class Blocks:
    """All candidates: their covariances with the unique ones, and the mean and variance of each."""

    def __init__(self, parts: Iterable[Block], means: list[Array], variances: list[Array], room: RowMemory) -> None:
        self._parts, self.room = list(parts), room
        self.starts = tuple(block.start for block in self._parts)
        self.prior_variances = BlockedVector([block.prior_variance for block in self._parts], self.starts)  # k(x, x)
        self.means = BlockedVector(means, self.starts)
        self.variances = BlockedVector(variances, self.starts)
        self.rounding = 0.0  # how far below zero a variance came since this was last set

    @classmethod
    def of(
        cls,
        xp: Namespace,
        kernel: Kernel,
        features: Matrix,
        mean: float,
        size: int | None,
        *,
        grid: Grid | None = None,
        memory: int | None = None,
        room: RowMemory | None = None,
    ) -> "Blocks":
        """Blocks of `size` candidates; one for a grid, which needs no large cache.

        memory: bytes that their covariances may take. room: memory for them, where there is some.
        """
        room = room or RowMemory()
        if grid is not None:
            parts = [Block(0, mean, kernel.diag(from_numpy(xp, features)), GridRows(xp, grid))]
        else:
            edges = [(start, from_numpy(xp, features[start:stop])) for start, stop in _edges(len(features), size)]
            most = None if memory is None else memory // (8 * max(1, len(features)))
            made = partial(CachedRows, room=room) if most is None else partial(LimitedRows, most=most, room=room)
            parts = [Block(start, mean, kernel.diag(part), made(kernel, part)) for start, part in edges]
        means = [xp.full(block.size, mean, dtype=xp.float64) for block in parts]
        return cls(parts, means, [_copy(block.prior_variance) for block in parts], room)

    def extended(self, kernel: Kernel, X: Array, more: Matrix, factor: Factor, prior_mean: float) -> "Blocks":
        """With more candidates, after all others: in a small block at the end, which grows. X: the unique ones."""
        *others, last = self._parts
        grows = last.size + len(more) <= TAIL
        kept = last.size if grows else 0
        features = last.features_with(more) if grows else from_numpy(self.xp, more)
        tail = Block(last.start + last.size - kept, prior_mean, kernel.diag(features), CachedRows(kernel, features))
        tail.cache.add(X)
        mean, variance = tail.fresh(factor, slice(kept, tail.size))
        known = len(others) if grows else len(self._parts)
        means, variances = self.means.parts[:known], self.variances.parts[:known]
        if grows:
            mean = self.xp.concat([self.means.parts[-1], mean])
            variance = self.xp.concat([self.variances.parts[-1], variance])
        wider = Blocks([*self._parts[:known], tail], [*means, mean], variances, self.room)
        wider.rounding = self.rounding
        wider.variances.parts.append(wider.not_negative(variance))
        return wider

    def fork(self) -> "Blocks":
        """The same covariances, with means and variances that go their own way."""
        means, variances = ([_copy(part) for part in each] for each in (self.means, self.variances))
        return Blocks(self._parts, means, variances, self.room)

    def __iter__(self) -> Iterator[Block]:
        return iter(self._parts)

    @property
    def xp(self) -> Namespace:
        return namespace_of(self.means.parts[0])

    def add(self, X: Array) -> None:
        """Cache the covariances with more unique candidates."""
        for block in self._parts:
            block.cache.add(X)

    def condition(self, p: Array, z: float, candidate: int, left: float) -> None:
        """mean += z c, variance −= c², for c = p · k(X, A); what is left of one candidate's variance is known."""
        variances: list[Array] = []
        for block, mean, before in zip(self._parts, self.means.parts, self.variances.parts, strict=True):
            c = block.cache.spread(p)
            mean += z * c
            variance, place = self.not_negative(before - c * c), candidate - block.start
            if 0 <= place < block.size:
                variance[place] = left
            variances.append(variance)
        self.variances = BlockedVector(variances, self.starts)

    def not_negative(self, variance: Array) -> Array:
        """Variances fall below zero by rounding only; how far is noted, for the posterior to judge."""
        xp = namespace_of(variance)
        below = float(xp.min(variance))
        if below < 0:
            self.rounding = max(self.rounding, -below)
            variance = xp.where(variance > 0, variance, xp.zeros_like(variance))
        return variance

    def spread(self, P: Array) -> BlockedVector:
        """P · k(X, A): from coefficients on the unique candidates to numbers for all; for several P, one a row."""
        return BlockedVector([block.cache.spread(P) for block in self._parts], self.starts)

    def column(self, candidate: int) -> tuple[Array, float]:
        """k(X, x) and k(x, x) of one candidate x."""
        block = self._parts[bisect_right(self.starts, candidate) - 1]
        place = candidate - block.start
        return block.cache.columns(np.array([place]))[:, 0], float(block.prior_variance[place])

    def columns(self, candidates: Indices) -> Matrix:
        """k(X, x) for some candidates x."""
        if len(self._parts) == 1:
            return to_numpy(self._parts[0].cache.columns(candidates))
        number = np.searchsorted(self.starts, candidates, side="right") - 1
        places = {int(i): np.flatnonzero(number == i) for i in np.unique(number)}
        parts = [
            to_numpy(self._parts[i].cache.columns(candidates[here] - self.starts[i])) for i, here in places.items()
        ]
        columns = np.empty((parts[0].shape[0], len(candidates)))
        for here, part in zip(places.values(), parts, strict=True):
            columns[:, here] = part
        return columns

    def fresh_means(self, factor: Factor) -> BlockedVector:
        return BlockedVector([block.fresh_mean(factor) for block in self._parts], self.starts)

    def fresh_variances(self, factor: Factor) -> BlockedVector:
        return BlockedVector([self.not_negative(block.fresh_variance(factor)) for block in self._parts], self.starts)


def _copy(part: Array) -> Array:
    return namespace_of(part).asarray(part, copy=True)


def _edges(size: int, block_size: int | None) -> list[tuple[int, int]]:
    """Where equal blocks of at most about `block_size` candidates begin and end."""
    edges = np.linspace(0, size, ceil(size / (block_size or BLOCK_SIZE)) + 1).astype(int).tolist()
    return list(pairwise(edges))


def prior_variance_of(kernel: Kernel, features: Matrix, xp: Namespace) -> float:
    """κ², the largest k(x, x)."""
    variances = kernel.diag(from_numpy(xp, features))
    lowest, highest = float(xp.min(variances)), float(xp.max(variances))
    if not lowest >= 0 or not isfinite(highest):
        raise InvalidKernel("The kernel gives a candidate a variance k(x, x) that is negative or not finite.")
    return highest
