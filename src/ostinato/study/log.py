"""Taking in answers, within one `write` of the storage: the log, the batch's aggregates and the study's counters.

Whoever answers first is believed: the same answer again counts once, and another one is refused.
"""

from math import isnan

from msgspec.structs import replace

from ostinato.errors import Conflict, Damaged, InvalidFeedback, UnknownBatch
from ostinato.measurements.batches import BatchFacts
from ostinato.measurements.history import Measured
from ostinato.measurements.tally import Statistics
from ostinato.storage import BatchRecord, Entry, Reader, Writer
from ostinato.storage.values import Kind, Told
from ostinato.study.leases import answered, without


def take(writer: Writer, number: int, start: int, told: Told) -> int:
    """Keep what is new of an answer; returns how many repeats that is."""
    batch = writer.batch(number)
    if batch is None or start < 0 or start + told.count > batch.facts.places:
        what = "is none of this study" if batch is None else f"has the repeats 0 to {batch.facts.places - 1}"
        raise UnknownBatch(f"Repeats {start} to {start + told.count - 1} of batch {number} were told, which {what}.")
    found = writer.told_of(number)
    answers = batch.facts.answered + batch.facts.withdrawn
    if found != answers:
        raise Damaged(
            f"The study {writer.record.name!r} is damaged: batch {number} counts {answers} answers, and "
            f"{found} are found. Nothing was changed; see what `ostinato verify` says."
        )
    statistics = batch.facts.statistics
    if statistics.n and (statistics.known > 0) != (told.kind == Kind.WEIGHTED):
        raise InvalidFeedback(f"Batch {number} has values with standard errors and without: tell all of one kind.")
    there = writer.overlapping(number, start, told.count)
    repeats = range(start, start + told.count)
    for entry in there:
        if batch.facts.withdrawn:
            _check_counts(writer, entry, repeats)
        _check_same(writer, entry, start, told)
    new = without(repeats, (entry.repeats for entry in there))
    for each in new:
        batch = _appended(writer, batch, each.start, told.part(each.start - start, each.stop - start))
    answered(writer, number, repeats)
    return sum(map(len, new))


def was_observed(reader: Reader, key: str) -> bool:
    """Whether observations of this key are there."""
    return any(batch.facts.id < 0 and batch.reason == key for batch in reader.batches())


def observe(writer: Writer, index: int, told: Told, key: str) -> int:
    """Measurements that nobody asked for, as a batch with a number below 0."""
    number = -1 - writer.record.observed
    batch = BatchRecord(BatchFacts.observed(number, index, told.count), writer.now(), key, leased=told.count)
    writer.add_batch(batch)
    writer.change(replace(writer.record, observed=writer.record.observed + 1))
    _appended(writer, batch, 0, told)
    return number


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


def _appended(writer: Writer, batch: BatchRecord, start: int, told: Told) -> BatchRecord:
    """The log, the batch's aggregates and the study's counters, all in step."""
    facts, feedback = batch.facts, told.feedback()
    measured = feedback.measured(1, writer.record.numbered, 0)
    entry = writer.append(facts.id, start, told)
    together = facts.measured + measured
    facts = replace(
        facts,
        told=kept(replace(together, statistics=facts.statistics + feedback.statistics)),
        failed=facts.failed + feedback.failed,
        first=facts.first or entry.number,
    )
    batch = replace(batch, facts=facts, last=entry.number)
    writer.change_batch(batch)
    record = writer.record
    writer.change(replace(record, answered=record.answered + told.count, failed=record.failed + feedback.failed))
    return batch


def _check_counts(writer: Writer, entry: Entry, told: range) -> None:
    """What was taken back does not come to count by telling it again."""
    last = {each.place: each.value for each in writer.revisions(entry.batch) if each.row == entry.number}
    for place, repeat in enumerate(entry.repeats):
        if repeat in told and last.get(place, 0.0) is None:
            number = writer.first_numbers([entry.number])[entry.number] + place
            raise Conflict(
                f"Repeat {repeat} of batch {entry.batch} was told before and taken back (measurement {number}): "
                f"nothing was taken in. To give it a value, correct(number={number}, new=…), on the command line "
                f"`ostinato correct STUDY {number} VALUE`; or observe(candidate, values) for another measurement."
            )


def _check_same(writer: Writer, entry: Entry, start: int, told: Told) -> None:
    """What is told again must be what was told, or what counts in place of it."""
    low, high = max(entry.start, start), min(entry.start + entry.told.count, start + told.count)
    old = entry.told.part(low - entry.start, high - entry.start)
    new = told.part(low - start, high - start)
    if old == new:
        return
    corrected = {each.place: each.value for each in writer.revisions(entry.batch) if each.row == entry.number}
    for place in range(high - low):
        one, two = old.part(place, place + 1), new.part(place, place + 1)
        first, second = (float(each.numbers()[0]) for each in (one, two))
        now = corrected.get(low + place - entry.start)
        if one == two or (now is not None and (now == second or (isnan(now) and isnan(second)))):
            continue
        has = f"{first!r}" if now is None else f"{now!r} (it was told as {first!r}, and corrected)"
        raise Conflict(
            f"Repeat {low + place} of batch {entry.batch} has the value {has}, and {second!r} was told: the first is "
            "kept. (Tell measurements beyond those asked for with observe.)"
        )


def kept(measured: Measured) -> Measured:
    """As a batch keeps it: without single values nothing is said of the rest."""
    return measured if measured.at else replace(measured, rest=Statistics())
