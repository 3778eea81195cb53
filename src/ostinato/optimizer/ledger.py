"""The ledger of batches: which are in flight, how many epochs and switches there were, and what they cost.

An epoch begins with the first feedback of a batch. A switch is a change of candidate between consecutive epochs.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from ostinato.checks import brief
from ostinato.errors import UnknownBatch
from ostinato.measurements.robust import Limits
from ostinato.optimizer.facts import Asked, Recalled
from ostinato.records import Batch


class OpenBatch(msgspec.Struct, frozen=True, eq=False):
    """A batch in flight, and how many of its repeats were told."""

    batch: Batch
    candidate: int
    told: int = 0  # answered, with a value or by failing
    values: int = 0
    limits: Limits | None = None
    arrived: bool = False  # whether anything was told of it

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
        self.certified, self.gap, self.total_gap = 0, 0.0, 0.0
        self._open: dict[int, OpenBatch] = {}
        self._last: int | None = None
        self.position: int | None = None  # the candidate asked for last

    def ask(self, asked: Asked) -> None:
        """A batch was asked for."""
        batch = asked.batch
        self.asked, self.rounds, self.position = batch.id + 1, max(self.rounds, batch.round), asked.candidate
        self._open[batch.id] = OpenBatch(batch, asked.candidate, limits=asked.limits)
        self._certify(batch)

    def find(self, batch: Any) -> OpenBatch:
        """The batch, which must be in flight."""
        if not isinstance(batch, Batch):
            raise UnknownBatch(f"{brief(batch)} is not a batch: give what ask() returned.")
        open_ = self._open.get(batch.id)
        if open_ is None or (open_.batch.index, open_.batch.repeats) != (batch.index, batch.repeats):
            over = open_ is None and batch.id < self.asked
            cause = "is over: all its repeats were told, or it was closed" if over else "was not asked here"
            raise UnknownBatch(
                f"Batch {batch.id} {cause}. Use observe(candidate, values) for measurements beyond those asked for."
            )
        return open_

    def way(self, open_: OpenBatch) -> tuple[int, int] | None:
        """From which candidate to which the first feedback of a batch is a switch, if it is one."""
        switched = not open_.arrived and self._last is not None and self._last != open_.candidate
        return (self._last, open_.candidate) if switched and self._last is not None else None

    def open_batch(self, batch: int) -> OpenBatch | None:
        """A batch in flight, by its number."""
        return self._open.get(batch)

    def must_be_open(self, batch: int) -> OpenBatch:
        return self._open[batch]

    def told(self, open_: OpenBatch, values: int, failed: int, cost: float) -> None:
        """More repeats of a batch were told: so many values, and so many that failed; `cost` is that of the way."""
        if not open_.arrived:
            self._arrive(open_.candidate, cost)
        open_ = msgspec.structs.replace(
            open_, told=open_.told + values + failed, values=open_.values + values, arrived=True
        )
        self._open[open_.batch.id] = open_
        if open_.pending == 0:
            del self._open[open_.batch.id]
            self._over(open_.batch, open_.values)

    def close(self, open_: OpenBatch) -> None:
        """The remaining repeats of a batch will not come."""
        del self._open[open_.batch.id]
        self._over(open_.batch, open_.values)

    def recall(self, recalled: Recalled, cost: Callable[[int, int], float]) -> None:
        """A batch and what became of it. They come in the order of their first feedback."""
        facts, batch, candidate = recalled.facts, recalled.facts.batch, recalled.candidate
        if facts.id >= self.asked:
            self.asked, self.position = facts.id + 1, candidate
        self.rounds = max(self.rounds, batch.round)
        values = int(facts.statistics.n)
        self._certify(batch)
        if facts.first:
            self._arrive(candidate, 0.0 if self._last in (None, candidate) else cost(self._last, candidate))
        if facts.pending > 0 and not facts.closed:
            told, arrived = facts.repeats - facts.pending, bool(facts.first)
            self._open[facts.id] = OpenBatch(batch, candidate, told, values, recalled.limits, arrived)
        else:
            self._over(batch, values)

    def _certify(self, batch: Batch) -> None:
        """How far below the highest score of a space a batch's own may be, where that is known."""
        if batch.reason is not None and (gap := batch.reason.gap) is not None:
            self.certified, self.gap = self.certified + 1, max(self.gap, gap)
            self.total_gap += batch.repeats * gap

    def _arrive(self, candidate: int, cost: float) -> None:
        """An epoch begins."""
        self.epochs += 1
        if self._last is not None and self._last != candidate:
            self.switches += 1
            self.switch_cost += cost
        self._last = candidate

    def _over(self, batch: Batch, values: int) -> None:
        """Nothing more of a batch will come."""
        complete = values == batch.repeats
        self.full += complete and batch.full
        self.capped += complete and batch.capped and not batch.truncated
        self.truncated += complete and batch.truncated
        self.cut_short += 0 < values < batch.repeats

    @property
    def partial(self) -> int:
        """Batches answered in part, closed or still open."""
        return self.cut_short + sum(open_.values > 0 for open_ in self._open.values())

    @property
    def in_flight(self) -> list[OpenBatch]:
        """In the order asked."""
        return [self._open[number] for number in sorted(self._open)]

    @property
    def pending(self) -> dict[int, int]:
        """Repeats in flight by candidate."""
        counts: dict[int, int] = {}
        for _, open_ in sorted(self._open.items()):
            counts[open_.candidate] = counts.get(open_.candidate, 0) + open_.pending
        return counts
