"""Which measurements are meant when some are to be taken back or corrected."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from math import isnan
from typing import Any, NamedTuple, cast

from ostinato.checks import brief, integer, whole
from ostinato.errors import InvalidFeedback, UnknownBatch
from ostinato.optimizer.revise import check_named
from ostinato.records import Batch
from ostinato.running.task import Task
from ostinato.storage import BatchRecord, Reader
from ostinato.study.records import Measurement
from ostinato.study.revise import failures_of, failures_since
from ostinato.study.stored import StoredStudy
from ostinato.study.view import measurements_in


class MeasurementSelection(NamedTuple):
    """Which measurements a user means: by a task, a batch, a candidate and a value, number, or as failures."""

    what: Any
    value: float | None
    number: int | Sequence[int] | None
    batch: int | None
    failures: bool
    since: Any

    def listed(self, stored: StoredStudy) -> Callable[[Reader], list[int]]:
        """Their numbers, at the moment of a reader; whatever is wrong with the names is said before."""
        self._check()
        since = _seconds(self.since)
        if self.failures:
            tasks = _tasks_in(self.what)
            for task in tasks:
                stored.check_task(task)
            if tasks:
                return lambda reader: failures_among(reader, tasks)
            only = None if self.what is None else stored.index(self.what)
            return lambda reader: failures_since(reader, since, only)
        numbers = self._numbers(stored)
        return lambda _: numbers

    def _check(self) -> None:
        """Whether they are named in one way."""
        whole_batch, failures = isinstance(self.what, (Task, Batch, BatchRecord)), self.failures
        check_named(
            ("a task" if isinstance(self.what, Task) else "a batch", whole_batch and not failures),
            ("a candidate", self.what is not None and not whole_batch and not failures),
            ("value=", self.value is not None and (whole_batch or failures or self.what is None)),
            ("number=", self.number is not None),
            ("batch=", self.batch is not None),
            ("failures=True", failures),
        )
        if self.since and not failures:
            raise InvalidFeedback("since= is for failures: give failures=True too, or leave it out.")

    def _numbers(self, stored: StoredStudy) -> list[int]:
        what = self.what
        if self.batch is not None:
            return told_of(stored, integer("batch", self.batch))
        if isinstance(what, Task):
            stored.check_task(what)
            return told_of(stored, what.batch, range(what.start, what.stop))
        if isinstance(what, (Batch, BatchRecord)):
            return told_of(stored, what.id if isinstance(what, Batch) else what.facts.id)
        if self.number is not None:
            given: Any = self.number
            several: Any = cast("Any", given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
            return [whole("number", each) for each in several]
        if what is not None and self.value is not None:
            return [last_of(stored, what, self.value)]
        raise InvalidFeedback(
            "What is to be taken back? Give a task, a batch, a candidate with value=, number=, or batch=."
        )


def _seconds(since: Any) -> float:
    """A moment, in seconds since 1970."""
    seconds = since.timestamp() if isinstance(since, datetime) else since
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or isnan(seconds):
        raise InvalidFeedback(
            f"since={since!r} is not a moment: give a datetime, or seconds since 1970 (datetime.timestamp())."
        )
    return float(seconds)


def _tasks_in(what: Any) -> list[Task]:
    """A task, or several of them; none where something else is meant."""
    given: list[Any] = list(cast("list[Any]", what)) if isinstance(what, (list, tuple)) else [what]
    return given if all(isinstance(each, Task) for each in given) else []


def failures_among(reader: Reader, tasks: Iterable[Task]) -> list[int]:
    """The numbers of measurements that failed, among the repeats of some tasks."""
    return [n for task in tasks for n in failures_of(reader, task.batch, range(task.start, task.stop))]


def last_of(stored: StoredStudy, candidate: Any, given: Any) -> int:
    """The number of the last measurement of a candidate that gave this value."""
    index, last, value = stored.index(candidate), list[float](), stored.outcome.single(given)
    found: int | None = None

    def own(reader: Reader) -> list[Measurement]:
        return measurements_in(reader, [batch for batch in reader.batches() if batch.facts.index == index])

    for each in stored.read(own):
        if each.count == 1 and each.value is not None:
            same = each.value == value or (isnan(value) and isnan(each.value))
            found, last = each.number if same else found, [*last[-4:], each.value]
    if found is None:
        words = f"Its last values are {', '.join(f'{each:g}' for each in last)}" if last else "It has none"
        raise InvalidFeedback(f"No measurement of {brief(candidate)} gave {value!r}. {words}.")
    return found


def told_of(stored: StoredStudy, batch: int, repeats: range | None = None) -> list[int]:
    """The numbers of all that was told of a batch, or of some of its repeats."""

    def own(reader: Reader) -> list[Measurement]:
        record = reader.batch(batch)
        return [] if record is None else measurements_in(reader, [record])

    found = [each.number for each in stored.read(own) if repeats is None or each.repeat in repeats]
    if not found:
        which = "" if repeats is None else f"repeats {repeats.start} to {repeats.stop - 1} of "
        raise UnknownBatch(f"Nothing was told of {which}batch {batch} that counts: there is nothing to take back.")
    return found
