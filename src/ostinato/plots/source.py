"""What figures are made from: an optimiser, a study, or the result of a run, seen in one way."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias, TypeVar

import msgspec

from ostinato.candidates import Candidates
from ostinato.errors import InvalidSetting
from ostinato.measurements.batches import BatchFacts
from ostinato.measurements.tally import Statistics
from ostinato.optimizer import Optimizer
from ostinato.optimizer.facts import Asked, Recalled, Told
from ostinato.optimizer.readings import Reading, readings
from ostinato.records import Batch, Reason
from ostinato.running.result import Result
from ostinato.storage import BatchRecord
from ostinato.study.records import Measurement
from ostinato.study.view import StudyView, measurements_in

Drawable: TypeAlias = "Optimizer | StudyView | Result"
T = TypeVar("T")


class ToldBatch(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that something was told of, and what that was. Observations have numbers below 0."""

    id: int
    index: int
    asked: int
    statistics: Statistics
    failed: int
    reason: Reason | None
    made: float | None = None  # seconds since 1970, where a study knows it

    @property
    def answered(self) -> int:
        return int(self.statistics.n) + self.failed


@dataclass(frozen=True)
class Source:
    """Where the facts of a figure come from.

    looked: the answer of the optimiser to a question, in whatever thread. told: single measurements of some rows of the
    table. batches: those with feedback, in the order in which each was first told of.
    """

    name: str
    looked: Callable[[Callable[[Optimizer], Any]], Any]
    told: Callable[[Sequence[int]], Iterator[Reading | Measurement]]
    batches: Callable[[], list[ToldBatch]]

    @classmethod
    def of(cls, what: Any) -> "Source":
        """From what users have."""
        if isinstance(what, Result):
            return cls.of(what.optimizer if what.study is None else what.study)
        if isinstance(what, StudyView):
            return cls(what.name, what.looked, lambda rows: _told_in_study(what, rows), lambda: _stored_batches(what))
        if isinstance(what, Optimizer):
            return cls("", lambda question: question(what), lambda rows: _told(what, rows), lambda: _batches(what))
        kind = type(what).__name__
        raise InvalidSetting(f"Figures are drawn of a study, an optimiser or a result, and not of {kind}: give one.")


def _told(optimizer: Optimizer, rows: Sequence[int]) -> Iterator[Reading]:
    wanted = set(rows)
    return (each for each in readings(optimizer.core) if each.index in wanted)


def _told_in_study(study: StudyView, rows: Sequence[int]) -> Iterator[Measurement]:
    """Only the log of the batches in question is read."""
    wanted = set(rows)
    batches = [batch for batch in study.history() if batch.facts.index in wanted]
    return iter(study.reading(lambda reader: measurements_in(reader, batches)))


def _stored_batches(study: StudyView) -> list[ToldBatch]:
    told = [record for record in study.history() if record.facts.answered]
    ordered = sorted(told, key=lambda record: (record.facts.first, record.facts.id))
    return [_of_facts(record.facts, _reason(record), record.made) for record in ordered]


def _reason(record: BatchRecord) -> Reason | None:
    """Why a batch was asked for; observations have none."""
    asked = record.facts.id >= 0 and record.reason
    return msgspec.json.decode(record.reason, type=Reason) if asked else None


def _of_facts(facts: BatchFacts, reason: Reason | None, made: float | None = None) -> ToldBatch:
    return ToldBatch(
        id=facts.id,
        index=facts.index,
        asked=facts.repeats,
        statistics=facts.statistics,
        failed=facts.failed,
        reason=reason,
        made=made,
    )


def _batches(optimizer: Optimizer) -> list[ToldBatch]:
    """From the facts of an optimiser; a batch that is told of in parts is one."""
    asked, found, table = dict[int, Batch](), dict[tuple[int, int], ToldBatch](), optimizer.core.problem.table
    for fact in optimizer.core.state.facts:
        if isinstance(fact, Asked):
            asked[fact.batch.id] = fact.batch
        elif isinstance(fact, Recalled) and fact.facts.answered:
            asked[fact.facts.id] = fact.facts.batch
            found[fact.facts.id, fact.candidate] = _of_facts(fact.facts, fact.facts.batch.reason)
        elif isinstance(fact, Told):
            _join(found, fact, asked.get(fact.batch), table)
    return list(found.values())


def _join(found: dict[tuple[int, int], ToldBatch], fact: Told, batch: Batch | None, table: Candidates) -> None:
    for candidate, feedback in fact.feedback.items():
        before = found.get((fact.batch, candidate))
        found[fact.batch, candidate] = ToldBatch(
            id=fact.batch,
            index=table.index_of(candidate),
            asked=feedback.answered if batch is None else batch.repeats,
            statistics=feedback.statistics if before is None else before.statistics + feedback.statistics,
            failed=feedback.failed + (0 if before is None else before.failed),
            reason=None if batch is None else batch.reason,
        )


def finite(values: Iterable[float | None]) -> list[float]:
    """Those that are numbers."""
    return [value for value in values if value is not None and isfinite(value)]
