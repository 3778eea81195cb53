"""The log, within one `write` of the storage: observations, batches given up, and what a batch comes to.

What was asked for is taken in by `intake.py`, by the rules at the end of this file.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isnan

from msgspec.structs import replace

from ostinato.errors import Conflict, Damaged, UnknownBatch
from ostinato.measurements.batches import BatchFacts
from ostinato.measurements.feedback import Feedback
from ostinato.measurements.history import Measured
from ostinato.storage import BatchRecord, Entry, LogRow, Reader, Source, Writer
from ostinato.storage.schema import FULL, SHARED
from ostinato.storage.values import Kind, StoredFeedback


def observe(
    writer: Writer,
    told: Sequence[tuple[int, StoredFeedback]],
    source: Source,
    began: float = 0.0,
    *,
    apart: bool = False,
) -> list[Entry]:
    """Measurements that nobody asked for, by row of the table, in batches with numbers below 0; returns the new rows.

    Those of one candidate share a batch until it is full, so that a study of a million single values is opened as
    quickly as one of a few. source, began: where they come from, and since when. apart: each in a batch of its own.
    """
    record, now = writer.record, writer.now()
    there = [] if apart else writer.with_room({index for index, _ in told})
    last = {(batch.facts.index, batch.reason): batch for batch in there}
    changed, numbered, failed = dict[int, BatchRecord](), record.numbered, 0
    made, rows = record.observed, list[LogRow]()
    for row, (index, each) in enumerate(told, record.told + 1):
        reason = "" if apart else _shared(each, before=record.asked == 0)
        batch = last.get((index, reason)) if reason else None
        if batch is None or batch.facts.repeats >= FULL:
            made += 1
            batch = BatchRecord(BatchFacts.observed(-made, index, 0), now, reason)
        start, feedback = batch.facts.repeats, each.feedback()
        rows.append(LogRow(batch.facts.id, start, each, source, began))
        batch = joined(_widened(batch, each.count), feedback, numbered, row)
        changed[batch.facts.id] = last[index, reason] = batch
        numbered, failed = numbered + each.count, failed + feedback.failed
    new, old = _split(changed.values(), record.observed)
    for batches, keep in ((new, writer.add_batches), (old, writer.change_batches)):
        if batches:
            keep(batches)
    entries = writer.append_all(rows)
    writer.change(
        replace(
            writer.record,
            observed=made,
            answered=record.answered + numbered - record.numbered,
            failed=record.failed + failed,
        )
    )
    return entries


def _shared(told: StoredFeedback, *, before: bool) -> str:
    """Which observations of a candidate some more of them join.

    Those with standard errors stay apart from others, and those from before the first decision from later ones: a
    certificate does not count them.
    """
    if told.count > FULL:
        return ""
    return f"{SHARED}{' with errors' if told.kind == Kind.WEIGHTED else ''}{' before' if before else ''}"


def _widened(batch: BatchRecord, count: int) -> BatchRecord:
    """An observation, with room for more repeats."""
    asked = batch.facts.batch
    repeats = asked.repeats + count
    facts = replace(batch.facts, batch=replace(asked, repeats=repeats, wanted=repeats))
    return replace(batch, facts=facts, leased=repeats)


def _split(batches: Iterable[BatchRecord], observed: int) -> tuple[list[BatchRecord], list[BatchRecord]]:
    """Batches that are new, and others."""
    each = list(batches)
    return [b for b in each if b.facts.id < -observed], [b for b in each if b.facts.id >= -observed]


def close(writer: Writer, number: int) -> None:
    """The repeats of a batch that did not come will not come."""
    batch = writer.batch(number)
    if batch is None or number < 0:
        raise UnknownBatch(f"Batch {number} is none that was asked for in this study.")
    for lease in writer.leases(number):
        writer.release(lease)
    if not batch.facts.closed and batch.facts.pending > 0:
        writer.change_batch(replace(batch, facts=replace(batch.facts, closed=True)))
        writer.change(replace(writer.record, closed=writer.record.closed + 1))


def joined(batch: BatchRecord, feedback: Feedback, numbered: int, row: int) -> BatchRecord:
    """A batch of which more was told: in this row of the log, after so many measurements."""
    facts = batch.facts
    told = facts.measured + feedback.measured(1, numbered, 0)
    told = told if told.at else Measured(told.statistics)  # without single values nothing is said of the rest
    failed, first = facts.failed + feedback.failed, facts.first or row
    return replace(batch, facts=replace(facts, told=told, failed=failed, first=first), last=row)


def check_last(reader: Reader, batch: BatchRecord) -> None:
    """The last row of the log that a batch has seen must be there, and be found by its repeats.

    So what was lost is not taken for new, at a cost that does not grow with the log; `verify` looks at every row.
    """
    number, answers = batch.facts.batch.id, batch.facts.answered + batch.facts.withdrawn
    entry = reader.row(batch.last) if answers else None
    if answers:
        there = entry is not None and entry.batch == number and entry in reader.overlapping(number, entry.start, 1)
        wrong = None if there else "0 are found where the last one should be"
    else:
        found = reader.overlapping(number, 0, batch.facts.places)
        wrong = f"{sum(each.told.count for each in found)} are found" if found else None
    if wrong is not None:
        raise Damaged(
            f"The study {reader.record.name!r} is damaged: batch {number} counts {answers} answers, and {wrong}. "
            "Nothing was changed; see what `ostinato verify` says."
        )


def check_counts(writer: Writer, entry: Entry, start: int, told: StoredFeedback) -> None:
    """What was taken back does not count when it is told again: the same value is nothing new, another is refused."""
    last = {each.place: each.value for each in writer.revisions(entry.batch) if each.row == entry.number}
    for place, repeat in enumerate(entry.repeats):
        at = repeat - start
        if 0 <= at < told.count and last.get(place, 0.0) is None:
            if entry.told.part(place, place + 1) == told.part(at, at + 1):
                continue
            number = writer.first_numbers([entry.number])[entry.number] + place
            raise Conflict(
                f"Repeat {repeat} of batch {entry.batch} was told before and taken back (measurement {number}): "
                f"another value for it is not taken in. To give it one, correct(number={number}, new=…), on the "
                f"command line `ostinato correct STUDY {number} VALUE`; or observe(candidate, values) for another "
                "measurement."
            )


def check_same(writer: Writer, entry: Entry, start: int, told: StoredFeedback) -> None:
    """What is told again must be what was told, or what counts in place of it."""
    low, high = max(entry.start, start), min(entry.start + entry.told.count, start + told.count)
    if entry.told.part(low - entry.start, high - entry.start) == told.part(low - start, high - start):
        return
    corrected = {each.place: each.value for each in writer.revisions(entry.batch) if each.row == entry.number}
    first = writer.first_numbers([entry.number])[entry.number]
    check_alike(entry.batch, entry.start, entry.told, start, told, corrected, first)


def check_alike(
    batch: int,
    start: int,
    told: StoredFeedback,
    again: int,
    told_again: StoredFeedback,
    corrected: Mapping[int, float | None] | None = None,
    number: int | None = None,
) -> None:
    """Whether what was told of some repeats, or corrected since by place, is what is told again of them.

    number: of the first of these measurements, where it has one already.
    """
    low, high = max(start, again), min(start + told.count, again + told_again.count)
    old, new, now_by_place = (
        told.part(low - start, high - start),
        told_again.part(low - again, high - again),
        corrected or {},
    )
    for place in range(high - low):
        one, two = old.part(place, place + 1), new.part(place, place + 1)
        first, second = (float(each.numbers()[0]) for each in (one, two))
        now = now_by_place.get(low + place - start)
        if one == two or (now is not None and (now == second or (isnan(now) and isnan(second)))):
            continue
        has = f"{first!r}" if now is None else f"{now!r} (it was told as {first!r}, and corrected)"
        own = "" if number is None else str(number + low + place - start)
        raise Conflict(
            f"Repeat {low + place} of batch {batch}{own and f' (measurement {own})'} has the value {has}, and "
            f"{second!r} was told: the first is kept. If it is wrong, correct(number={own or '…'}, new=…), on the "
            f"command line `ostinato correct STUDY {own or 'NUMBER'} VALUE`. For another measurement of the same "
            "candidate, observe(candidate, values), or `ostinato import`."
        )
