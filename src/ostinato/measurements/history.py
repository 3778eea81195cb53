"""What was told, batch by batch, in the order in which each was first told of. The tally is made from it.

Of each batch its statistics are kept, and its lowest and highest values by themselves: single values that do not fit
can be left out again, and that still adds. Measurements are numbered from 1 in the order they were told, those that
failed included.
"""

from bisect import insort
from collections import Counter
from collections.abc import Collection, Iterator
from math import exp, log

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


class Entry(msgspec.Struct, frozen=True):
    """What was measured of a candidate in one batch; with standard errors, or without."""

    candidate: int
    batch: int
    measured: Measured

    @property
    def key(self) -> tuple[int, int, bool]:
        return self.batch, self.candidate, self.measured.statistics.known > 0


class History:
    """Entries in the order of their first feedback, and how often each candidate was measured."""

    def __init__(self) -> None:
        self._entries: dict[tuple[int, int, bool], Entry] = {}
        self._order: list[tuple[int, tuple[int, int, bool]]] = []  # which entry has a value of this number, in order
        self.counts: Counter[int] = Counter()
        self.steps: int = 0

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def has(self, entries: Collection[Entry]) -> bool:
        """Whether some of these go on where others ended."""
        return any(entry.key in self._entries for entry in entries)

    def add(self, entries: Collection[Entry]) -> None:
        for entry in entries:
            key, measured, n = entry.key, entry.measured, int(entry.measured.statistics.n)
            self._entries[key] = self._joined(entry) if key in self._entries else entry
            if measured.points:
                insort(self._order, (max(measured.points)[0], key))
            self.counts[entry.candidate] += n
            self.steps += n

    def _joined(self, entry: Entry) -> Entry:
        """With what there was of it before."""
        before = self._entries.get(entry.key)
        return entry if before is None else Entry(entry.candidate, entry.batch, before.measured + entry.measured)

    def new(self, since: int) -> list[tuple[int, int, float]]:
        """Number, candidate and value of the lowest and highest values that came after measurement `since`."""
        grown = set[tuple[int, int, bool]]()
        for last, key in reversed(self._order):
            if last <= since:
                break
            grown.add(key)
        touched = (self._entries[key] for key in sorted(grown))
        return [
            (number, entry.candidate, y) for entry in touched for number, y in entry.measured.points if number > since
        ]

    def tally(
        self,
        *,
        by_setup: bool,
        aside: Collection[int] = (),
        half_life: int | None = None,
        now: int = 0,
        more: Collection[Entry] = (),
    ) -> Tally:
        """All of it, and more, but what is set aside; faded, where measurements have a half-life, by their age now."""
        merged = self._entries | {entry.key: self._joined(entry) for entry in more}
        told = self.steps + sum(int(entry.measured.statistics.n) for entry in more)
        tally, before, now = Tally(by_setup=by_setup), 0, clock(now, half_life)
        for entry in merged.values():
            measured = entry.measured
            before += int(measured.statistics.n)
            kept = measured.without(aside) if aside else measured.statistics
            if half_life is not None:
                kept = faded(kept, exp(-log(2) * max(now - (measured.at or before), 0) / half_life))
            if kept.n > FORGOTTEN:
                tally.add(entry.candidate, kept, entry.batch)
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
