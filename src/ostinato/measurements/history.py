"""What was told, batch by batch, in the order in which each was first told of. The tally is made from it.

Of each batch its statistics are kept, and its lowest and highest values by themselves: single values that do not fit
can be left out again, and that still adds. Measurements are numbered from 1 in the order they were told, those that
failed included.
"""

from bisect import insort
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from math import exp, log
from typing import NamedTuple

import msgspec

from ostinato.measurements.tally import Statistics, Tally

Points = tuple[tuple[int, float], ...]  # measurements by number and value
ENDS = 3  # values of a batch, on either side, that are kept by themselves
FORGOTTEN = 0.01  # of a measurement: what has faded to less than that counts no more
TICKS = 20  # in a half-life: how often old measurements are weighed anew


class Measured(msgspec.Struct, frozen=True):
    """Measurements of one candidate: statistics of all, the lowest and highest values, and the statistics of the rest.

    `at` is how many measurements there were in all when the last of these came; 0 where single values are not known.
    """

    statistics: Statistics = Statistics()
    points: Points = ()
    rest: Statistics = Statistics()
    at: int = 0

    def __add__(self, other: "Measured") -> "Measured":
        if not self.statistics.n or not other.statistics.n:
            return self if self.statistics.n else other
        total = self.statistics + other.statistics
        if not (self.at and other.at):
            return Measured.unknown(total)
        points = sorted({*self.points, *other.points}, key=lambda point: (point[1], point[0]))
        lowest = points[:ENDS]
        highest = sorted(points[ENDS:], key=lambda point: (-point[1], point[0]))
        rest = self.rest + other.rest
        for _, value in sorted(highest[ENDS:]):
            rest += Statistics(1, value)
        return Measured(total, tuple(sorted([*lowest, *highest[:ENDS]])), rest, max(self.at, other.at))

    def __neg__(self) -> "Measured":
        """With the sign of values turned."""
        turned = tuple((number, -value) for number, value in self.points)
        return Measured(-self.statistics, turned, -self.rest, self.at)

    @classmethod
    def unknown(cls, statistics: Statistics) -> "Measured":
        """Where neither single values nor their time are known."""
        return cls(statistics, (), statistics, 0)

    def without(self, aside: Collection[int]) -> Statistics:
        """The statistics of all but some measurements."""
        kept = [value for number, value in self.points if number not in aside]
        if len(kept) == len(self.points):
            return self.statistics
        total = self.rest
        for value in kept:
            total += Statistics(1, value)
        return total


class Part(NamedTuple):
    """A candidate's part of a batch: what was told of it with standard errors, or without."""

    batch: int
    candidate: int
    weighted: bool


class History:
    """What was measured, part by part in the order of their first feedback, and how often each candidate was."""

    def __init__(self) -> None:
        self._parts: dict[Part, Measured] = {}
        self._order: list[tuple[int, Part]] = []  # which part has a value of this number, in order
        self.counts: Counter[int] = Counter()
        self.steps: int = 0

    def __iter__(self) -> Iterator[tuple[Part, Measured]]:
        return iter(self._parts.items())

    def has(self, parts: Collection[Part]) -> bool:
        """Whether some of these go on where others ended."""
        return any(part in self._parts for part in parts)

    def add(self, told: Mapping[Part, Measured]) -> None:
        for part, measured in told.items():
            before = self._parts.get(part)
            self._parts[part] = measured if before is None else before + measured
            if measured.points:
                insort(self._order, (max(measured.points)[0], part))
            self.counts[part.candidate] += int(measured.statistics.n)
            self.steps += int(measured.statistics.n)

    def new(self, since: int) -> list[tuple[int, int, float]]:
        """Number, candidate and value of the lowest and highest values that came after measurement `since`."""
        grown = set[Part]()
        for last, part in reversed(self._order):
            if last <= since:
                break
            grown.add(part)
        touched = ((part.candidate, self._parts[part].points) for part in sorted(grown))
        return [(number, candidate, y) for candidate, points in touched for number, y in points if number > since]

    def tally(
        self,
        *,
        by_setup: bool,
        aside: Collection[int] = (),
        half_life: int | None = None,
        now: int = 0,
        more: Mapping[Part, Measured] = {},
    ) -> Tally:
        """All of it, and more, but what is set aside; faded, where measurements have a half-life, by their age now."""
        there = self._parts
        merged = there | {part: there[part] + each if part in there else each for part, each in more.items()}
        told = self.steps + sum(int(each.statistics.n) for each in more.values())
        tally, before, now = Tally(by_setup=by_setup), 0, clock(now, half_life)
        for part, measured in merged.items():
            before += int(measured.statistics.n)
            kept = measured.without(aside) if aside else measured.statistics
            if half_life is not None:
                kept = faded(kept, exp(-log(2) * max(now - (measured.at or before), 0) / half_life))
            if kept.n > FORGOTTEN:
                tally.add(part.candidate, kept, part.batch)
        tally.told = told
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
    if n <= FORGOTTEN:
        return Statistics()
    freedom = max(n - 1, 0.0) / (statistics.n - 1) if statistics.n > 1 else 0.0
    return Statistics(n, statistics.mean, freedom * statistics.squares, statistics.known / weight)
