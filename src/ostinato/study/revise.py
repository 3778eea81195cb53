"""Measurements taken back or corrected. What was stored stays; what counts is worked out anew.

Aggregates of a batch are made again from its rows of the log and from what was revised of them, the study's counters
follow, and the last fit is forgotten: so the next decision is what it would have been with the right values.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isnan

import msgspec
import numpy as np
from msgspec.structs import replace

from ostinato.errors import Damaged, InvalidFeedback
from ostinato.measurements.batches import number_at, place_among
from ostinato.measurements.history import Measured
from ostinato.measurements.outcomes import Outcome
from ostinato.optimizer.facts import DecisionState, OutlierReview
from ostinato.storage import BatchRecord, Entry, Reader, Revision, Writer
from ostinato.storage.values import Kind, told_values
from ostinato.study.intake import Report, take
from ostinato.study.origins import this_machine

Changes = dict[int, dict[int, float | None]]  # row of the log → place in it → the value that counts, None for none


class CountedRows(msgspec.Struct, frozen=True):
    """What counts of some rows of the log: measurements, failures, and how many were taken back."""

    measured: Measured = Measured()
    failed: int = 0
    withdrawn: int = 0
    first: int = 0

    def plus(self, entry: Entry, number: int, changes: Mapping[int, float | None]) -> "CountedRows":
        """One row more, the first of whose measurements has this number."""
        feedback = entry.told.feedback(changes)
        measured = feedback.measured(1, number - 1, 0)
        if measured.at:
            measured = replace(measured, at=number + entry.told.count - 1)
        return CountedRows(
            self.measured + measured,
            self.failed + feedback.failed,
            self.withdrawn + entry.told.count - feedback.answered,
            self.first or (entry.number if feedback.answered else 0),
        )


def changes_of(revisions: Iterable[Revision]) -> Changes:
    """What counts in place of what was told; the last revision of a measurement is the one that does."""
    changes: Changes = {}
    for each in revisions:
        changes.setdefault(each.row, {})[each.place] = each.value
    return changes


def revise(
    writer: Writer, wanted: Mapping[int, float | None], why: str, outcome: Outcome, *, again: bool = True
) -> list[Revision]:
    """Other values for measurements, by their numbers; None takes one back. Returns what was changed.

    again: whether repeats taken back from a batch that still waits for others are waited for again.
    """
    before = gaps_of(writer)
    made = list(_revisions(writer, wanted, why, outcome))
    for number in sorted({each.batch for each in made}):
        _work_out(writer, number, again=again)
    if made:
        forget(writer, before)
    return made


def forget(writer: Writer, gaps_before: Sequence[int] | None = None) -> None:
    """The next decision rests on the facts as they are now, and on no fit or round that was made before."""
    if writer.record.state:
        decision_state, gaps = msgspec.json.decode(writer.record.state, type=DecisionState), gaps_of(writer)
        before = gaps if gaps_before is None else gaps_before
        began = None if decision_state.began is None else place_among(number_at(decision_state.began, before), gaps)
        _remember(writer, DecisionState(decision_state.random, [], None, OutlierReview(), began))


def without_round(writer: Writer) -> None:
    """What was decided and not handed out yet is decided anew."""
    if writer.record.state:
        _remember(writer, replace(msgspec.json.decode(writer.record.state, type=DecisionState), round=[]))


def _remember(writer: Writer, decision_state: DecisionState) -> None:
    writer.change(replace(writer.record, state=msgspec.json.encode(decision_state), decided=writer.record.decided + 1))


def _revisions(writer: Writer, wanted: Mapping[int, float | None], why: str, outcome: Outcome) -> Iterator[Revision]:
    changes = changes_of(writer.revisions())
    for number, value in wanted.items():
        found = writer.row_of(number)
        if found is None:
            last = writer.record.numbered
            there = f"they are numbered 1 to {last}" if last else "nothing was told so far"
            raise InvalidFeedback(f"There is no measurement {number}: {there}.")
        entry, place = found
        if value is not None:
            outcome.check(value)
        places: Sequence[int] = [place]
        if entry.told.kind == Kind.SUMMARY:
            if value is not None:
                raise InvalidFeedback(
                    f"Measurement {number} is one of an average of {entry.told.count}: take that back, and observe "
                    "the right one."
                )
            places = range(entry.told.count)
        first, now = number - place, changes.setdefault(entry.number, {})
        for each in places:
            if value is None and now.get(each, 0.0) is None:
                continue  # it was taken back before
            now[each] = value
            yield writer.revise(Revision(first + each, entry.number, each, entry.batch, value, why=why))


def skip(writer: Writer, batch: int, repeat: int) -> None:
    """A repeat that will not be made: it failed, and that is taken back. No decision knew of it."""
    if _is_skipped(writer, batch, repeat):
        return
    if take(writer, [Report(batch, repeat, told_values(np.array([np.nan])), this_machine())]):
        number, row = (
            writer.record.numbered,
            writer.record.told,
        )  # those of what was just told, alone in its row of the log
        writer.revise(Revision(number, row, 0, batch, None, why="skipped"))
        _work_out(writer, batch, again=False)


def _is_skipped(reader: Reader, batch: int, repeat: int) -> bool:
    """Whether a repeat was skipped before; the answer may not have been heard."""
    why = {(each.row, each.place): each.why for each in reader.revisions(batch) if each.value is None}
    entries = reader.overlapping(batch, repeat, 1)
    return any(why.get((entry.number, repeat - entry.start)) == "skipped" for entry in entries)


def _work_out(writer: Writer, number: int, *, again: bool) -> None:
    """The aggregates of a batch, and the study's counters, from what counts now."""
    batch = writer.batch(number)
    if batch is None:
        raise Damaged(
            f"The study {writer.record.name!r} is damaged: the log has rows of batch {number}, which is missing."
        )
    entries = sorted(writer.overlapping(number, 0, batch.facts.places), key=lambda entry: entry.number)
    firsts, changes = writer.first_numbers([entry.number for entry in entries]), changes_of(writer.revisions(number))
    found = CountedRows()
    for entry in entries:
        found = found.plus(entry, firsts[entry.number], changes.get(entry.number, {}))
    writer.change_batch(_with(batch, found, again=again))
    old, record, n = batch.facts, writer.record, int(found.measured.statistics.n)
    writer.change(
        replace(
            record,
            answered=record.answered + n + found.failed - old.answered,
            failed=record.failed + found.failed - old.failed,
            withdrawn=record.withdrawn + found.withdrawn - old.withdrawn,
        )
    )


