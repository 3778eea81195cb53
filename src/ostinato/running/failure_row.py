"""Failures in a row, ordered by the moments at which they happened: workers side by side bring theirs in any order."""

from collections.abc import Collection
from math import inf

from ostinato.running.task import Place, Task


class FailureRow:
    """Failures since something last gave a value, one repeat each.

    A value shows that measuring worked at some moment between its beginning and its end. So failures before its end are
    no part of the row. But those after its beginning may be the first ones of an outage: they are kept beside it.
    """

    def __init__(self) -> None:
        self._failed: list[tuple[float, Task]] = []  # since the beginning of the last value
        self.begun = self._worked = -inf  # of the last value: when it was begun, and when it came

    def add_failure(self, at: float, task: Task) -> None:
        """A failure."""
        if at > self.begun:
            self._failed.append((at, task))

    def add_value(self, begun: float, at: float) -> None:
        """A value."""
        self.begun, self._worked = max(self.begun, begun), max(self._worked, at)
        self._failed = [(when, task) for when, task in self._failed if when > self.begun]

    def clear(self) -> None:
        """Nothing more is to be made of them."""
        self._failed = []

    def leave_out(self, known: Collection[Place]) -> None:
        """Nothing more is to be made of some of them."""
        self._failed = [(when, task) for when, task in self._failed if task.place not in known]

    @property
    def tasks(self) -> list[Task]:
        """The failures since the last value."""
        return [task for when, task in self._failed if when > self._worked]

    @property
    def doubtful(self) -> list[Task]:
        """Those that came while the last value was being measured."""
        return [task for when, task in self._failed if when <= self._worked]

    @property
    def began(self) -> float | None:
        """When the first of all these came, if there is any."""
        return min((when for when, _ in self._failed), default=None)

    def __len__(self) -> int:
        return len(self.tasks)
