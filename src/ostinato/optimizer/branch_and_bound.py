"""The maximum of a function over boxes, with a proof of how near it is: branch and bound, best box first.

Every box has an upper bound. The boxes of the highest bounds are halved, and the halves bounded anew; what cannot hold
more than the best point found is dropped. Whenever it ends, the maximum lies between the best value found and the
highest bound of the boxes that are left, so that the gap between both is proved also where the limit ended it.

A column of few values (`levels`) is halved between two of them, until one is left.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.kernels.boxes import Boxes

AT_ONCE = 256  # boxes that are halved at a time: at least so many, and an eighth of those that are left
TRIED = 8  # points of each kind that are tried at a time
THIN = 1e-12  # of a column's range: a box that is not wider is not halved


class Bounds(NamedTuple):
    """Of boxes: an upper bound, the value at the centre, and a point where it may be higher."""

    upper: Vector
    centre: Vector
    promising: Matrix


class BestBox(NamedTuple):
    """The best point, its value, an upper bound on all others, and how many boxes were looked at."""

    point: Vector
    value: float
    upper: float
    boxes: int


class Task(NamedTuple):
    """bounds: of boxes. tried: the nearest points that there are, their values, −∞ where one is not allowed.
    shares: how much each column of each box matters; the one that matters most is halved. levels: the values of a
    column, where there are few; else None.
    """

    bounds: Callable[[Boxes], Bounds]
    tried: Callable[[Matrix], tuple[Matrix, Vector]]
    shares: Callable[[Matrix], Matrix]
    levels: Sequence[Vector | None]


def maximise(task: Task, boxes: Boxes, start: Vector, tolerance: float, most: int) -> BestBox:
    """From a point that is allowed, until the gap is within the tolerance or so many boxes were looked at."""
    search = _Search(task, boxes, start)
    while search.left and search.upper - search.value > tolerance and search.looked_at + 2 <= most:
        search.halve(most - search.looked_at)
    return BestBox(search.point, search.value, search.upper, search.looked_at)


class _Search:
    """The boxes that are left, and the best point so far."""

    def __init__(self, task: Task, boxes: Boxes, start: Vector) -> None:
        self._task, self._thin = task, THIN * np.max(boxes.high - boxes.low, axis=0)
        points, values = task.tried(start[None, :])
        self.point, self.value, self.looked_at = points[0], float(values[0]), 0
        self._settled = -np.inf  # the highest bound of boxes that are too thin to be halved
        self._boxes, self._bounds = Boxes(boxes.low[:0], boxes.high[:0]), np.zeros(0)
        self._add(boxes, np.full(len(boxes.low), np.inf))

    @property
    def left(self) -> int:
        return len(self._bounds)

    @property
    def upper(self) -> float:
        return max(self.value, self._settled, float(np.max(self._bounds, initial=-np.inf)))

    def halve(self, most: int) -> None:
        """The most promising boxes, into at most so many."""
        count = min(max(AT_ONCE, self.left // 8), self.left, most // 2)
        first = np.argpartition(-self._bounds, count - 1)
        chosen, rest = first[:count], first[count:]
        parents, bounds = Boxes(*(side[chosen] for side in self._boxes)), self._bounds[chosen]
        self._keep(Boxes(*(side[rest] for side in self._boxes)), self._bounds[rest])
        one, two = self._halves(parents)
        self._add(Boxes(*(np.concatenate(sides) for sides in zip(one, two, strict=True))), np.tile(bounds, 2))

    def _halves(self, boxes: Boxes) -> tuple[Boxes, Boxes]:
        """Each in two, along the column that matters most."""
        shares = np.where(self._wide(boxes), self._task.shares(boxes.half), -1.0)
        column, rows = np.argmax(shares, axis=1), np.arange(len(shares))
        end, begin = boxes.centre[rows, column].copy(), boxes.centre[rows, column].copy()
        for j, levels in enumerate(self._task.levels):
            if levels is not None:
                here = column == j
                place = np.searchsorted(levels, end[here], side="right")
                end[here], begin[here] = levels[place - 1], levels[np.minimum(place, len(levels) - 1)]
        high, low = boxes.high.copy(), boxes.low.copy()
        high[rows, column], low[rows, column] = end, begin
        return Boxes(boxes.low, high), Boxes(low, boxes.high)

    def _wide(self, boxes: Boxes) -> NDArray[np.bool_]:
        """Which columns of which boxes can be halved."""
        return boxes.high - boxes.low > self._thin

    def _add(self, boxes: Boxes, parents: Vector) -> None:
        """Boxes whose parents have these bounds."""
        self.looked_at += len(parents)
        upper, centre, promising = self._task.bounds(boxes)
        upper = np.minimum(upper, parents)
        wide = self._wide(boxes).any(axis=1)
        self._try(boxes.centre[_highest(centre)])
        self._try(promising[_highest(upper)])
        self._settle(boxes.centre[~wide], upper[~wide])
        self._keep(
            Boxes(*(np.concatenate([old, new[wide]]) for old, new in zip(self._boxes, boxes, strict=True))),
            np.concatenate([self._bounds, upper[wide]]),
        )

    def _settle(self, points: Matrix, upper: Vector) -> None:
        """Boxes that are as good as points: those that are not allowed do not count."""
        if len(points):
            values = self._try(points)
            self._settled = max(self._settled, float(np.max(upper[values > -np.inf], initial=-np.inf)))

    def _try(self, points: Matrix) -> Vector:
        """Whether one of some points is the best so far."""
        points, values = self._task.tried(points)
        best = int(np.argmax(values))
        if values[best] > self.value:
            self.point, self.value = points[best].copy(), float(values[best])
        return values

    def _keep(self, boxes: Boxes, bounds: Vector) -> None:
        """Those that may hold more than the best point."""
        may = bounds > self.value
        self._boxes, self._bounds = Boxes(boxes.low[may], boxes.high[may]), bounds[may]


def _highest(values: Vector) -> NDArray[np.intp]:
    """The places of the highest few."""
    return np.argsort(-values)[:TRIED]
