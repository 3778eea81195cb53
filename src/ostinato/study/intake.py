"""Taking in answers, within one `write` of the storage: the log, the batches' aggregates and the study's counters.

Whoever answers first is believed: the same answer again counts once, and another one is refused. Batches and leases are
read once and changed once for all answers of a write, be it one or those of hundreds of clients.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from ostinato.errors import InvalidFeedback, OstinatoError, Unavailable, UnknownBatch
from ostinato.storage import BatchRecord, Entry, Lease, LogRow, Source, Writer
from ostinato.storage.values import Kind, StoredFeedback
from ostinato.study import log
from ostinato.study.exchange import Answer, check_candidate
from ostinato.study.leases import answered, next_of, without
from ostinato.study.origins import begun


class Report(msgspec.Struct, frozen=True):
    """What is told of some repeats of a batch; of its next ones where `start` is None.

    answer: where it says of which candidate it is, that is checked.
    """

    batch: int
    start: int | None
    told: StoredFeedback
    source: Source
    answer: Answer | None = None


def take(writer: Writer, reports: Sequence[Report]) -> int:
    """Keep what is new of some reports, all of them or none; returns how many repeats that is."""
    intake = Intake(writer, reports, {}, _no_candidate)
    new = sum(intake.take_report(report) for report in reports)
    intake.write()
    return new


def _no_candidate(row: int) -> Any:
    raise NotImplementedError(f"row {row}: reports that name their candidate are a GroupWriter's matter")


class BatchState(msgspec.Struct):
    """A batch, as it will be when all is written. rows: those of the log that are new."""

    batch: BatchRecord
    leases: Sequence[Lease]
    rows: tuple[LogRow, ...] = ()


class Intake:
    """Answers that are written together.

    reports: all that are to be taken in: their batches, and what is assigned of them, are read at once. last: the last
    row of the log of each batch, where that is known to be there. candidate_of: a row of the table.
    """

    def __init__(
        self, writer: Writer, reports: Iterable[Report], last: dict[int, int], candidate_of: Callable[[int], Any]
    ) -> None:
        self._writer, self._last, self._candidate_of = writer, last, candidate_of
        asked = {report.batch for report in reports if report.batch >= 0}
        leases: dict[int, list[Lease]] = {}
        for lease in writer.leases_of(asked):
            leases.setdefault(lease.batch, []).append(lease)
        batches = writer.batches_of(asked)
        self._before: dict[int, Sequence[Lease]] = {number: leases.get(number, []) for number in batches}
        self._states = {number: BatchState(batch, self._before[number]) for number, batch in batches.items()}
        self._rows: list[LogRow] = []
        self._answered = self._failed = 0

    def request(self, reports: Sequence[Report]) -> int | OstinatoError:
        """Take in the reports of one client; where any of them is refused, all are, and why is returned."""
        kept = [replace(state) for state in map(self._states.get, {each.batch for each in reports}) if state]
        before = len(self._rows), self._answered, self._failed
        try:
            return sum(self.take_report(report) for report in reports)
        except Unavailable:
            raise  # nothing is wrong with the request: all of the group is tried again
        except (OstinatoError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            self._states |= {state.batch.facts.id: state for state in kept}
            del self._rows[before[0] :]
            _, self._answered, self._failed = before
            return error if isinstance(error, OstinatoError) else _unreadable(reports, error)

    def take_report(self, report: Report) -> int:
        """Take in what is new of one report; returns how many repeats that is."""
        state, told = self._state(report.batch), report.told
        start = self._next(state) if report.start is None else report.start
        self._check(state, start, report)
        repeats = range(start, start + told.count)
        leases, ended = answered(state.leases, repeats)
        if len(ended) == 1 and ended[0].start <= repeats.start and repeats.stop <= ended[0].repeats.stop:
            new = [repeats]  # what is assigned has no value yet
        else:
            new = self._new(state, repeats, told)
        state.leases = leases
        for each in new:
            part = told if len(each) == told.count else told.part(each.start - start, each.stop - start)
            self._append(state, LogRow(report.batch, each.start, part, *begun(report.source, each.start, ended)))
        return sum(map(len, new))

    def write(self) -> list[Entry]:
        """Everything that was taken in; returns the rows of the log that are new."""
        gone, new = list[Lease](), list[Lease]()
        for number, state in self._states.items():
            if state.leases is not self._before[number]:
                old, now = set(self._before[number]), set(state.leases)
                gone += old - now
                new += now - old
        self._writer.change_leases(gone, new)
        if not self._rows:
            return []
        writer, changed = self._writer, [state.batch for state in self._states.values() if state.rows]
        entries = writer.append_all(self._rows)
        writer.change_batches(changed)
        self._last.update((batch.facts.batch.id, batch.last) for batch in changed)
        record = writer.record
        counts = {"answered": record.answered + self._answered, "failed": record.failed + self._failed}
        writer.change(replace(record, **counts))
        return entries

    def _state(self, number: int) -> BatchState:
        state = self._states.get(number)
        if state is None:
            raise UnknownBatch(f"Batch {number} is none that was asked for in this study.")
        if not state.rows and self._last.get(number) != state.batch.last:
            log.check_last(self._writer, state.batch)
        return state

    def _check(self, state: BatchState, start: int, report: Report) -> None:
        """Whether a batch has these repeats, is of that candidate, and has values of this kind."""
        facts, told = state.batch.facts, report.told
        if start < 0 or start + told.count > facts.places:
            raise UnknownBatch(
                f"Repeats {start} to {start + told.count - 1} of batch {facts.id} were told, which has the repeats 0 "
                f"to {facts.places - 1}."
            )
        if report.answer is not None:
            candidate: Any = self._candidate_of(facts.index) if report.answer.candidate else None
            check_candidate(facts.index, candidate, report.answer)
        statistics = facts.told.statistics
        if statistics.n and (statistics.known > 0) != (told.kind == Kind.WEIGHTED):
            raise InvalidFeedback(
                f"Batch {facts.id} has values with standard errors and without: tell all of one kind."
            )

    def _next(self, state: BatchState) -> int:
        """The first repeat that has no value."""
        facts = state.batch.facts
        if not state.rows:
            return next_of(self._writer, state.batch)
        taken = [entry.repeats for entry in self._writer.overlapping(facts.id, 0, facts.places)]
        taken += [range(row.start, row.start + row.told.count) for row in state.rows]
        left = without(range(facts.places), sorted(taken, key=lambda each: each.start))
        return left[0].start if left else facts.places

    def _new(self, state: BatchState, repeats: range, told: StoredFeedback) -> list[range]:
        """Repeats that have no value yet; an error where one has another value."""
        writer, facts = self._writer, state.batch.facts
        there = writer.overlapping(facts.id, repeats.start, len(repeats))
        for entry in there:
            if facts.withdrawn:
                log.check_counts(writer, entry, repeats.start, told)
            log.check_same(writer, entry, repeats.start, told)
        taken = [entry.repeats for entry in there]
        for row in state.rows:
            own = range(row.start, row.start + row.told.count)
            if own.start < repeats.stop and repeats.start < own.stop:
                log.check_alike(facts.id, own.start, row.told, repeats.start, told)
                taken.append(own)
        return without(repeats, sorted(taken, key=lambda each: each.start))

    def _append(self, state: BatchState, row: LogRow) -> None:
        """A row of the log, and what the batch comes to with it."""
        feedback, record = row.told.feedback(), self._writer.record
        numbered, number = record.numbered + self._answered, record.told + len(self._rows) + 1
        state.batch = log.joined(state.batch, feedback, numbered, number)
        state.rows = (*state.rows, row)
        self._rows.append(row)
        self._answered, self._failed = self._answered + row.told.count, self._failed + feedback.failed


def _unreadable(reports: Sequence[Report], error: Exception) -> InvalidFeedback:
    """A request that cannot be worked with is refused by itself: others of its group are stored."""
    numbers = ", ".join(str(each) for each in sorted({report.batch for report in reports})[:10])
    return InvalidFeedback(f"What was told of batch {numbers} cannot be stored: {type(error).__name__}: {error}.")
