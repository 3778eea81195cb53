"""What a study tells: single measurements, and where it stands."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import msgspec
import numpy as np

from ostinato.checks import counted
from ostinato.records import UNNAMED, Best, Outlier, Quantity, choices
from ostinato.storage import Entry, Revision, Source
from ostinato.storage.values import Kind


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One measurement (NaN for one that failed), or the average of `count` that were told together.

    `number` is its own in the order told, for ever; `at` when it was told. Where it was corrected or taken back,
    `revisions` say when and why, the last of them last, and `told` what it was; a measurement that was taken back has
    no value.

    `began` is when it was handed out to its `worker`; it was measured on `host`, by a run with `program` (a command, or
    module:function) of this `version`; what was told by hand, or by a program of yours, has the `host` that told it.
    `token` is the name of the token with which it was told over HTTP. What is not known is 0 or empty.
    """

    batch: int
    repeat: int
    index: int
    value: float | None
    stderr: float | None = None
    count: int = 1
    std: float | None = None
    number: int = 0
    at: float = 0.0
    told: float | None = None
    revisions: tuple[Revision, ...] = ()
    began: float = 0.0
    worker: str = ""
    host: str = ""
    program: str = ""
    version: str = ""
    token: str = ""

    @property
    def revision(self) -> Revision | None:
        """The last one."""
        return self.revisions[-1] if self.revisions else None


class Assigned(msgspec.Struct, frozen=True, kw_only=True):
    """Repeats `start`, …, `start + repeats - 1` of a batch, assigned to a worker since and until then (since 1970).

    `state` is "held"; or "over" where that time has passed, and "gone" where the worker's process is known to have
    ended: both are handed to whoever asks next. `since` is not known of what was asked for with an older Ostinato.
    `token` is the name of the token with which it was asked for over HTTP; empty where it was not.
    """

    batch: int
    start: int
    repeats: int
    index: int
    candidate: Any
    worker: str
    since: float | None
    until: float
    state: str
    token: str = ""


class PausedRun(msgspec.Struct, frozen=True):
    """A run that measures nothing, since nothing can be measured: moments are seconds since 1970.

    next_try: None where it has given up. lost: it was killed, or is not heard of.
    """

    since: float
    failure: str
    next_try: float | None
    lost: bool = False

    def __str__(self) -> str:
        if self.next_try is None:
            then = "the run has given up"
        elif self.lost:
            then = f"the run is not heard of any more (it was to try again at {_moment(self.next_try)})"
        else:
            then = f"next try at {_moment(self.next_try)}"
        return f"since {_moment(self.since)}: nothing can be measured; {then}. The last failure: {self.failure}"


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """Where a study stands.

    `candidates` leaves out those that were retired; `in_flight` are assigned to workers; `waiting` were asked for, and
    are for whoever comes. `repeats_never_differ`: the program may use a fixed seed, so that repeats tell nothing new.

    `outliers` are single values that do not fit, which do not count while noise is learned. `missing` are settings of
    the user's own Python code that were not given: then neither best nor outliers are known. `paused` are runs that
    wait for an instrument, or have given up since the last run began.
    """

    name: str
    created: float
    candidates: int | None
    budget: int | None
    measurements: int
    failures: int
    in_flight: int
    waiting: int
    unique: int
    batches: int
    switches: int
    best: Best | None
    outliers: tuple[Outlier, ...] = ()
    repeats_never_differ: bool = False
    retired: int = 0
    missing: tuple[str, ...] = ()
    paused: tuple[PausedRun, ...] = ()
    quantity: Quantity = UNNAMED

    @property
    def finished(self) -> bool:
        return self.budget is not None and self.measurements + self.failures >= self.budget

    @property
    def spent(self) -> str:
        """That the budget is spent, in words; nothing where it is not."""
        if not self.finished:
            return ""
        failed = f", {self.failures:,} of them failed" if self.failures else ""
        return f"the budget of {counted(self.budget or 0, 'measurement')} is spent{failed}"

    def __str__(self) -> str:
        failed = f", {self.failures:,} of them failed" if self.failures else ""
        lines = [
            f"study       {self.name}: {choices(self.candidates, self.retired)}",
            f"so far      {self._so_far}{failed}; {counted(self.unique, 'candidate')}, "
            f"{counted(self.switches, 'switch', 'switches')}",
        ]
        if self.in_flight:
            lines.append(f"in flight   {counted(self.in_flight, 'measurement')}")
        if self.waiting:
            lines.append(f"waiting     {counted(self.waiting, 'measurement')}, asked for and not assigned to a worker")
        lines += [f"paused      {run}" for run in self.paused]
        lines += [f"best        {self.best}"] if self.best else []
        if self.missing:
            names = " and the ".join(self.missing)
            lines.append(f"best        not known here: it takes the {names} of your own Python code")
        if self.repeats_never_differ:
            lines.append("doubt       repeats never differ: does your program use a fixed seed, or round its values?")
        return "\n".join([*lines, *(f"outlier     {outlier}" for outlier in self.outliers)])

    @property
    def _so_far(self) -> str:
        made = self.measurements + self.failures
        if self.budget is None:
            return counted(made, "measurement")
        return f"{made:,} of {counted(self.budget, 'measurement')}"


def _moment(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M:%S}"


def measurements_of(
    entry: Entry,
    index: int,
    source: Source,
    number: int = 0,
    revised: Mapping[int, tuple[Revision, ...]] | None = None,
) -> Iterator[Measurement]:
    """The measurements of a row of the log: the first has this number, and some places were revised."""
    numbers, revised = entry.told.numbers(), revised or {}
    own: dict[str, Any] = {"batch": entry.batch, "index": index, "at": entry.at, "began": entry.began}
    own |= {name: getattr(source, name) for name in ("program", "version", "host", "worker", "token")}
    if entry.told.kind == Kind.SUMMARY:
        n, mean = entry.told.count, float(numbers[0])
        std = float(np.sqrt(numbers[1] / (n - 1))) if n > 1 else None
        value, told, changes = (None, mean, revised[0]) if 0 in revised else (mean, None, ())
        yield Measurement(**own, repeat=0, value=value, count=n, std=std, number=number, told=told, revisions=changes)
        return
    errors = numbers[entry.told.count :] if entry.told.kind == Kind.WEIGHTED else None
    for i in range(entry.told.count):
        stderr, first, changes = None if errors is None else float(errors[i]), float(numbers[i]), revised.get(i, ())
        value, told = (changes[-1].value, first) if changes else (first, None)
        own |= {"repeat": entry.start + i, "number": number + i}
        yield Measurement(**own, value=value, stderr=stderr, told=told, revisions=changes)


def by_place(revisions: Iterable[Revision]) -> dict[int, dict[int, tuple[Revision, ...]]]:
    """The revisions of every measurement that has some, by row of the log and place in it."""
    found: dict[int, dict[int, tuple[Revision, ...]]] = {}
    for each in revisions:
        row = found.setdefault(each.row, {})
        row[each.place] = (*row.get(each.place, ()), each)
    return found
