"""What was told, batch by batch, in the order in which each was first told of. The tally is made from it.

Of each batch its statistics are kept, and its lowest and highest value by themselves: single values that do not fit
can be left out again, and that still adds. Measurements are numbered from 1 in the order they were told, those that
failed included.
"""

from collections.abc import Iterator, Mapping, Set
from math import exp, log

import msgspec

from ostinato.tally import Statistics, Tally

Points = tuple[tuple[int, float], ...]  # measurements by number and value
FORGOTTEN = 0.01  # of a measurement: what has faded to less than that counts no more
TICKS = 20  # in a half-life: how often old measurements are weighed anew


class Measured(msgspec.Struct, frozen=True):
    """Measurements of one candidate: statistics of all, its lowest and highest value, and the statistics of the rest.

    `points` is empty where single values were not told.
    """

    statistics: Statistics = Statistics()
    points: Points = ()
    rest: Statistics = Statistics()

    def __add__(self, other: "Measured") -> "Measured":
        points = sorted({*self.points, *other.points}, key=lambda point: (point[1], point[0]))
        rest = self.rest + other.rest
        for _, value in points[1:-1]:
            rest += Statistics(1, value)
        return Measured(self.statistics + other.statistics, (*points[:1], *points[1:][-1:]), rest)

    def __neg__(self) -> "Measured":
        """With the sign of values turned."""
        turned = tuple((number, -value) for number, value in reversed(self.points))
        return Measured(-self.statistics, turned, -self.rest)

    @classmethod
    def summed(cls, statistics: Statistics) -> "Measured":
        """Where single values are not known."""
        return cls(statistics, (), statistics)

    def without(self, aside: Set[int]) -> Statistics:
        """The statistics of all but some measurements."""
        kept = [value for number, value in self.points if number not in aside]
        if len(kept) == len(self.points):
            return self.statistics
        total = self.rest
        for value in kept:
            total += Statistics(1, value)
        return total


class Entry(msgspec.Struct, frozen=True):
    """What was measured of a candidate in one batch."""

    candidate: int
    batch: int
    measured: Measured


class History:
    """Entries by batch and candidate, in the order of their first feedback."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, int], Entry] = {}
        self._touched: set[tuple[int, int]] = set()
        self.steps: int = 0

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def add(self, feedback: Mapping[int, Measured], batch: int) -> None:
        for candidate, measured in feedback.items():
            before = self._entries.get((batch, candidate))
            total = measured if before is None else before.measured + measured
            self._entries[batch, candidate] = Entry(candidate, batch, total)
            self._touched.add((batch, candidate))
            self.steps += int(measured.statistics.n)

    def new(self, since: int) -> list[tuple[int, int, float]]:
        """Number, candidate and value of the lowest and highest values that came after measurement `since`."""
        touched = (self._entries[key] for key in sorted(self._touched))
        return [
            (number, entry.candidate, y)
            for entry in touched
            for number, y in entry.measured.points
            if number > since and not entry.measured.statistics.known
        ]

    def looked_over(self) -> None:
        """Nothing is new any more."""
        self._touched = set()

    def count(self, candidate: int) -> int:
        """Measurements of a candidate."""
        return sum(int(entry.measured.statistics.n) for entry in self if entry.candidate == candidate)

    def tally(self, *, by_setup: bool, aside: Set[int] = frozenset(), half_life: int | None = None) -> Tally:
        """All of it but what is set aside; faded, where measurements have a half-life."""
        tally, before, now = Tally(by_setup=by_setup), 0, clock(self.steps, half_life)
        for entry in self:
            before += int(entry.measured.statistics.n)
            kept = entry.measured.without(aside) if aside else entry.measured.statistics
            if half_life is not None:
                kept = faded(kept, exp(-log(2) * max(now - before, 0) / half_life))
            if kept.n > FORGOTTEN:
                tally.add(entry.candidate, kept, entry.batch)
        return tally


def clock(steps: int, half_life: int | None) -> int:
    """The last moment, in measurements, at which old ones were weighed anew: so many times in a half-life."""
    if half_life is None:
        return 0
    tick = max(1, half_life // TICKS)
    return steps // tick * tick


def faded(statistics: Statistics, weight: float) -> Statistics:
    """Measurements that count for less: as many fewer of them, scattering by as much."""
    if weight >= 1 or not statistics.n:
        return statistics
    n = weight * statistics.n
    freedom = max(n - 1, 0.0) / (statistics.n - 1) if statistics.n > 1 else 0.0
    return Statistics(n, statistics.mean, freedom * statistics.squares, statistics.known / weight)
