"""A kernel cache that keeps as many rows as fit into memory, and computes the others whenever they are needed.

The numbers are the same; a product with rows that are not kept takes the time of computing them.
"""

from collections.abc import Iterator
from typing import Any

from ostinato.arrays import Array
from ostinato.kernels import Kernel
from ostinato.posterior.cache import CachedRows, Indices, RowMemory, taken

AT_ONCE = 64  # rows that are computed at a time


class LimitedRows(CachedRows):
    """The first `most` rows are kept."""

    def __init__(self, kernel: Kernel, features: Array, most: float, room: RowMemory | None = None) -> None:
        super().__init__(kernel, features, room)
        self._most = most
        self._others: Array = features[:0, :]  # the features of candidates whose rows are not kept

    def add(self, X: Array) -> None:
        fitting = max(0, min(X.shape[0], self._most - self._filled))
        super().add(X[:fitting, :])
        if fitting < X.shape[0]:
            self._others = self._xp.concat([self._others, X[fitting:, :]])

    def columns(self, part: slice | Indices) -> Array:
        kept = super().columns(part)
        if not self._others.shape[0]:
            return kept
        return self._xp.concat([kept, self._kernel(self._others, taken(self.features, part, axis=0))])

    def some(self, numbers: Indices, part: slice) -> Array:
        kept = super().some(numbers[numbers < self._filled], part) if self._filled else None
        later = numbers[numbers >= self._filled] - self._filled
        others = self._kernel(taken(self._others, later, axis=0), self.features[part, :])
        return others if kept is None else self._xp.concat([kept, others])

    def _rows(self, count: int) -> Iterator[tuple[int, Array]]:
        yield from super()._rows(min(count, self._filled))
        stop = count - self._filled
        for start in range(0, max(0, stop), AT_ONCE):
            part = self._others[start : min(start + AT_ONCE, stop), :]
            yield self._filled + start, self._kernel(part, self.features)

    def __getstate__(self) -> tuple[Any, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._kernel, self.features, super().columns(slice(None)), self._others, self._most

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        kernel, features, rows, others, most = state
        self.__init__(kernel, features, most)
        self._make_room(rows.shape[0])
        self._append(rows)
        self._others = others
