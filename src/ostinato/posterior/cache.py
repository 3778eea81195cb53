"""The covariances k(X, A) of the unique candidates with those of a block: q rows, of which an epoch needs p · k(X, A).

`CachedRows` holds them all, and that product streams them from memory once. `GridRows` serves grids: its rows are outer
products of two short vectors, a_i ⊗ b_i, so that Σ p_i a_i ⊗ b_i is one small matrix product. It holds q·(L + R)
numbers instead of q·L·R, and computes where `CachedRows` waits for memory.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from math import inf, prod
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Array, Matrix, Namespace, Vector, from_numpy, grown, namespace_of
from ostinato.kernels import Kernel
from ostinato.posterior.grid import Grid, find_grid

Indices: TypeAlias = NDArray[np.int64]
FIRST_ROWS = 16  # for which there is room at first; afterwards for half as many again
FIRST_COVARIANCES = (
    3 * 2**20
)  # covariances for which there is room at first, if these are more rows: few chunks are sooner read
TILE = 32_768  # covariances computed at a time: what is made on the way to them then stays in the processor's cache


class Cache(Protocol):
    """Covariances of unique candidates (rows, ever more of them) with a block's candidates (columns)."""

    def add(self, X: Array) -> None:
        """Append rows for the candidates with features X."""
        ...

    def spread(self, p: Array) -> Array:
        """p · k(X, A) for coefficients p on the first rows; or for several such p, one a row."""
        ...

    def columns(self, part: slice | Indices) -> Array:
        """Some columns, all rows."""
        ...


class RowMemory:
    """Memory for cached rows, which can be passed on to another cache.

    Memory that was written before is sooner written again than fresh memory, whose pages the system clears first.
    """

    def __init__(self, buffers: Sequence[Vector] = ()) -> None:
        self._buffers, self._used = list(buffers), [0] * len(buffers)
        self._larger = 2 if buffers else 1  # times what is wanted, where there was too little
        self.gone = False  # whether another one uses the memory now

    def take(self, rows: int, size: int) -> Matrix:
        """Memory for some rows, whatever is in it."""
        count = rows * size
        for number, buffer in enumerate(self._buffers):
            start = self._used[number]
            if len(buffer) - start >= count:
                self._used[number] += count
                return buffer[start : start + count].reshape(rows, size)
        kept = [number for number, used in enumerate(self._used) if used]  # the others are too small
        self._buffers = [*(self._buffers[number] for number in kept), np.empty(self._larger * count)]
        self._used = [*(self._used[number] for number in kept), count]
        return self._buffers[-1][:count].reshape(rows, size)

    def passed_on(self) -> "RowMemory":
        """The same memory for another cache. Rows that are in it are computed again elsewhere when they are needed."""
        buffers, self._buffers, self._used, self.gone = self._buffers, [], [], True
        return RowMemory(buffers)

    def __reduce__(self) -> tuple[type["RowMemory"], tuple[()]]:
        """For pickle and copy: an empty one."""
        return RowMemory, ()


