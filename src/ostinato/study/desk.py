"""Handing out repeats and taking in answers: what happens to stored facts, within one `write` of the storage.

A repeat is known by its batch and its number. It is handed out for a time; when that is over, or its worker is known to
be gone, it is handed out again. Whoever answers first is believed: the same answer again counts once, and another
one is refused.
"""

import os
import socket
from math import ceil

import msgspec
from msgspec.structs import replace

from ostinato.errors import Conflict, InvalidFeedback, UnknownBatch
from ostinato.facts import BatchFacts
from ostinato.storage import BatchRecord, Entry, Lease, Reader, Writer
from ostinato.storage.values import Kind, Told


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


def given_up(desk: Writer, until: float, worker: str, most: int | None) -> Lease | None:
    """Repeats whose time is over, or whose worker is gone, leased to another."""
    now = desk.now()
    for lease in desk.leases():
        if lease.until > now and not is_gone(lease.worker):
            continue
        desk.release(lease)
        batch = desk.batch(lease.batch)
        left = [] if batch is None or batch.facts.closed else unanswered(desk, lease)
        for each in left:
            desk.lease(replace(lease, start=each.start, count=each.stop - each.start))
        if left:
            return _leased(desk, lease.batch, left[0], until, worker, most)
    return None


def waiting(
    desk: Writer, unfinished: list[BatchRecord], until: float, worker: str, most: int | None, share: int
) -> Lease | None:
    """The next repeats of a batch that was decided already; about an equal part for each of `share` workers."""
    for batch in unfinished:
        rest = Range(batch.leased, batch.facts.repeats)
        if rest.start < rest.stop:
            part = max(1, ceil(batch.facts.repeats / share))
            count = min(part, rest.stop - rest.start, most or rest.stop)
            desk.change_batch(replace(batch, leased=batch.leased + count))
            return _leased(desk, batch.facts.id, Range(rest.start, rest.start + count), until, worker, None)
    return None


def give_back(desk: Writer, lease: Lease, keep: int) -> None:
    """The repeats of a lease but the first few are for others, at once."""
    desk.release(lease)
    if keep:
        desk.lease(replace(lease, count=keep))
    desk.lease(replace(lease, start=lease.start + keep, count=lease.count - keep, until=0.0))


def unanswered(desk: Reader, lease: Lease) -> list[Range]:
    """Those repeats of a lease that have no value yet."""
    taken = [Range(e.start, e.start + e.told.count) for e in desk.overlapping(lease.batch, lease.start, lease.count)]
    return Range(lease.start, lease.start + lease.count).without(taken)


def in_flight(reader: Reader) -> int:
    """How many repeats are in the hands of workers whose time is not over."""
    now = reader.now()
    held = [lease for lease in reader.leases() if lease.until > now and not is_gone(lease.worker)]
    return sum(each.stop - each.start for lease in held for each in unanswered(reader, lease))


def take(desk: Writer, number: int, start: int, told: Told) -> int:
    """Keep what is new of an answer; returns how many repeats that is."""
    batch = desk.batch(number)
    if batch is None or start < 0 or start + told.count > batch.facts.repeats:
        what = "is none of this study" if batch is None else f"has the repeats 0 to {batch.facts.repeats - 1}"
        raise UnknownBatch(f"Repeats {start} to {start + told.count - 1} of batch {number} were told, which {what}.")
    statistics = batch.facts.statistics
    if statistics.n and (statistics.known > 0) != (told.kind == Kind.WEIGHTED):
        raise InvalidFeedback(f"Batch {number} has values with standard errors and without: tell all of one kind.")
    there = desk.overlapping(number, start, told.count)
    for entry in there:
        _check_same(entry, start, told)
    new = Range(start, start + told.count).without([Range(e.start, e.start + e.told.count) for e in there])
    for each in new:
        batch = _appended(desk, batch, each.start, told.part(each.start - start, each.stop - start))
    for lease in desk.leases(number):
        if not unanswered(desk, lease):
            desk.release(lease)
    return sum(each.stop - each.start for each in new)


def observe(desk: Writer, index: int, told: Told) -> int:
    """Measurements that nobody asked for, as a batch with a number below 0."""
    number = -1 - desk.record.observed
    batch = BatchRecord(BatchFacts(number, index, told.count, told.count), desk.now(), leased=told.count)
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
    if not batch.facts.closed and batch.facts.answered < batch.facts.repeats:
        desk.change_batch(replace(batch, facts=replace(batch.facts, closed=True)))
        desk.change(replace(desk.record, closed=desk.record.closed + 1))


def _appended(desk: Writer, batch: BatchRecord, start: int, told: Told) -> BatchRecord:
    """The log, the batch's aggregates and the study's counters, all in step."""
    facts, feedback = batch.facts, told.feedback()
    entry = desk.append(facts.id, start, told)
    facts = replace(
        facts,
        statistics=facts.statistics + feedback.statistics,
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


def _leased(desk: Writer, batch: int, part: Range, until: float, worker: str, most: int | None) -> Lease:
    count = min(part.stop - part.start, most or part.stop)
    if count < part.stop - part.start:
        desk.lease(Lease(batch, part.start + count, part.stop - part.start - count, "", 0.0))
    lease = Lease(batch, part.start, count, worker, desk.now() + until)
    desk.lease(lease)
    return lease


def this_worker() -> str:
    """A name by which other processes of this machine can tell whether this one is alive."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def is_gone(worker: str) -> bool:
    """Whether a worker is known to be gone: a process of this machine that has ended."""
    host, _, rest = worker.rpartition(":")[0].rpartition(":")
    process, started = rest, worker.rpartition(":")[2]
    if host != socket.gethostname() or not process.isdigit() or not started:
        return False
    return _started(int(process)) != started


def _started(process: int) -> str:
    """When a process began, in the kernel's own ticks; nothing where that cannot be told, or where there is none."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
