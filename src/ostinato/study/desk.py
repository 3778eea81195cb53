"""Handing out repeats and taking in answers: what happens to stored facts, within one `write` of the storage.

A repeat is known by its batch and its number. It is handed out for a time; when that is over, or its worker is known to
be gone, it is handed out again. Whoever answers first is believed: the same answer again counts once, and another
one is refused.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from itertools import chain
from math import ceil

import msgspec
from msgspec.structs import replace

from ostinato.errors import Conflict, Damaged, InvalidFeedback, UnknownBatch
from ostinato.measurements.tally import Statistics
from ostinato.optimizer.facts import BatchFacts
from ostinato.storage import BatchRecord, Entry, Lease, Reader, Writer
from ostinato.storage.values import Kind, Told
from ostinato.study.workers import Gone


class Range(msgspec.Struct, frozen=True):
    """Repeats start, …, stop − 1 of a batch."""

    start: int
    stop: int

    def without(self, taken: list["Range"]) -> list["Range"]:
        """What is left of it; `taken` in order."""
        left, at = list[Range](), self.start
        for each in taken:
            if each.start > at:
                left.append(Range(at, min(each.start, self.stop)))
            at = max(at, each.stop)
        return [each for each in [*left, Range(at, self.stop)] if each.start < each.stop]


def handed_out(
    desk: Writer, until: float, worker: str, most: int | None, share: int, only: Collection[int] | None = None
) -> Lease | None:
    """The next repeats that were decided on: such as were given up first, then those that wait for their first time.

    They are in the worker's hands for so many seconds. `worker` is a name for this one request: what was handed out to
    it already, and not heard of, is handed out to it. share: among how many workers a batch is shared out. only: of
    these batches.
    """
    unfinished, leases = desk.unfinished(), desk.leases()
    unheard = next((lease for lease in leases if lease.worker == worker), None)
    if unheard is not None:
        return unheard
    given_up = Gone(desk.now())
    held = sum(lease.count for lease in leases if not given_up(lease))
    if desk.record.budget is not None:
        room = desk.record.budget - desk.record.answered - held
        most = room if most is None else min(room, most)
    if most is not None and most < 1:
        return None
    if only is not None:
        unfinished, leases = ([b for b in unfinished if b.facts.id in only], [e for e in leases if e.batch in only])
    for lease in chain(leases, _forgotten(desk, unfinished, leases)):
        if given_up(lease):
            return _leased(desk, lease, until, worker, most)
    for batch in unfinished:
        rest = batch.facts.places - batch.leased
        if rest > 0:
            count = min(max(1, ceil(batch.facts.repeats / share)), rest, most or rest)
            desk.change_batch(replace(batch, leased=batch.leased + count))
            return _leased(desk, Lease(batch.facts.id, batch.leased, count, "", 0.0), until, worker, None)
    return None


def in_hand(reader: Reader) -> dict[int, int]:
    """How many repeats of each batch are in the hands of workers whose time is not over."""
    given_up, counts = Gone(reader.now()), Counter[int]()
    for lease in reader.leases():
        if not given_up(lease):
            counts[lease.batch] += lease.count
    return counts


def give_back(desk: Writer, lease: Lease, keep: int) -> None:
    """The repeats of a lease from number `keep` on are for others, at once."""
    kept, rest = max(0, min(lease.count, keep - lease.start)), max(lease.start, keep)
    desk.release(lease)
    if kept:
        desk.lease(replace(lease, count=kept))
    if kept < lease.count:
        desk.lease(replace(lease, start=rest, count=lease.count - kept, until=0.0))


def _forgotten(desk: Writer, unfinished: list[BatchRecord], leases: list[Lease]) -> Iterator[Lease]:
    """Repeats that were handed out, have no value, and are in nobody's hands: their lease was damaged, or left out."""
    for batch in unfinished:
        number, held = batch.facts.id, [lease for lease in leases if lease.batch == batch.facts.id]
        if batch.leased <= batch.facts.answered + batch.facts.withdrawn + sum(lease.count for lease in held):
            continue
        entries = desk.overlapping(number, 0, batch.leased)
        taken = [Range(entry.start, entry.start + entry.told.count) for entry in entries]
        taken += [Range(lease.start, lease.start + lease.count) for lease in held]
        for each in Range(0, batch.leased).without(sorted(taken, key=lambda part: part.start)):
            yield Lease(number, each.start, each.stop - each.start, "", 0.0)


def next_of(reader: Reader, batch: BatchRecord) -> int:
    """The first repeat of a batch that has no value."""
    entries = reader.overlapping(batch.facts.id, 0, batch.facts.places)
    taken = [Range(entry.start, entry.start + entry.told.count) for entry in entries]
    left = Range(0, batch.facts.places).without(sorted(taken, key=lambda each: each.start))
    return left[0].start if left else batch.facts.places