def _with(batch: BatchRecord, found: CountedRows, *, again: bool) -> BatchRecord:
    facts, measured = batch.facts, found.measured
    waits = again and facts.pending > 0 and not facts.closed
    more = max(0, found.withdrawn - facts.withdrawn) if waits else 0
    return replace(
        batch,
        facts=replace(
            facts,
            told=measured if measured.at else Measured(measured.statistics),
            failed=found.failed,
            first=found.first,
            withdrawn=found.withdrawn,
            replaced=facts.replaced + more,
        ),
    )


def gaps_of(reader: Reader) -> list[int]:
    """The numbers of measurements that were taken back, in order."""
    if not reader.record.withdrawn:
        return []
    last = {each.measurement: each.value for each in reader.revisions()}
    return sorted(number for number, value in last.items() if value is None)


def failures_since(reader: Reader, since: float, only: int | None = None) -> list[int]:
    """The numbers of measurements that failed and were told at some moment or later; of one row of the table only."""
    rows = {batch.facts.id: batch.facts.index for batch in reader.batches()}
    changes, number, found = changes_of(reader.revisions()), 1, list[int]()
    after = 0
    while entries := reader.log(after=after):
        for entry in entries:
            if entry.at >= since and only in (None, rows[entry.batch]):
                found += [number + place for place in failed_places(entry, changes)]
            number += entry.told.count
        after = entries[-1].number
    return found


def failures_of(reader: Reader, batch: int, repeats: range) -> list[int]:
    """The numbers of measurements that failed, among some repeats of a batch."""
    changes, entries = changes_of(reader.revisions(batch)), reader.overlapping(batch, repeats.start, len(repeats))
    firsts = reader.first_numbers([entry.number for entry in entries])
    return [
        firsts[entry.number] + place
        for entry in entries
        for place in failed_places(entry, changes)
        if entry.start + place in repeats
    ]


def failed_places(entry: Entry, changes: Changes) -> list[int]:
    """The places in a row of the log that failed and still count as failures."""
    if entry.told.kind == Kind.SUMMARY:
        return []
    now, values = changes.get(entry.number, {}), entry.told.numbers()[: entry.told.count]
    return [place for place, value in enumerate(values) if _failed(now.get(place, float(value)))]


def _failed(value: float | None) -> bool:
    return value is not None and isnan(value)
