"""The ledger of batches: which are in flight, how many epochs and switches there were, and what they cost.

An epoch begins with the first feedback of a batch. A switch is a change of candidate between consecutive epochs.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ostinato.checks import shown
from ostinato.errors import UnknownBatch
from ostinato.optimizer.facts import BatchFacts
from ostinato.records import Batch


class Lease(msgspec.Struct, frozen=True, eq=False):
    """A batch in flight, and how many of its repeats were told."""

    batch: Batch
    candidate: int
    told: int = 0  # answered, with a value or by failing
    values: int = 0

    @property
    def pending(self) -> int:
        return self.batch.repeats - self.told


class Ledger:
    """What was asked, and what became of it."""

    def __init__(self) -> None:
        self.asked = 0
        self.rounds = 0
        self.epochs = 0
        self.switches = 0
        self.switch_cost = 0.0
        self.full = self.capped = self.truncated = self.cut_short = 0
        self._leases: dict[int, Lease] = {}
        self._last: int | None = None
        self.position: int | None = None  # the candidate asked for last

    def lease(self, batch: Batch, candidate: int) -> None:
        self.asked += 1
        self.position = candidate
        self._leases[batch.id] = Lease(batch, candidate)

    def find(self, batch: Any) -> Lease:
        """The open lease of a batch."""
        if not isinstance(batch, Batch):
            raise UnknownBatch(f"{shown(batch)} is no batch: give what ask() returned.")
        lease = self._leases.get(batch.id)
        if lease is None or (lease.batch.index, lease.batch.repeats) != (batch.index, batch.repeats):
            over = lease is None and batch.id < self.asked
            cause = "is over: all its repeats were told, or it was closed" if over else "was not asked here"
            raise UnknownBatch(
                f"Batch {batch.id} {cause}. Use observe(candidate, values) for measurements beyond those asked for."
            )
        return lease

    def way(self, lease: Lease) -> tuple[int, int] | None:
        """From which candidate to which the first feedback of a lease is a switch, if it is one."""
        switched = lease.told == 0 and self._last is not None and self._last != lease.candidate
        return (self._last, lease.candidate) if switched and self._last is not None else None

    def lease_of(self, batch: int) -> Lease | None:
        """The open lease of a batch, by its number."""
        return self._leases.get(batch)

    def told(self, lease: Lease, values: int, failed: int, cost: float) -> None:
        """More repeats of the lease were told: so many values, and so many that failed; `cost` is that of the way."""
        if self.way(lease) is not None:
            self.switches += 1
            self.switch_cost += cost
        if lease.told == 0:
            self.epochs += 1
            self._last = lease.candidate
        lease = msgspec.structs.replace(lease, told=lease.told + values + failed, values=lease.values + values)
        self._leases[lease.batch.id] = lease
        if lease.pending == 0:
            del self._leases[lease.batch.id]
            complete = lease.values == lease.batch.repeats
            self.full += complete and lease.batch.full
            self.capped += complete and lease.batch.capped and not lease.batch.truncated
            self.truncated += complete and lease.batch.truncated
            self.cut_short += 0 < lease.values < lease.batch.repeats

    def close(self, lease: Lease) -> None:
        """The lease's remaining repeats will not come."""
        del self._leases[lease.batch.id]
        self.cut_short += lease.values > 0

    def recall(self, facts: Sequence[tuple[BatchFacts, Batch, int]], cost: Callable[[int, int], float]) -> None:
        """What was asked and what became of it, from facts: each with its batch and candidate, in the order asked."""
        for fact, batch, candidate in facts:
            self.asked, self.rounds, self.position = fact.id + 1, max(self.rounds, fact.round), candidate
            values, complete = int(fact.statistics.n), fact.statistics.n == fact.repeats
            if fact.answered < fact.repeats and not fact.closed:
                self._leases[fact.id] = Lease(batch, candidate, fact.answered, values)
                continue
            self.full += complete and fact.full
            self.capped += complete and fact.capped and not fact.truncated
            self.truncated += complete and fact.truncated
            self.cut_short += 0 < values < fact.repeats
        for _, _, candidate in sorted((each for each in facts if each[0].first), key=lambda each: each[0].first):
            self.epochs += 1
            if self._last is not None and self._last != candidate:
                self.switches += 1
                self.switch_cost += cost(self._last, candidate)
            self._last = candidate

    @property
    def partial(self) -> int:
        """Batches answered in part, closed or still open."""
        return self.cut_short + sum(lease.values > 0 for lease in self._leases.values())

    @property
    def in_flight(self) -> list[Lease]:
        return list(self._leases.values())

    @property
    def pending(self) -> dict[int, int]:
        """Repeats in flight by candidate."""
        counts: Counter[int] = Counter()
        for lease in self._leases.values():
            counts[lease.candidate] += lease.pending
        return dict(counts)
