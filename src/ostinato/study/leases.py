"""Handing out repeats, within one `write` of the storage.

A repeat is known by its batch and its number. It is handed out for a time, which may be renewed; when that is over, or
its worker is known to be gone, it is handed out again.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from operator import attrgetter

from msgspec.structs import replace

from ostinato.optimizer.plan import Wish
from ostinato.storage import BatchRecord, Lease, Reader, StudyRecord, Writer
from ostinato.study.request import Request
from ostinato.study.workers import Gone, name_of, token_of

UNLIMITED = 2**62  # measurements: more than there will ever be


class HandingOut:
    """Repeats for one request, within one `write`: what there is is read once, and every batch and lease changed once.

    own: its leases; what was handed out to it already, and not heard of, is handed out to it. wanted: how many
    measurements it is still to be given. waiting: batches of which it may be given some, by number. left: how many
    measurements the budget leaves to be decided on; None where there is none.
    """

    def __init__(self, writer: Writer, request: Request) -> None:
        self._writer, self._request, self.now = writer, request, writer.now()
        record, leases, unfinished = writer.record, writer.leases(), writer.unfinished()
        given_up, held = Gone(self.now, local=writer.local, mine=request.mine), Counter[int]()
        self._free = [lease for lease in leases if given_up(lease)]
        for lease in leases:
            held[lease.batch] += lease.count
        busy = held.total() - sum(lease.count for lease in self._free)
        for batch in unfinished:
            if batch.leased > batch.facts.answered + batch.facts.withdrawn + held[batch.facts.id]:
                self._free += _forgotten(writer, batch, leases)
        self.waiting = {batch.facts.id: batch for batch in unfinished}
        self._room, self.left = UNLIMITED, None
        if record.budget is not None:
            self._room, self.left = record.budget - record.answered - busy, left_of(record, record.budget, unfinished)
        self.own = [lease for lease in leases if lease.worker == request.key]
        self.wanted = 0 if self.own else UNLIMITED if request.most is None else request.most
        self._number = 0
        if request.wish is not None:
            self._plan(request.wish, leases, busy)

    def _plan(self, wish: Wish, leases: list[Lease], busy: int) -> None:
        """It asks for several leases, each with a key of its own. busy: how many measurements anybody has."""
        own = (lease for lease in leases if lease.worker.startswith(self._request.key))
        self.own = sorted(own, key=attrgetter("batch", "start"))
        numbers = [lease.worker.removeprefix(self._request.key) for lease in self.own]
        self._number = 1 + max((int(each) for each in numbers if each.isdigit()), default=-1)  # of its next key
        count, most = sum(lease.count for lease in self.own), self._request.most
        if wish.slots is not None:
            self.wanted = wish.slots - count
        else:
            self.wanted = min((wish.workers or 0) - busy, UNLIMITED if most is None else most - count)
        self._free = [lease for lease in self._free if lease not in self.own]
        if wish.distinct or wish.shared:  # nothing but what is decided for it
            self.waiting, self._free = {}, []

    def take(self, batches: Mapping[int, BatchRecord]) -> dict[int, BatchRecord]:
        """Give it repeats that were given up, and then such of these batches as wait for their first time.

        Returns the batches of which more was handed out now than before: the caller stores them.
        """
        request, several = self._request, self._request.wish is not None
        parts: list[tuple[Lease, BatchRecord | None]] = [(lease, None) for lease in self._free]
        for number, batch in batches.items():
            left, share = batch.facts.places - batch.leased, 1 if several else request.share
            if left > 0:
                count = min(left, ceil(batch.facts.batch.repeats / share))
                parts.append((Lease(number, batch.leased, count, "", 0.0), batch))
        changed, gone, new = dict[int, BatchRecord](), list[Lease](), list[Lease]()
        for part, first in parts:
            count = min(part.count, self.wanted, self._room)
            if count < 1:
                break
            key = f"{request.key}{self._number}" if several else request.key
            new.append(Lease(part.batch, part.start, count, key, self.now + request.lease, request.lease, self.now))
            self.own.append(new[-1])
            if first is not None:
                changed[part.batch] = replace(first, leased=part.start + count)
            elif count < part.count:  # the rest is for others
                new.append(Lease(part.batch, part.start + count, part.count - count, "", 0.0))
            gone.append(part)
            self.wanted, self._room = self.wanted - count if several else 0, self._room - count
            self._number += 1
        if new:
            self._writer.change_leases(gone, new)
        self._free = []
        return changed


def left_of(record: StudyRecord, budget: int, unfinished: Iterable[BatchRecord]) -> int:
    """Measurements that may still be decided on."""
    return max(0, budget - record.answered - sum(batch.facts.pending for batch in unfinished))


def in_hand(reader: Reader) -> dict[int, int]:
    """How many repeats of each batch are assigned to workers whose time is not over."""
    given_up, counts = Gone(reader.now(), local=reader.local), Counter[int]()
    for lease in reader.leases():
        if not given_up(lease):
            counts[lease.batch] += lease.count
    return counts


def without(whole: range, taken: Iterable[range]) -> list[range]:
    """What is left of some repeats when others, in order, are taken away."""
    left, at = list[range](), whole.start
    for each in taken:
        if each.start > at:
            left.append(range(at, min(each.start, whole.stop)))
        at = max(at, each.stop)
    return [each for each in [*left, range(at, whole.stop)] if each.start < each.stop]


def give_back(writer: Writer, lease: Lease, keep: int) -> None:
    """The repeats of a lease from number `keep` on are for others, at once."""
    kept, rest = max(0, min(lease.count, keep - lease.start)), max(lease.start, keep)
    writer.release(lease)
    if kept:
        writer.lease(replace(lease, count=kept))
    if kept < lease.count:
        writer.lease(Lease(lease.batch, rest, lease.count - kept, "", 0.0))  # of nobody: no heart beats for it


def free(writer: Writer, worker: str | None, batch: int | None, token: str | None = None) -> int:
    """All that is assigned is for others, at once; or that of a worker, a batch or a token; returns how many."""
    found = [lease for lease in writer.leases(batch) if lease.worker and is_of(lease, worker, token)]
    for lease in found:
        give_back(writer, lease, 0)
    return sum(lease.count for lease in found)


def is_of(lease: Lease, worker: str | None, token: str | None) -> bool:
    """Whether it is assigned to a worker, and was asked for with a token; None for any.

    Leases of earlier versions know no token: there the worker's name was that of the token.
    """
    name = name_of(lease.worker)
    return worker in (None, name) and token in (None, token_of(lease.worker) or name)


def _forgotten(writer: Writer, batch: BatchRecord, leases: list[Lease]) -> list[Lease]:
    """Repeats of a batch that were handed out and have neither value nor lease: it was damaged, or left out."""
    number = batch.facts.batch.id
    taken = [entry.repeats for entry in writer.overlapping(number, 0, batch.leased)]
    taken += [lease.repeats for lease in leases if lease.batch == number]
    free = without(range(batch.leased), sorted(taken, key=attrgetter("start")))
    return [Lease(number, each.start, len(each), "", 0.0) for each in free]


def next_of(reader: Reader, batch: BatchRecord) -> int:
    """The first repeat of a batch that has no value."""
    facts, told = batch.facts, batch.facts.answered + batch.facts.withdrawn
    last = reader.overlapping(facts.id, max(0, told - 1), facts.places)
    if told == 0 or (len(last) == 1 and last[0].repeats.stop == told):
        return told  # so many repeats, and none beyond: there is no gap among them
    taken = [entry.repeats for entry in reader.overlapping(batch.facts.id, 0, batch.facts.places)]
    left = without(range(batch.facts.places), taken)
    return left[0].start if left else batch.facts.places


def answered(leases: Sequence[Lease], told: range) -> tuple[list[Lease], list[Lease]]:
    """Leases of a batch, in order, when some repeats have got their values; and those that held any of these before.

    No repeat is assigned twice, so that the leases in question are found without looking at all.
    """
    first = max(0, bisect_right(leases, told.start, key=attrgetter("start")) - 1)
    last = bisect_left(leases, told.stop, lo=first, key=attrgetter("start"))
    near = leases[first:last]
    ended = [lease for lease in near if lease.start < told.stop and told.start < lease.start + lease.count]
    left = list[Lease]()
    for lease in near:
        if lease in ended:
            left += [replace(lease, start=each.start, count=len(each)) for each in without(lease.repeats, [told])]
        else:
            left.append(lease)
    return [*leases[:first], *left, *leases[last:]], ended
