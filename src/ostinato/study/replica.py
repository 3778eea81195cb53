"""The optimiser of a study in this process: made from stored facts, and kept in step with what others ask and tell."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from operator import methodcaller
from typing import Any

import msgspec
from msgspec.structs import replace

from ostinato.candidates import Candidates, Sampled
from ostinato.errors import Damaged
from ostinato.measurements.batches import BatchFacts
from ostinato.measurements.robust import Limits
from ostinato.optimizer import Optimizer
from ostinato.optimizer.decision import Decision
from ostinato.optimizer.facts import DecisionState, Told
from ostinato.records import Reason
from ostinato.storage import BatchRecord, Reader, StudyRecord, Writer
from ostinato.storage.values import Kind
from ostinato.study.candidates import retired_of
from ostinato.study.revise import changes_of, gaps_of

COUNTERS = ("asked", "observed", "told", "answered", "decided", "closed")  # they never fall
TOLD = ("told", "answered", "failed")  # what telling changes, and nothing else
REMADE = ("created", "closed", "revised", "digest", "retired")  # where one of these has changed, it is made anew
AS_TEXT = msgspec.json.Encoder(enc_hook=methodcaller("tolist"))  # of reasons, which hold arrays
REMAKE_FROM = 500  # rows of the log from which making it anew is quicker than following


class Replica:
    """An optimiser that knows what a moment of the study knew."""

    def __init__(self, reader: Reader, table: Candidates, settings: dict[str, Any]) -> None:
        self._certified = settings.get("search") == "certified"
        record, batches = reader.record, reader.batches()
        facts = [self._facts(batch) for batch in batches]
        _check(record, facts)
        self.optimizer = Optimizer(table, budget=record.budget, **settings)
        self.optimizer.lend(f"the study {record.name!r}")
        number_of = self.optimizer.core.problem.table.number_of
        self._candidates = {fact.id: number_of(fact.index) for fact in facts}  # by batch
        self._robust = bool(settings.get("robust"))
        limits = {batch.facts.id: each for batch in batches if (each := self._limits(batch)) is not None}
        told = list(self._told(reader, limits)) if self._robust else []
        what = (facts, self._decision_state(record), gaps_of(reader), retired_of(record))
        self.optimizer.core.recall(*what, told=told, limits=limits)
        self._at = record

    def follows(self, reader: Reader) -> bool:
        """Come to the reader's moment; False where that takes a new one."""
        record, then = reader.record, self._at
        if any(getattr(record, name) < getattr(then, name) for name in COUNTERS):
            return False  # an older copy was put in its place
        if record.told == then.told and record.decided == then.decided and record.state != then.state:
            return False
        if (
            any(getattr(record, name) != getattr(then, name) for name in REMADE)
            or record.told - then.told > REMAKE_FROM
        ):
            return False
        core, decision_state = (
            self.optimizer.core,
            self._decision_state(record) if record.decided != then.decided else None,
        )
        if decision_state is not None and decision_state.fit_state != core.state.decision_state.fit_state:
            return False
        if (record.asked, record.observed) != (then.asked, then.observed):
            self._follow_new(reader.batches(since=then))
        joined = None if self._robust else Kind.VALUES  # with robust=True what was told together is looked at together
        rows = reader.log(after=then.told, most=REMAKE_FROM)
        for (batch, _), own in groupby(rows, lambda row: (row.batch, 0 if row.told.kind == joined else row.number)):
            if batch >= 0 and batch not in core.known.state.ledger.open:
                return False  # a late answer, for a batch that was closed
            first, *rest = (row.told for row in own)
            told = first.then(rest) if rest else first
            core.add_feedback(batch, {self._candidates[batch]: told.feedback()}, quietly=True)
        if decision_state is not None:
            core.resume(decision_state)
        if record.budget != then.budget:
            core.state.budget = record.budget
        self._at = record
        return True

    def _follow_new(self, batches: Iterable[BatchRecord]) -> None:
        """Batches that others asked for, or observed."""
        core = self.optimizer.core
        for batch in batches:
            self._candidates[batch.facts.id] = core.problem.table.number_of(batch.facts.index)
            if batch.facts.id >= 0:
                core.follow(self._facts(batch), self._limits(batch))

    def _decision_state(self, record: StudyRecord) -> DecisionState | None:
        decision_state, table = decision_state_of(record), self.optimizer.core.problem.table
        return (
            decision_state.renumbered(table.number_of)
            if decision_state is not None and isinstance(table, Sampled)
            else decision_state
        )

    def _facts(self, batch: BatchRecord) -> BatchFacts:
        """With the reason of a batch where its certificate needs it: how near to the highest score it was."""
        if not self._certified or batch.facts.id < 0 or not batch.reason:
            return batch.facts
        reason = msgspec.json.decode(batch.reason, type=Reason)
        return replace(batch.facts, batch=replace(batch.facts.batch, reason=reason))

    def _limits(self, batch: BatchRecord) -> Limits | None:
        """What was expected of a batch's values when it was decided; for robust=True."""
        asked = self._robust and batch.facts.id >= 0 and batch.reason
        return msgspec.json.decode(batch.reason, type=Reason).limits if asked else None

    def _told(self, reader: Reader, limits: Mapping[int, Limits]) -> Iterator[Told]:
        """All that was told and counts, in the order it came."""
        changes, after = changes_of(reader.revisions()), 0
        while entries := reader.log(after=after):
            for entry in entries:
                feedback = entry.told.feedback(changes.get(entry.number, {}))
                if feedback.answered:
                    yield Told(entry.batch, {self._candidates[entry.batch]: feedback}, limits.get(entry.batch))
            after = entries[-1].number

    def keep(
        self, writer: Writer, decision: Decision, made: float, keep_table: Callable[[Writer, Candidates], object]
    ) -> dict[int, BatchRecord]:
        """The study goes on from a decision, made at that moment; returns its batches, which the caller stores.

        None are where something was asked, observed, closed or revised since. Values of earlier batches may have been
        told, which it has yet to follow: a decision is always made while some are on their way. keep_table: for points
        of a space, which are stored as they are asked for.
        """
        record, core = writer.record, self.optimizer.core
        if replace(self._at, **{name: getattr(record, name) for name in TOLD}) != record:
            return {}
        batches = core.commit(decision)
        if batches[0].id != record.asked:
            raise Damaged(f"The study {record.name!r} is damaged: batch {batches[0].id} comes after {record.asked}.")
        decision_state, table = decision.decision_state, core.problem.table
        if isinstance(table, Sampled):
            keep_table(writer, table)
            decision_state = decision_state.renumbered(
                table.index_of
            )  # points have the same indices everywhere, and numbers here
        state, asked = msgspec.json.encode(decision_state), record.asked + len(batches)
        writer.change(replace(writer.record, asked=asked, state=state, decided=record.decided + 1))
        self._candidates |= {asked.batch.id: asked.candidate for asked in decision.asked}
        self._at = replace(writer.record, **{name: getattr(self._at, name) for name in TOLD})
        reasons = (AS_TEXT.encode(batch.reason).decode() for batch in batches)
        return {
            batch.id: BatchRecord(BatchFacts(batch), made, reason)
            for batch, reason in zip(batches, reasons, strict=True)
        }


def decision_state_of(record: StudyRecord) -> DecisionState | None:
    """What the next decision rests on; None before the first."""
    return msgspec.json.decode(record.state, type=DecisionState) if record.state else None


def _check(record: StudyRecord, facts: list[BatchFacts]) -> None:
    """What the study counts must be what its batches say."""
    asked = sum(fact.id >= 0 for fact in facts)
    seen = (asked, len(facts) - asked, sum(fact.answered for fact in facts), sum(fact.failed for fact in facts))
    counted = (record.asked, record.observed, record.answered, record.failed)
    if seen != counted:
        raise Damaged(
            f"The study {record.name!r} is damaged: it counts {counted} batches, observations, answers and failures, "
            f"and {seen} are there. Nothing was changed; restore a copy, or see what `ostinato verify` says of it."
        )
