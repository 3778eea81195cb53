"""Which measurements are meant when some are to be taken back or corrected."""

from collections.abc import Sequence
from math import isnan
from typing import Any

from ostinato.checks import shown, whole
from ostinato.errors import InvalidFeedback, UnknownBatch
from ostinato.running.task import Task
from ostinato.study.stored import Stored
from ostinato.study.view import measurements


def numbers_of(stored: Stored, what: Any, value: float | None, number: int | Sequence[int] | None) -> list[int]:
    """The numbers of the measurements that a user names: by a task, by a candidate and a value, or by themselves."""
    if isinstance(what, Task):
        return _told_of(stored, what)
    if number is not None:
        return [whole("number", each) for each in ([number] if isinstance(number, int) else number)]
    if what is not None and value is not None:
        return [last_of(stored, what, value)]
    raise InvalidFeedback("What is to be taken back? Give a task, a candidate with value=, or number=.")


def last_of(stored: Stored, candidate: Any, value: float) -> int:
    """The number of the last measurement of a candidate that gave this value."""
    index, last = stored.index(candidate), list[float]()
    found: int | None = None
    for each in measurements(stored):
        if each.index == index and each.count == 1 and each.value is not None:
            same = each.value == value or (isnan(value) and isnan(each.value))
            found, last = each.number if same else found, [*last[-4:], each.value]
    if found is None:
        words = f"Its last values are {', '.join(f'{each:g}' for each in last)}" if last else "It has none"
        raise InvalidFeedback(f"No measurement of {shown(candidate)} gave {value!r}. {words}.")
    return found


def _told_of(stored: Stored, task: Task) -> list[int]:
    """The numbers of all that was told of a task's batch."""
    found = [each.number for each in measurements(stored) if each.batch == task.batch]
    if not found:
        raise UnknownBatch(f"Nothing was told of batch {task.batch}: there is nothing to take back.")
    return found
