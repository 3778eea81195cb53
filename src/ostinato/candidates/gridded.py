"""All points of a large space as a table, of which nothing is stored but the values of each parameter.

A space of more points than can be listed is sampled. On a GPU, which needs no features of a grid, all of its points can
be looked at: `Optimizer(space, device="cuda")`.
"""

from math import prod
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.candidates.columns import Codec, Numbers, on_log_scale
from ostinato.candidates.lattice import Lattice
from ostinato.candidates.space import Space
from ostinato.candidates.table import ROUNDING, TINY, Candidates
from ostinato.errors import InvalidSetting, UnknownCandidate

MOST = 10**10  # points
LONGEST = 2_000  # values of one parameter, as learned kernels of grids allow (`learning/scales.py`)
AT_ONCE = 10_000_000  # points whose features are made at once


class FullLattice(Lattice):
    """A grid of which all points are candidates, in its order."""

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def in_order(self) -> bool:
        return True


class GridPoints:
    """The features of all points, of which a few are looked at."""

    ndim = 2

    def __init__(self, axes: tuple[Vector, ...]) -> None:
        self.lattice = FullLattice(axes, np.zeros(0, dtype=np.int64))

    def __len__(self) -> int:
        return self.lattice.size

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), len(self.lattice.axes)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, tuple):
            rows, column = cast("tuple[Any, Any]", which)
            return self[rows][..., column]
        numbers = np.arange(*which.indices(len(self))) if isinstance(which, slice) else np.asarray(which)
        if numbers.size > AT_ONCE:
            raise InvalidSetting(
                f"{numbers.size:,} points of a grid of {len(self):,} were asked for at once, above {AT_ONCE:,}: they "
                "are not stored. Ask for fewer, predict(points) for instance."
            )
        digits = np.unravel_index(numbers.astype(np.int64), self.lattice.shape)
        return np.stack([axis[digit] for axis, digit in zip(self.lattice.axes, digits, strict=True)], axis=-1)


class GridTable(Candidates):
    """Every point of a space without constraints; the last parameter varies fastest."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._values = [parameter.values for parameter in space.parameters.values()]
        codecs = [parameter.codec(name) for name, parameter in space.parameters.items()]
        axes = [codec.encode(values) for codec, values in zip(codecs, self._values, strict=True)]
        self._row, self._named = self._row_at, True
        self.rows = prod(len(values) for values in self._values)
        self.parts = (self.rows,)
        self._see(codecs, axes)

    def _see(self, codecs: list[Codec], axes: list[Vector]) -> None:
        self._codecs = codecs
        self._points = GridPoints(tuple(axes))
        self.features = cast("Any", self._points)
        self._logs: Candidates | None = None

    def __len__(self) -> int:
        return self.rows

    def _row_at(self, index: int) -> dict[str, Any]:
        digits = np.unravel_index(self.number_of(index), [len(values) for values in self._values])
        each = zip(self.space.parameters, self._values, digits, strict=True)
        return {name: values[int(digit)] for name, values, digit in each}

    @property
    def _axes(self) -> tuple[Vector, ...]:
        return self._points.lattice.axes

    def _on_logs(self) -> Candidates:
        pairs = list(zip(self._codecs, self._axes, strict=True))
        scales = [on_log_scale(c.column.name, axis) if isinstance(c, Numbers) else None for c, axis in pairs]
        if not any(scales):
            return self
        other = GridTable(self.space)
        axes = [axis if logs is None else logs.encode(axis) for logs, (_, axis) in zip(scales, pairs, strict=True)]
        other._see([logs or codec for logs, (codec, _) in zip(scales, pairs, strict=True)], axes)
        other._logs = other
        return other

    @property
    def grown(self) -> list[int]:
        return [self.rows]

    @property
    def span(self) -> tuple[Vector, Vector]:
        return np.array([np.min(axis) for axis in self._axes]), np.array([np.max(axis) for axis in self._axes])

    @property
    def numbers(self) -> NDArray[np.intp]:
        raise InvalidSetting(
            f"This looks at all {self.rows:,} points of a grid at once, which are not stored: ask for the best few, or "
            "predict(points)."
        )

    @property
    def indices(self) -> NDArray[np.intp]:
        return self.numbers

    def index_of(self, number: int) -> int:
        return int(number)

    def number_of(self, index: Any) -> int:
        if not 0 <= int(index) < self.rows:
            raise UnknownCandidate(f"Index {int(index)} is not in the space: its points are 0 to {self.rows - 1:,}.")
        return int(index)

    def _lookup(self, row: Vector) -> int | None:
        number, gap = self._nearest(row)
        return number if gap <= ROUNDING else None

    def _nearest(self, row: Vector) -> tuple[int, float]:
        digits = [int(np.argmin(np.abs(axis - value))) for axis, value in zip(self._axes, row, strict=True)]
        number = int(np.ravel_multi_index(digits, [len(axis) for axis in self._axes]))
        largest = np.array([max(float(np.max(np.abs(axis))), TINY) for axis in self._axes])
        near: Matrix = self.features[np.array([number])]
        return number, float(np.max(np.abs(near[0] - row) / largest))


def grid_of(source: Any) -> GridTable | None:
    """A space as a table of all its points, where these are too many to be listed and a card can look at them all."""
    if not isinstance(source, Space) or source.enumerable or source.constraints or source.depends:
        return None
    sizes = [parameter.size for parameter in source.parameters.values()]
    several = sum(size > 1 for size in sizes) > 1
    return GridTable(source) if several and source.size <= MOST and max(sizes) <= LONGEST else None