def take(desk: Writer, number: int, start: int, told: Told) -> int:
    """Keep what is new of an answer; returns how many repeats that is."""
    batch = desk.batch(number)
    if batch is None or start < 0 or start + told.count > batch.facts.places:
        what = "is none of this study" if batch is None else f"has the repeats 0 to {batch.facts.places - 1}"
        raise UnknownBatch(f"Repeats {start} to {start + told.count - 1} of batch {number} were told, which {what}.")
    found = desk.told_of(number)
    answers = batch.facts.answered + batch.facts.withdrawn
    if found != answers:
        raise Damaged(
            f"The study {desk.record.name!r} is damaged: batch {number} counts {answers} answers, and "
            f"{found} are found. Nothing was changed; see what `ostinato verify` says."
        )
    statistics = batch.facts.statistics
    if statistics.n and (statistics.known > 0) != (told.kind == Kind.WEIGHTED):
        raise InvalidFeedback(f"Batch {number} has values with standard errors and without: tell all of one kind.")
    there = desk.overlapping(number, start, told.count)
    for entry in there:
        _check_same(entry, start, told)
    new = Range(start, start + told.count).without([Range(e.start, e.start + e.told.count) for e in there])
    for each in new:
        batch = _appended(desk, batch, each.start, told.part(each.start - start, each.stop - start))
    _answered(desk, number, Range(start, start + told.count))
    return sum(each.stop - each.start for each in new)


def _answered(desk: Writer, number: int, told: Range) -> None:
    """Leases hold what has no value yet, and nothing else."""
    for lease in desk.leases(number):
        left = Range(lease.start, lease.start + lease.count).without([told])
        if sum(each.stop - each.start for each in left) < lease.count:
            desk.release(lease)
            for each in left:
                desk.lease(replace(lease, start=each.start, count=each.stop - each.start))


def was_observed(reader: Reader, key: str) -> bool:
    """Whether observations of this key are there."""
    return any(batch.facts.id < 0 and batch.reason == key for batch in reader.batches())


def observe(desk: Writer, index: int, told: Told, key: str) -> int:
    """Measurements that nobody asked for, as a batch with a number below 0."""
    number = -1 - desk.record.observed
    batch = BatchRecord(BatchFacts(number, index, told.count, told.count), desk.now(), key, leased=told.count)
    desk.add_batch(batch)
    desk.change(replace(desk.record, observed=desk.record.observed + 1))
    _appended(desk, batch, 0, told)
    return number


def close(desk: Writer, number: int) -> None:
    """The repeats of a batch that did not come will not come."""
    batch = desk.batch(number)
    if batch is None or number < 0:
        raise UnknownBatch(f"Batch {number} is none that was asked for in this study.")
    for lease in desk.leases(number):
        desk.release(lease)
    if not batch.facts.closed and batch.facts.pending > 0:
        desk.change_batch(replace(batch, facts=replace(batch.facts, closed=True)))
        desk.change(replace(desk.record, closed=desk.record.closed + 1))


def _appended(desk: Writer, batch: BatchRecord, start: int, told: Told) -> BatchRecord:
    """The log, the batch's aggregates and the study's counters, all in step."""
    facts, feedback = batch.facts, told.feedback()
    measured = feedback.measured(1, desk.record.numbered, 0)
    entry = desk.append(facts.id, start, told)
    together = facts.measured + measured
    facts = replace(
        facts,
        statistics=facts.statistics + feedback.statistics,
        points=together.points,
        rest=together.rest if together.at else Statistics(),
        at=together.at,
        failed=facts.failed + feedback.failed,
        first=facts.first or entry.number,
    )
    batch = replace(batch, facts=facts, last=entry.number)
    desk.change_batch(batch)
    record = desk.record
    desk.change(replace(record, answered=record.answered + told.count, failed=record.failed + feedback.failed))
    return batch


def _check_same(entry: Entry, start: int, told: Told) -> None:
    """What is told again must be what was told."""
    low, high = max(entry.start, start), min(entry.start + entry.told.count, start + told.count)
    old = entry.told.part(low - entry.start, high - entry.start)
    new = told.part(low - start, high - start)
    if old == new:
        return
    place = next(i for i in range(high - low) if old.part(i, i + 1) != new.part(i, i + 1))
    one, two = (each.part(place, place + 1).numbers().tolist() for each in (old, new))
    raise Conflict(
        f"Repeat {low + place} of batch {entry.batch} has the value {one[0]!r}, and {two[0]!r} was told: the first is "
        "kept. (Tell measurements beyond those asked for with observe.)"
    )


def _leased(desk: Writer, given: Lease, until: float, worker: str, most: int | None) -> Lease:
    """Repeats in a worker's hands; those beyond the most it takes are left for others."""
    count = min(given.count, most or given.count)
    desk.release(given)
    if count < given.count:
        desk.lease(Lease(given.batch, given.start + count, given.count - count, "", 0.0))
    lease = Lease(given.batch, given.start, count, worker, desk.now() + until)
    desk.lease(lease)
    return lease
