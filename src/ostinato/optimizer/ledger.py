"""The ledger of batches: which are in flight, how many epochs and switches there were, and what they cost.

An epoch begins with the first feedback of a batch. A switch is a change of candidate between consecutive epochs.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ostinato.checks import brief
from ostinato.errors import UnknownBatch
from ostinato.measurements.robust import Limits
from ostinato.optimizer.costs import SwitchCost, cost_between
from ostinato.optimizer.facts import Asked, Recalled
from ostinato.policies import Proposal
from ostinato.records import Batch


class OpenBatch(msgspec.Struct, frozen=True, eq=False):
    """A batch in flight, and how many of its repeats are to come."""

    batch: Batch
    candidate: int
    pending: int
    values: int = 0
    limits: Limits | None = None
    arrived: bool = False  # whether anything was told of it


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
        self.open: dict[int, OpenBatch] = {}  # batches in flight, by their numbers
        self._last: int | None = None
        self.position: int | None = None  # the candidate asked for last

    def ask(self, asked: Asked) -> None:
        """A batch was asked for."""
        batch = asked.batch
        if batch.id >= self.asked:
            self.asked, self.position = batch.id + 1, asked.candidate
        self.rounds = max(self.rounds, batch.round)
        self.open[batch.id] = OpenBatch(batch, asked.candidate, batch.repeats, limits=asked.limits)
        if batch.reason is not None and (gap := batch.reason.gap) is not None:  # below a space's highest score, at most
            self.certified, self.gap = self.certified + 1, max(self.gap, gap)
            self.total_gap += batch.repeats * gap

    def find(self, batch: Any) -> OpenBatch:
        """The batch, which must be in flight."""
        if not isinstance(batch, Batch):
            raise UnknownBatch(f"{brief(batch)} is not a batch: give what ask() returned.")
        open_ = self.open.get(batch.id)
        if open_ is None or (open_.batch.index, open_.batch.repeats) != (batch.index, batch.repeats):
            over = open_ is None and batch.id < self.asked
            cause = "is over: all its repeats were told, or it was closed" if over else "was not asked here"
            raise UnknownBatch(
                f"Batch {batch.id} {cause}. Use observe(candidate, values) for measurements beyond those asked for."
            )
        return open_

    def way(self, open_: OpenBatch) -> tuple[int, int] | None:
        """The candidates of the switch that the first feedback of a batch is, from and to; None if it is no switch."""
        switched = not open_.arrived and self._last is not None and self._last != open_.candidate
        return (self._last, open_.candidate) if switched and self._last is not None else None

    def told(self, open_: OpenBatch, answered: int, failed: int, costs: SwitchCost | None) -> None:
        """More repeats of a batch were told. The first of them begin an epoch."""
        if not open_.arrived:
            self.epochs += 1
            if self._last is not None and self._last != open_.candidate:
                self.switches += 1
                if costs is not None:
                    self.switch_cost += cost_between(costs, self._last, open_.candidate)
            self._last = open_.candidate
        number, pending = open_.batch.id, open_.pending - answered
        self.open[number] = replace(open_, pending=pending, values=open_.values + answered - failed, arrived=True)
        if pending <= 0:
            self.close(number)

    def close(self, number: int) -> None:
        """Close a batch: its repeats that did not come will not come."""
        open_ = self.open.pop(number)
        batch, values = open_.batch, open_.values
        if values < batch.repeats:
            self.cut_short += values > 0
        elif batch.truncated:
            self.truncated += 1
        elif batch.capped:
            self.capped += 1
        else:
            self.full += 1

    def recall(self, recalled: Recalled, costs: SwitchCost | None) -> None:
        """A batch and what became of it. They come in the order of their first feedback."""
        facts, number = recalled.facts, recalled.facts.id
        self.ask(Asked(facts.batch, recalled.candidate, recalled.limits))
        open_ = self.open[number] = replace(self.open[number], pending=facts.pending + facts.answered)
        if facts.first:
            self.told(open_, facts.answered, facts.failed, costs)
        if number in self.open and (facts.closed or facts.pending <= 0):
            self.close(number)

    @property
    def partial(self) -> int:
        """Batches answered in part, closed or still open."""
        return self.cut_short + sum(open_.values > 0 for open_ in self.open.values())

    @property
    def in_flight(self) -> list[OpenBatch]:
        """In the order asked."""
        return [self.open[number] for number in sorted(self.open)]

    @property
    def pending(self) -> dict[int, int]:
        """Repeats in flight by candidate."""
        return self.pending_with(())

    def pending_with(self, planned: Sequence[Proposal]) -> dict[int, int]:
        """The same, with those of a plan."""
        repeats = [(open_.candidate, open_.pending) for _, open_ in sorted(self.open.items())]
        counts: dict[int, int] = {}
        for candidate, more in [*repeats, *((each.candidate, each.repeats) for each in planned)]:
            counts[candidate] = counts.get(candidate, 0) + more
        return counts
