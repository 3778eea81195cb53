"""Failures that other runs have seen of an outage, as the study knows them: they are judged with one's own."""

from collections.abc import Callable

from ostinato.running.row import Row
from ostinato.running.task import Task


class Others:
    """What failed elsewhere. failed: what failed in other runs since anybody got a value."""

    def __init__(self, failed: Callable[[], Row]) -> None:
        self._failed = failed
        self._found: dict[tuple[int, int], Task] = {}  # by batch and repeat, so that each is there once
        self.tasks: list[Task] = []  # those of the row, when it was weighed

    def look_anew(self) -> None:
        """What there is now, and nothing of what there was."""
        self.leave()
        self.tasks = self.look().tasks

    def look(self) -> Row:
        """What there is now comes to what there was: a value that this run gets hides it from the next look."""
        found = self._failed()
        self._found |= {(task.batch, task.start): task for task in found.with_doubtful}
        return found

    def leave(self) -> None:
        """Nothing is to be made of them."""
        self.tasks, self._found = [], {}

    @property
    def with_doubtful(self) -> list[Task]:
        """All that was found, and what failed while the last value was being measured."""
        return list(self._found.values())
