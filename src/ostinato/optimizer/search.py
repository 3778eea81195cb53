"""The maximum of a score over a space that cannot be listed: looked for around the best of the points that there are.

Each of a few starts climbs: a gradient by differences and points scattered around say where to, a line along it how
far; other levels of one category at a time are tried too. Where nothing is gained, the next step is smaller.
"""

from collections.abc import Callable, Collection

import numpy as np

from ostinato.arrays import Matrix, Vector
from ostinato.candidates import Sampled

STARTS = 4
STEPS = 5
SCATTERED = 12  # points around a start, at every step
FIRST_STEP, STEP_FACTOR = 0.1, 0.35  # of a column's range: the first step; and by how much the next is smaller
DIFFERENCE = 0.02  # of a step, for the gradient
ROUNDING = 1e-9  # of a score: one that is higher by less is no gain; the same point may score so much more
ALONG = (0.25, 0.5, 1.0, 2.0)  # steps along the gradient


def search(table: Sampled, scores: Callable[[Matrix], Vector], out: Collection[int] = ()) -> tuple[Vector, int] | None:
    """A point that scores as well as the best of the table, or better; and how many were looked at.

    scores: of all points of the table, and of more. out: points that are out of the question. None where no start is
    left.
    """
    known = scores(table.features[:0])
    known[list(out)] = -np.inf
    climbers = [Climber(table, place, float(known[place])) for place in _apart(table, known)]
    rng, looked_at = np.random.default_rng(len(table)), len(table)
    if not climbers:
        return None
    for _ in range(STEPS):
        looked_at += _judge(climbers, [climber.around(rng) for climber in climbers], table, scores)
        looked_at += _judge(climbers, [climber.along() for climber in climbers], table, scores)
        for climber in climbers:
            climber.settle()
    return max(climbers, key=lambda climber: climber.value).point, looked_at


def _apart(table: Sampled, known: Vector) -> list[int]:
    """The best of all, and others that are not near it."""
    low, high = table.span
    width = np.where(high > low, high - low, 1.0)
    chosen: list[int] = []
    for place in np.lexsort((table.priority, -known))[: 16 * STARTS].tolist():
        gaps = [np.max(np.abs(table.features[place] - table.features[other]) / width) for other in chosen]
        if np.isfinite(known[place]) and (not gaps or min(gaps) > FIRST_STEP):
            chosen.append(place)
        if len(chosen) == STARTS:
            break
    return chosen


def _judge(climbers: "list[Climber]", points: list[Matrix], table: Sampled, scores: Callable[[Matrix], Vector]) -> int:
    """What each climber tries; returns how many points that was."""
    snapped, allowed = table.trials(np.concatenate(points))
    values = np.where(allowed, scores(snapped)[len(table) :], -np.inf)
    ends = np.cumsum([len(each) for each in points])[:-1]
    for climber, own, each in zip(climbers, np.split(snapped, ends), np.split(values, ends), strict=True):
        climber.take_scores(own, each)
    return len(values)


class Climber:
    """A point on its way up, its score, and how far it steps."""

    def __init__(self, table: Sampled, start: int, value: float) -> None:
        self.point, self.value = table.features[start].copy(), value
        self._low, self._high = table.span
        kinds = [column.kind for column in table.columns]
        self._levels = [j for j, kind in enumerate(kinds) if kind == "category"]
        self._numbers = np.array([j for j, kind in enumerate(kinds) if kind != "category"], dtype=np.int64)
        self._width = self._high - self._low
        self._step, self._gained = FIRST_STEP, False
        self._slope = np.zeros(len(self._numbers))

    def around(self, rng: np.random.Generator) -> Matrix:
        """Both sides of it along each column of numbers, points scattered around it, and other levels."""
        d, h = len(self._numbers), DIFFERENCE * self._step
        sides = np.repeat(self.point[None, :], 2 * d, axis=0)
        sides[np.arange(d), self._numbers] += h * self._width[self._numbers]
        sides[d + np.arange(d), self._numbers] -= h * self._width[self._numbers]
        scattered = np.repeat(self.point[None, :], SCATTERED, axis=0)
        moves = rng.normal(size=(SCATTERED, d)) * (rng.random((SCATTERED, d)) < max(0.5, 2 / max(d, 1)))
        scattered[:, self._numbers] += self._step * moves * self._width[self._numbers]
        return np.concatenate([sides, scattered, self._other_levels()])

    def along(self) -> Matrix:
        """Up the gradient."""
        norm = float(np.linalg.norm(self._slope))
        steps = np.repeat(self.point[None, :], len(ALONG), axis=0)
        if norm > 0:
            way = self._slope / norm * self._width[self._numbers]
            steps[:, self._numbers] += self._step * np.array(ALONG)[:, None] * way
        return steps

    def take_scores(self, points: Matrix, values: Vector) -> None:
        d = len(self._numbers)
        if len(points) >= 2 * d + SCATTERED:  # both sides come first
            difference = points[:d, self._numbers] - points[d : 2 * d, self._numbers]
            gaps = np.diagonal(difference) / np.where(self._width[self._numbers] > 0, self._width[self._numbers], 1.0)
            up, down = values[:d], values[d : 2 * d]
            known = (gaps > 0) & np.isfinite(up) & np.isfinite(down)
            rise = np.subtract(up, down, out=np.zeros(d), where=known)
            self._slope = np.divide(rise, gaps, out=np.zeros(d), where=known)
        best = int(np.argmax(values))
        if values[best] > self.value + ROUNDING * abs(self.value):
            self.point, self.value, self._gained = points[best].copy(), float(values[best]), True

    def settle(self) -> None:
        """A smaller step, where this one gained nothing."""
        self._step = self._step if self._gained else STEP_FACTOR * self._step
        self._gained = False

    def _other_levels(self) -> Matrix:
        """The same point with another level in one column."""
        others: list[Vector] = []
        for j in self._levels:
            for level in range(int(self._high[j]) + 1):
                if level != self.point[j]:
                    other = self.point.copy()
                    other[j] = level
                    others.append(other)
        return np.array(others).reshape(-1, len(self.point))
