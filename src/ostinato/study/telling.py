"""Telling: the values of tasks, and measurements that were not asked for."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ostinato.candidates import Candidates
from ostinato.candidates.table import is_empty
from ostinato.checks import counted
from ostinato.errors import Conflict, InvalidFeedback, UnknownBatch, UnknownCandidate
from ostinato.measurements.feedback import FeedbackInput, read_many, read_none
from ostinato.running.task import Task
from ostinato.storage import Entry, Reader, Source, Writer
from ostinato.storage.values import StoredFeedback, told_summary
from ostinato.study import log
from ostinato.study.intake import Report, take
from ostinato.study.leases import give_back, next_of
from ostinato.study.origins import source_of, this_machine, with_content
from ostinato.study.reading import read_values
from ostinato.study.revise import skip as skip_repeat
from ostinato.study.stored import StoredStudy


def tell_all(stored: StoredStudy, told: Sequence[tuple[Task, StoredFeedback, int]]) -> int:
    """The values of tasks, each from a repeat on, all of them or none; returns how many are new."""
    for task, each, first in told:
        stored.check_task(task)
        if not 0 <= first - task.start <= task.repeats - each.count:
            raise InvalidFeedback(
                f"Repeats {first} to {first + each.count - 1} were told, and the task has {task.start} to "
                f"{task.stop - 1}: tell those, and use observe(candidate, values) for others."
            )
    reports = [Report(task.batch, first, each, source_of(task)) for task, each, first in told]
    new = [0]  # of every try: one that was kept and not heard of leaves nothing new for the next

    def once(writer: Writer) -> int:
        new.append(take(writer, reports))
        return max(new)

    return stored.write(once)


def task_of(stored: StoredStudy, number: int, start: int | None, repeats: int) -> Task:
    """Repeats of a batch, by numbers: from `start` on, or the next ones that have no value."""

    def find(reader: Reader) -> tuple[int, int, int]:
        batch = stored.batch(reader, number)
        return batch.facts.index, batch.facts.places, next_of(reader, batch) if start is None else start

    index, places, first = stored.read(find)
    if not 0 <= first <= places - repeats:
        there = counted(max(0, places - first), "repeat")
        raise UnknownBatch(f"Batch {number} has {there} from number {first} on, and {repeats} were told.")
    return Task(stored.name, number, index, stored.candidate(index), first, repeats, 0.0)


def release(stored: StoredStudy, task: Task, keep: int) -> None:
    """Hand a task back, or all but the first `keep` of its repeats."""

    def change(writer: Writer) -> None:
        for lease in writer.leases(task.batch):
            if task.key and lease.worker == task.key and task.start <= lease.start < task.stop:
                give_back(writer, lease, task.start + keep)

    stored.write(change)


def skip(stored: StoredStudy, task: Task, repeat: int) -> None:
    """A repeat of a task, by its number, will not be made."""
    if not task.start <= repeat < task.stop:
        raise InvalidFeedback(f"The task has no repeat {repeat}: it has {task.start} to {task.stop - 1}.")
    stored.write(lambda writer: skip_repeat(writer, task.batch, repeat))


def observe(stored: StoredStudy, candidate: Any, given: FeedbackInput, source: Source | None = None) -> None:
    """Measurements of one candidate, or of many with one value each, that were not asked for."""
    if is_empty(candidate):
        read_none(given)
        return
    _check(stored, candidate, given)
    table = stored.hold(candidate)
    if _is_many(table, candidate):
        observe_all(stored, _many(stored, table, candidate, given), source)
        return
    index = stored.index(candidate)
    summed = given.read(stored.outcome).statistics
    told = told_summary(summed) if given.values is None else read_values(given.values, given.stderr, stored.outcome)
    observe_all(stored, [(index, told)], source)


def _check(stored: StoredStudy, candidate: Any, given: FeedbackInput) -> None:
    """What is refused is refused before anything is kept, a point of a space that is new included."""
    known = stored.table
    table = known.holding(candidate)
    if table is not known:
        named = table.named_by(candidate)
        if isinstance(named, int) or len(named) == 1:
            given.read(stored.outcome)
        else:
            read_many(named, given, stored.outcome)


def observe_all(
    stored: StoredStudy, told: Sequence[tuple[int, StoredFeedback]], source: Source | None = None, seconds: float = 0.0
) -> int:
    """All of it, once, also where the first try was kept and not heard of; returns how many measurements are new.

    source: where it comes from, where more is known than the machine that tells; with a key, it is taken in once
    however often it is told. seconds: how long it took, if known.
    """
    if not told:
        return 0
    count = sum(each.count for _, each in told)
    source = with_content(source, told) if source is not None and source.key else source or this_machine()
    tried: list[Entry] = []  # the first row of every try

    def take(writer: Writer) -> int:
        if any(writer.row(entry.number) == entry for entry in tried):
            return count
        if source.key and _was_told(writer, source):
            return 0
        began = writer.now() - seconds if seconds else 0.0
        apart = stored.keeps_observations_apart
        tried.append(log.observe(writer, told, source, began, apart=apart)[0])
        return count

    return stored.write(take)


def _was_told(writer: Writer, source: Source) -> bool:
    """Whether a request with this key was taken in before; an error where that one said something else."""
    known = writer.known_source(source)
    if known is not None and known.content not in ("", source.content):
        raise Conflict(
            "Other measurements were observed with this key before, and nothing was taken in: give another key for "
            "every request, and the same one only to send the same again."
        )
    return known is not None


def _is_many(table: Candidates, candidate: Any) -> bool:
    try:
        named = table.named_by(candidate)
    except UnknownCandidate:
        return False  # `index` says so
    return not isinstance(named, int) and len(named) > 1


def _many(
    stored: StoredStudy, table: Candidates, candidates: Any, given: FeedbackInput
) -> list[tuple[int, StoredFeedback]]:
    """One value, or successes and trials, of each of some candidates; checked as a whole."""
    named, outcome = cast("list[int]", table.named_by(candidates)), stored.outcome
    read_many(named, given, outcome)
    indices = [table.index_of(number) for number in named]
    if given.values is not None:
        told = [read_values([value], None, outcome) for value in given.values]
    else:
        trials = np.broadcast_to(given.trials, len(indices)).tolist()
        pairs = zip(list(given.successes), trials, strict=True)
        told = [told_summary(outcome.successes(successes, of)) for successes, of in pairs]
    return list(zip(indices, told, strict=True))
