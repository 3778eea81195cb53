"""Failures at the end of a study's log, whoever saw them: an outage of which every run sees a little.

Two questions, with two ways to be wrong. *Whether* failures are an outage is asked of those that follow each other in
the log, with no value between them: few enough that a flaky program is not taken for one. *Which* failures belong to an
outage that was judged is asked generously: all that no value lies for sure between. A measurement was made at some
moment between its beginning and when it was stored, so a value that was under way at the same time separates nothing,
and a failure that was begun in the outage belongs to it, however late it is told. Nor do the values separate anything
by which a run finds out whether it was an outage: what others see fail meanwhile is part of it.
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import groupby
from math import isnan

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.running.pausing import OUTAGE
from ostinato.running.task import Task
from ostinato.storage import BatchRecord, Entry, Reader, Revision
from ostinato.storage.values import Kind
from ostinato.study.origins import Sources

RECENT_ROWS, OUTAGE_ROWS = (
    100,
    1_000,
)  # rows of the log: in which a row is looked for, and all that an outage may have taken


class MeasurementFate(Enum):
    """What became of a measurement: a value, or one that was measured to judge failures; a failure that counts, one of
    an outage, or one that was taken back for another reason.
    """

    VALUE, PROBE, FAILURE, OUTAGE, NOTHING = range(5)


class RepeatSpan(msgspec.Struct, frozen=True, eq=False):
    """Consecutive repeats of one row of the log that all had the same fate.

    began, at: the moments between which they were measured. lease: of what was measured one after the other.
    """

    fate: MeasurementFate
    tasks: Sequence[Task]
    lease: tuple[int, int, float]
    began: float
    at: float


def recent_spans(reader: Reader, program: str, rows: int = RECENT_ROWS) -> list[RepeatSpan]:
    """What runs with this program told last, in the order of the log.

    Another program may be another instrument, and what people told by hand they have judged themselves.
    """
    entries = reader.log(after=max(0, reader.record.told - rows), most=rows)
    sources = Sources().read(reader, entries)
    alike = [entry for entry in entries if sources[entry.source].program == program]
    failing = {entry.batch for entry in alike if any(map(isnan, _values(entry)))}
    batches = reader.batches_of(failing)
    revisions = {batch: reader.revisions(batch) for batch in failing} if reader.record.revised else {}
    return [
        stretch
        for entry in alike
        for stretch in _stretches(reader.record.name, entry, batches.get(entry.batch), revisions.get(entry.batch, ()))
    ]


def failure_rows(told: Iterable[RepeatSpan]) -> list[list[Task]]:
    """The failures between one value and the next; after the last value there may be more to come."""
    rows: list[list[Task]] = [[]]
    for each in told:
        if each.fate in (MeasurementFate.VALUE, MeasurementFate.PROBE):
            rows.append([])
        elif each.fate is MeasurementFate.FAILURE:
            rows[-1].extend(each.tasks)
    return rows


def outage_failures(told: Sequence[RepeatSpan], *, over: bool) -> list[Task]:
    """Failures that still count, and belong to what was judged an outage.

    over: only such as somebody got a value after. Of others it is not known yet whether the outage goes on.
    """
    judged, values = (
        [each for each in told if each.fate is came] for came in (MeasurementFate.OUTAGE, MeasurementFate.VALUE)
    )
    if not judged:
        return []
    last = max((place for place, each in enumerate(told) if each.fate is MeasurementFate.VALUE), default=-1)
    failed = [each for each in told[: last + 1 if over else None] if each.fate is MeasurementFate.FAILURE]
    near = ~np.all(_apart(failed, judged, values) | _apart(judged, failed, values).T, axis=1)
    return [task for each, belongs in zip(failed, near, strict=True) if belongs for task in each.tasks]


def _apart(ones: Sequence[RepeatSpan], twos: Sequence[RepeatSpan], values: Sequence[RepeatSpan]) -> NDArray[np.bool_]:
    """Of each pair, whether a value lies for sure after the first and before the second."""
    between = _before(ones, values).astype(np.float32) @ _before(values, twos).astype(np.float32)
    return between > 0


def _before(ones: Sequence[RepeatSpan], twos: Sequence[RepeatSpan]) -> NDArray[np.bool_]:
    """Of each pair, whether the first was over, for sure, when the second was begun."""
    numbers = {lease: number for number, lease in enumerate({each.lease for each in (*ones, *twos)})}
    same = np.equal.outer([numbers[each.lease] for each in ones], [numbers[each.lease] for each in twos])
    order = np.less.outer([each.tasks[-1].start for each in ones], [each.tasks[0].start for each in twos])
    return np.where(same, order, np.less_equal.outer([each.at for each in ones], [each.began for each in twos]))


def _stretches(
    study: str, entry: Entry, batch: BatchRecord | None, revisions: Iterable[Revision]
) -> Iterable[RepeatSpan]:
    """batch: of which the row is; only needed where something failed."""
    index, began = -1 if batch is None else batch.facts.index, entry.began or entry.at
    lease, came = (entry.batch, entry.source, began), _became(entry, revisions)
    for each, places in groupby(range(len(came)), key=came.__getitem__):
        tasks = [Task(study, entry.batch, index, None, entry.start + place, 1) for place in places]
        yield RepeatSpan(each, tasks, lease, began, entry.at)


def _became(entry: Entry, revisions: Iterable[Revision]) -> list[MeasurementFate]:
    worked = MeasurementFate.PROBE if entry.batch < 0 else MeasurementFate.VALUE
    last = {each.place: each for each in revisions if each.row == entry.number}
    return [_became_of(last.get(place)) if isnan(value) else worked for place, value in enumerate(_values(entry))]


def _became_of(revision: Revision | None) -> MeasurementFate:
    """Of a failure, which may have been revised."""
    if revision is None:
        return MeasurementFate.FAILURE
    return (
        MeasurementFate.OUTAGE
        if revision.value is None and revision.why.startswith(f"{OUTAGE}, since ")
        else MeasurementFate.NOTHING
    )


def _values(entry: Entry) -> list[float]:
    """Single values; what people tell as an average is none of a program's."""
    return [] if entry.told.kind == Kind.SUMMARY else entry.told.numbers()[: entry.told.count].tolist()