class CachedRows:
    """All rows, in chunks, so that they grow without being copied; each chunk has room for more than there are."""

    _most: float = inf  # rows that are kept

    def __init__(self, kernel: Kernel, features: Array, room: RowMemory | None = None) -> None:
        self._kernel, self.features = kernel, features
        self._room = room or RowMemory()
        self._chunks: list[Array] = []
        self._X: list[Array] = []  # the features of the unique candidates
        self._filled = 0

    _xp = property(lambda self: namespace_of(self.features))

    def add(self, X: Array) -> None:
        self._come_back()
        self._make_room(X.shape[0])
        self._X.append(X)
        for part in _tiles(X, self.features.shape[0]):
            self._append(self._kernel(part, self.features))

    def _come_back(self) -> None:
        """The same rows in other memory, where another cache uses theirs."""
        if self._room.gone:
            other = CachedRows(self._kernel, self.features)
            other._chunks = [other._empty(chunk.shape[0]) for chunk in self._chunks]
            for X in self._X:
                other.add(X)
            self._chunks, self._room = other._chunks, other._room

    def _make_room(self, count: int) -> None:
        there = sum(chunk.shape[0] for chunk in self._chunks)
        short = self._filled + count - there
        if short > 0:
            least = max(FIRST_COVARIANCES // max(self.features.shape[0], 1), FIRST_ROWS)
            wanted = min(max(self._filled // 2, least), self._most - there)
            self._chunks.append(self._empty(int(max(short, wanted))))

    def _empty(self, rows: int) -> Array:
        size = self.features.shape[0]
        if self._xp is np:
            return self._room.take(rows, size)
        return self._xp.empty((rows, size), dtype=self._xp.float64)

    def _append(self, new: Array) -> None:
        """Into the room that there is."""
        start, stop = self._filled, self._filled + new.shape[0]
        for first, chunk in self._numbered():
            low, high = max(start, first), min(stop, first + chunk.shape[0])
            if low < high:
                chunk[low - first : high - first, :] = new[low - start : high - start, :]
        self._filled = stop

    def __getstate__(self) -> tuple[Kernel, Array, Array]:
        """For pickle and copy: the rows that are filled, not the room for more."""
        return self._kernel, self.features, self.columns(slice(None))

    def __setstate__(self, state: tuple[Kernel, Array, Array]) -> None:
        kernel, features, rows = state
        self.__init__(kernel, features)
        self._make_room(rows.shape[0])
        self._append(rows)

    def spread(self, p: Array) -> Array:
        xp = self._xp
        parts = [xp.matmul(p[..., start : start + rows.shape[0]], rows) for start, rows in self._rows(p.shape[-1])]
        return sum(parts[1:], parts[0]) if parts else xp.zeros((*p.shape[:-1], self.features.shape[0]), dtype=p.dtype)

    def columns(self, part: slice | Indices) -> Array:
        chunks = [taken(rows, part, axis=1) for _, rows in self._rows(self._filled)]
        if not chunks:
            return self._xp.zeros((0, taken(self.features, part, axis=0).shape[0]), dtype=self._xp.float64)
        return chunks[0] if len(chunks) == 1 else self._xp.concat(chunks)

    def some(self, numbers: Indices, part: slice) -> Array:
        """Some rows (in increasing order), some columns; copied once."""
        chunks: list[Array] = []
        for start, rows in self._rows(self._filled):
            here = numbers[(numbers >= start) & (numbers < start + rows.shape[0])] - start
            chunks.append(rows[here, part] if self._xp is np else taken(rows[:, part], here, axis=0))
        return chunks[0] if len(chunks) == 1 else self._xp.concat(chunks)

    def _rows(self, count: int) -> Iterator[tuple[int, Array]]:
        """The first rows, chunk by chunk, each with the number of its first."""
        self._come_back()
        for start, chunk in self._numbered():
            if start < count:
                yield start, chunk[: min(chunk.shape[0], count - start), :]

    def _numbered(self) -> Iterator[tuple[int, Array]]:
        """Each chunk, with the number of its first row."""
        start = 0
        for chunk in self._chunks:
            yield start, chunk
            start += chunk.shape[0]


def _tiles(X: Array, size: int) -> Iterator[Array]:
    """Rows of X, as many at a time as make a tile with `size` candidates; all at once in memory that is not ours."""
    count = X.shape[0]
    step = max(1, TILE // max(size, 1)) if namespace_of(X) is np else max(1, count)
    return (X[start : min(start + step, count), :] for start in range(0, count, step))


def paying_grid(kernel: Kernel, features: Matrix) -> Grid | None:
    """The grid that candidates form, where `GridRows` is better than `CachedRows`."""
    grid = find_grid(kernel, features)
    return grid if grid is not None and GridRows.pays(grid) else None


class GridRows:
    """Rows a_i ⊗ b_i + c² of a grid: a_i over its leading axes, b_i over the others."""

    @staticmethod
    def pays(grid: Grid) -> bool:
        """Whether the two vectors are much shorter than the row they make."""
        return len(grid.shape) > 1 and 4 * sum(_parts(grid.shape)) <= grid.lattice.size

    def __init__(self, xp: Namespace, grid: Grid) -> None:
        self._axes = [from_numpy(xp, axis[:, None]) for axis in grid.axes]
        self._kernels = grid.factors
        self._split = best_split(grid.shape)
        self._a, self._b = (xp.zeros((16, length), dtype=xp.float64) for length in _parts(grid.shape))
        self._filled = 0
        self._place, self._places = xp.asarray(grid.place), grid.place  # where the standard takes, and NumPy looks up
        self._in_order, self._constant = grid.lattice.in_order, grid.constant

    _xp = property(lambda self: namespace_of(self._a))

    def add(self, X: Array) -> None:
        count = self._filled + X.shape[0]
        if count > self._a.shape[0]:
            self._a, self._b = (grown(each, (count, each.shape[1])) for each in (self._a, self._b))
        along = [k(X[:, j : j + 1], axis) for j, (k, axis) in enumerate(zip(self._kernels, self._axes, strict=True))]
        self._a[self._filled : count, :] = reduce(outer, along[: self._split])
        self._b[self._filled : count, :] = reduce(outer, along[self._split :])
        self._filled = count

    def spread(self, p: Array) -> Array:
        if p.ndim == 2:
            return self._xp.stack([self.spread(p[i, :]) for i in range(p.shape[0])])
        xp, q = self._xp, p.shape[0]
        a, b = self._a[:q, :], self._b[:q, :]
        if a.shape[1] <= b.shape[1]:
            a = a * p[:, None]
        else:
            b = b * p[:, None]
        product = xp.reshape(xp.matmul(xp.matrix_transpose(a), b), (-1,))
        product = product if self._in_order else xp.take(product, self._place)
        return product + self._constant * xp.sum(p) if self._constant else product

    def columns(self, part: slice | Indices) -> Array:
        xp, (i, j) = self._xp, divmod(self._places[part], self._b.shape[1])
        a, b = self._a[: self._filled, :], self._b[: self._filled, :]
        return xp.take(a, xp.asarray(i), axis=1) * xp.take(b, xp.asarray(j), axis=1) + self._constant


def taken(array: Array, part: slice | Indices, axis: int) -> Array:
    """Some rows or columns."""
    if isinstance(part, slice):
        return array[(*(slice(None),) * axis, part, ...)]
    xp = namespace_of(array)
    return xp.take(array, xp.asarray(part), axis=axis)


def outer(a: Array, b: Array) -> Array:
    """Row by row, all products of a's entries with b's; b's index runs fastest."""
    return namespace_of(a).reshape(a[:, :, None] * b[:, None, :], (a.shape[0], -1))


def best_split(shape: tuple[int, ...]) -> int:
    """Where to cut the axes in two so that both parts are short."""
    return min(range(1, len(shape)), key=lambda cut: prod(shape[:cut]) + prod(shape[cut:]))


def _parts(shape: tuple[int, ...]) -> tuple[int, int]:
    """L and R, the lengths of the two parts."""
    cut = best_split(shape)
    return prod(shape[:cut]), prod(shape[cut:])
