"""Failures of which it is not known yet what they mean: this run's own, and those of other runs in a row with them."""

from collections.abc import Collection, Iterable
from typing import Protocol

from ostinato.running.failure_row import FailureRow
from ostinato.running.task import Place, Task


class FailureLog(Protocol):
    """What all runs of a program have told."""

    def failed_in_rows(self) -> list[list[Task]]:
        """What failed lately between one value and the next, whoever got it; last, what failed since the last one."""
        ...

    def take_back_rest(self, *, over: bool) -> Collection[Place]:
        """Take back what else belongs to outages that were judged; over: only what somebody got a value after."""
        ...


class Suspects:
    """The failures since the last value, and, apart from them, a row that is over."""

    def __init__(self, log: FailureLog) -> None:
        self._log, self._own = log, FailureRow()
        self._together = list[Task]()  # since anybody got a value, if any of this run's own are among them
        self.past = list[Task]()  # a row that is over, of which it is not known what it means
        self._unsettled = set[Place]()  # this run's own, and after a judgement those of its row
        self._news = False  # something was heard since that was looked into

    def add_failure(self, at: float, task: Task) -> None:
        """A failure of one repeat, and when it came."""
        self._own.add_failure(at, task)
        self._unsettled.add(task.place)
        self._news = True

    def add_value(self, begun: float, at: float) -> None:
        """A value."""
        self._own.add_value(begun, at)
        self._news = True

    def take_news(self) -> bool:
        """Whether there is anything to look into that was not looked into before."""
        news, self._news = bool(self._unsettled) and self._news, False
        return news

    def look(self) -> None:
        """What all runs know by now. What was told late of an outage that any has judged is taken back."""
        known = self._log.take_back_rest(over=True)
        self._own.leave_out(known)
        self._unsettled.difference_update(known)
        *past, last = ([*row] if self._has_own(row) else [] for row in self._log.failed_in_rows())
        self._together = last
        before = [task for task in self.past if task.place not in known]
        self.past = max([before, self._own.doubtful, *past], key=len)

    def _has_own(self, row: Iterable[Task]) -> bool:
        return any(task.place in self._unsettled for task in row)

    def look_at_last(self) -> None:
        """What nobody got a value after: it is of an outage that is known to go on."""
        self._together = self._log.failed_in_rows()[-1]

    def leave_past(self) -> None:
        """Nothing is to be made of what is over."""
        self.past, self._unsettled = [], {task.place for task in self.tasks}

    def clear(self) -> None:
        """Nothing more is to be made of any."""
        self._own.clear()
        self._together = []
        self.leave_past()

    @property
    def began(self) -> float | None:
        """When the first one of this run came, if there is any."""
        return self._own.began

    @property
    def tasks(self) -> list[Task]:
        """What failed in a row and is not over, here and in other runs; what failed here comes last."""
        return _joined(self._together, self._own.tasks)

    @property
    def to_judge(self) -> list[Task]:
        """The same, what is over, and what failed here while the last value was being measured."""
        return _joined([*self.past, *self._together], [*self._own.doubtful, *self._own.tasks])

    def __bool__(self) -> bool:
        """Whether this run got no value since it saw any."""
        return len(self._own) > 0


def _joined(elsewhere: Iterable[Task], here: Iterable[Task]) -> list[Task]:
    """Each once; what failed here comes last."""
    places = {task.place for task in here}
    return [*(task for task in elsewhere if task.place not in places), *here]
