"""Telling: the values of tasks, and measurements that were not asked for."""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from ostinato.checks import counted
from ostinato.errors import InvalidFeedback, UnknownBatch, UnknownCandidate
from ostinato.measurements.feedback import Given, read_many
from ostinato.running.task import Task
from ostinato.storage import Entry, Reader, Writer
from ostinato.storage.values import Told, told_summary
from ostinato.study import log
from ostinato.study.leases import give_back, next_of
from ostinato.study.origins import source_of
from ostinato.study.reading import read_values
from ostinato.study.revise import skip as skip_repeat
from ostinato.study.stored import Stored


def tell_all(stored: Stored, told: Sequence[tuple[Task, Told, int]]) -> int:
    """The values of tasks, each from a repeat on, all of them or none; returns how many are new."""
    for task, each, first in told:
        stored.check_task(task)
        if not task.start <= first <= task.stop - each.count:
            raise InvalidFeedback(
                f"Repeats {first} to {first + each.count - 1} were told, and the task has {task.start} to "
                f"{task.stop - 1}: tell those, and use observe(candidate, values) for others."
            )
    new = [0]  # of every try: one that was kept and not heard of leaves nothing new for the next

    def take(writer: Writer) -> int:
        new.append(sum(log.take(writer, task.batch, first, each, source_of(task)) for task, each, first in told))
        return max(new)

    return stored.write(take)


def task_of(stored: Stored, number: int, start: int | None, repeats: int) -> Task:
    """Repeats of a batch, by numbers: from `start` on, or the next ones that have no value."""

    def find(reader: Reader) -> tuple[int, int, int]:
        batch = stored.batch(reader, number)
        return batch.facts.index, batch.facts.places, next_of(reader, batch) if start is None else start

    index, places, first = stored.read(find)
    if not 0 <= first <= places - repeats:
        there = counted(max(0, places - first), "repeat")
        raise UnknownBatch(f"Batch {number} has {there} from number {first} on, and {repeats} were told.")
    return Task(stored.name, number, index, stored.candidate(index), first, repeats, 0.0)


def release(stored: Stored, task: Task, keep: int) -> None:
    """Hand a task back, or all but the first `keep` of its repeats."""

    def change(writer: Writer) -> None:
        for lease in writer.leases(task.batch):
            if task.key and lease.worker == task.key and task.start <= lease.start < task.stop:
                give_back(writer, lease, task.start + keep)

    stored.write(change)


def skip(stored: Stored, task: Task, repeat: int) -> None:
    """A repeat of a task, by its number, will not be made."""
    if not task.start <= repeat < task.stop:
        raise InvalidFeedback(f"The task has no repeat {repeat}: it has {task.start} to {task.stop - 1}.")
    stored.write(lambda writer: skip_repeat(writer, task.batch, repeat))


def observe(stored: Stored, candidate: Any, given: Given) -> None:
    """Measurements of one candidate, or of many with one value each, that were not asked for."""
    _check(stored, candidate, given)
    stored.hold(candidate)
    if _is_many(stored, candidate):
        observe_all(stored, _many(stored, candidate, given))
        return
    index = stored.index(candidate)
    summed = given.read(stored.outcome).statistics
    told = told_summary(summed) if given.values is None else read_values(given.values, given.stderr, stored.outcome)
    observe_all(stored, [(index, told)])


def _check(stored: Stored, candidate: Any, given: Given) -> None:
    """What is refused is refused before anything is kept, a point of a space that is new included."""
    table = stored.table.holding(candidate)
    if table is not stored.table:
        named = table.named_by(candidate)
        if isinstance(named, int) or len(named) == 1:
            given.read(stored.outcome)
        else:
            read_many(named, given, stored.outcome)


def observe_all(stored: Stored, told: Sequence[tuple[int, Told]]) -> None:
    """All of it, once, also where the first try was kept and not heard of."""
    if not told:
        return
    tried: list[Entry] = []  # the first row of every try

    def take(writer: Writer) -> None:
        if not any(writer.row(entry.number) == entry for entry in tried):
            tried.append(log.observe(writer, told, apart=stored.keeps_observations_apart)[0])

    stored.write(take)


def _is_many(stored: Stored, candidate: Any) -> bool:
    try:
        named = stored.table.named_by(candidate)
    except UnknownCandidate:
        return False  # `index` says so
    return not isinstance(named, int) and len(named) > 1


def _many(stored: Stored, candidates: Any, given: Given) -> list[tuple[int, Told]]:
    """One value, or successes and trials, of each of some candidates; checked as a whole."""
    named, outcome = cast("list[int]", stored.table.named_by(candidates)), stored.outcome
    read_many(named, given, outcome)
    indices = [stored.table.index_of(number) for number in named]
    if given.values is not None:
        told = [read_values([value], None, outcome) for value in given.values]
    else:
        trials = np.broadcast_to(given.trials, len(indices)).tolist()
        pairs = zip(list(given.successes), trials, strict=True)
        told = [told_summary(outcome.successes(successes, of)) for successes, of in pairs]
    return list(zip(indices, told, strict=True))
