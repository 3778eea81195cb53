"""What is asked of a study in one call, some repeats of a batch or a plan of several batches, and what it is given."""

from collections import Counter
from collections.abc import Iterable, Mapping
from math import ceil
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from ostinato.optimizer.plan import Wish
from ostinato.storage import BatchRecord, Lease, StudyRecord, Writer
from ostinato.study.leases import without
from ostinato.study.workers import GivenUpCheck

UNLIMITED = 2**62  # measurements: more than there will ever be


class Request(msgspec.Struct, frozen=True):
    """key: by which the answer is found again where it was not heard. lease: seconds for which repeats are handed out.

    most: repeats, at most; share: among how many workers a batch is shared out; wish: of a plan. mine: keys of what
    the one who asks still holds.
    """

    key: str
    lease: float
    most: int | None = None
    share: int = 1
    wish: Wish | None = None
    mine: frozenset[str] = frozenset()


class TaskAllocation:
    """Allocates repeats to one request, within one `write`.

    What there is is read once, and every batch and lease is changed once.

    own: its leases; what was handed out to it already, and not heard of, is handed out to it. wanted: how many
    measurements it is still to be given. waiting: batches of which it may be given some, by number. left: how many
    measurements the budget leaves to be decided on; None where there is none.
    """

    def __init__(self, writer: Writer, request: Request) -> None:
        self._writer, self._request, self.now = writer, request, writer.now()
        record, leases, unfinished = writer.record, writer.leases(), writer.unfinished()
        given_up, held = GivenUpCheck(self.now, local=writer.local, mine=request.mine), Counter[int]()
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


def _forgotten(writer: Writer, batch: BatchRecord, leases: list[Lease]) -> list[Lease]:
    """Repeats of a batch that were handed out and have neither value nor lease: it was damaged, or left out."""
    number = batch.facts.batch.id
    taken = [entry.repeats for entry in writer.overlapping(number, 0, batch.leased)]
    taken += [lease.repeats for lease in leases if lease.batch == number]
    free = without(range(batch.leased), sorted(taken, key=attrgetter("start")))
    return [Lease(number, each.start, len(each), "", 0.0) for each in free]
