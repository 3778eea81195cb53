# pyright: basic, reportMissingImports=false
"""Candidates on a full grid, on a card: covariances as products of matrices, and not even features are stored.

A row k(x, A) is an outer product a ⊗ b of two short vectors (`cache.GridRows`), so that p · k(X, A) is one product of
matrices, (p a)ᵀ b, made for some rows of the grid at a time. A candidate takes 8 bytes, for its mean and variance, and
16 in double precision.
"""

from collections.abc import Iterator
from functools import reduce
from math import prod
from typing import Any

import numpy as np
import torch

from ostinato.arrays import Matrix
from ostinato.posterior.cache import best_split, outer
from ostinato.posterior.card_covariances import TileExtremes, full_precision
from ostinato.posterior.grid import Grid

AT_ONCE = 2**26  # points whose covariances are made at a time

Tensor = torch.Tensor


class GridFeatures:
    """The values along each axis: the features of any point follow from its number."""

    def __init__(self, grid: Grid, source: Any, device: str, dtype: torch.dtype) -> None:
        self._source, self._shape = source, grid.shape
        self._axes = [torch.from_numpy(np.ascontiguousarray(axis)).to(device) for axis in grid.axes]
        self.like = torch.empty(0, dtype=dtype, device=device)
        self.middle = np.array([(axis[0] + axis[-1]) / 2 for axis in grid.axes])
        self.size = prod(grid.shape)

    def holds(self, features: Any) -> bool:
        """Whether features of all candidates are here: they are not, one by one."""
        return False

    def exact(self, places: Tensor) -> Tensor:
        """The rows of some candidates in double precision."""
        columns = list[Tensor]()
        for axis in reversed(self._axes):
            columns.append(axis[places % len(axis)])
            places = places // len(axis)
        return torch.stack(columns[::-1], dim=1)


class GridCovariances:
    """k(X, A)/κ² for a grid A, as a ⊗ b for each unique candidate."""

    strip = 1  # products of matrices sum in an order of their own: no more is known of their error

    def __init__(self, grid: Grid, like: Tensor, kappa2: float) -> None:
        self._grid, self._like = grid, like
        self._share, self._offset = 1 / kappa2, grid.constant / kappa2
        self._split = best_split(grid.shape)
        left, right = prod(grid.shape[: self._split]), prod(grid.shape[self._split :])
        self._a, self._b = (torch.zeros((0, count), dtype=like.dtype, device=like.device) for count in (left, right))
        self.accuracy = 4 * torch.finfo(like.dtype).eps
        self.prior = torch.ones(1, dtype=like.dtype, device=like.device)

    def add(self, X: Matrix) -> None:
        """In double precision on the processor: these are short."""
        if not len(X):
            return
        grid = self._grid
        each = zip(grid.factors, grid.axes, strict=True)
        along = [k(X[:, j : j + 1], axis[:, None]) for j, (k, axis) in enumerate(each)]
        a, b = reduce(outer, along[: self._split]) * self._share, reduce(outer, along[self._split :])
        self._a, self._b = (torch.cat([old, self._sent(new)]) for old, new in ((self._a, a), (self._b, b)))

    def _sent(self, numbers: Matrix) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self._like)

    def condition(self, P: Tensor, z: Tensor, mean: Tensor, variance: Tensor) -> TileExtremes:
        for rows, part in self._parts():
            for p, each in zip(P, z, strict=True):
                c = self._product(p, rows)
                mean[part].addcmul_(c, each)
                variance[part].addcmul_(c, c, value=-1)
        return TileExtremes.of(mean, variance)

    def spread(self, p: Tensor, mean: Tensor, variance: Tensor) -> TileExtremes:
        for rows, part in self._parts():
            mean[part] = self._product(p, rows)
        return TileExtremes.of(mean, variance)

    def columns(self, part: slice) -> Tensor:
        place = torch.arange(part.start, part.stop, device=self._like.device)
        right = self._b.shape[1]
        return self._a[:, place // right] * self._b[:, place % right] + self._offset

    def _product(self, p: Tensor, rows: slice) -> Tensor:
        """p · k(X, A) for some rows of the grid, which are some of a's columns and all of b's."""
        a, b = self._a[: len(p), rows] * p[:, None], self._b[: len(p)]
        with full_precision():
            found = (a.T @ b).view(-1)
        return found.add_(self._offset * p.sum()) if self._offset else found

    def _parts(self) -> Iterator[tuple[slice, slice]]:
        """Rows of the grid, some at a time, and where their candidates are."""
        left, right = self._a.shape[1], self._b.shape[1]
        step = max(1, AT_ONCE // right)
        for start in range(0, left, step):
            stop = min(start + step, left)
            yield slice(start, stop), slice(start * right, stop * right)
