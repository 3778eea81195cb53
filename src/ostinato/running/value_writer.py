"""Writes measured values to the study: those of all workers together, soon after they were measured.

Storing takes a few milliseconds, most of them for the disk, whether of one value or of a hundred. So values are stored
as often as that takes a fifth of the time, and five times a second at most: what a crash can cost is what was measured
since, and what was under way. Where workers are threads their values are seen as they come, and nobody waits. Other
processes bring them when a task is over, and wait: their tasks are as short as a tenth of their time allows.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from math import inf
from time import monotonic, perf_counter
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from ostinato.errors import Conflict
from ostinato.running.executors import TaskOutcome, Workers, values_of
from ostinato.running.task import Task

T = TypeVar("T")
STORE_INTERVAL = 4.0  # times what storing takes: from one time to the next, at least
TASK_LENGTH = 10.0  # times what asking and telling takes: how long a task is, at least, where its worker waits for both
TASK_LENGTH_PER_WORKER = 2.0  # the same, for each worker: one thread asks and tells for all
MIN_INTERVAL = 0.2  # seconds between two times, at least: every time adds rows to the log
SMOOTHING = 0.3  # of the last time, in what storing takes lately


class OnStored(Protocol):
    """Called with values once they are stored: of which repeats, and when each of them came.

    taken: False for those that were not stored, since others had answered the same repeat before.
    """

    def __call__(
        self, future: Future[TaskOutcome], task: Task, values: list[float], came: Sequence[float], taken: Sequence[bool]
    ) -> object: ...


class ValueSink(Protocol):
    """Where values are stored."""

    def tell(self, task: Task, values: Any, *, start: int | None = None) -> int: ...

    def tell_all(self, told: Sequence[tuple[Task, Any, int]]) -> int:
        """Values of several tasks, each from a repeat on, stored together: all of them or none."""
        ...

    def put_aside(self, told: Sequence[tuple[Task, Sequence[float]]]) -> None:
        """Values that cannot be stored now, kept until they can."""
        ...


class ValueWriter:
    """Stores the values of the tasks under way, and knows what is stored and when the rest is due."""

    def __init__(self, tasks: ValueSink, workers: Workers, heard: OnStored) -> None:
        self._tasks, self._workers, self._on_stored = tasks, workers, heard
        self._stored: Counter[Future[TaskOutcome]] = Counter()
        self._asking = self._telling = 0.0  # seconds, lately
        self._next = 0.0

    def short(self) -> float:
        """Seconds that a task of several repeats is to take."""
        if self._workers.seen or self._workers.short == inf:
            return self._workers.short
        return self._between(
            max(TASK_LENGTH, TASK_LENGTH_PER_WORKER * self._workers.workers) * (self._asking + self._telling)
        )

    def pause(self, running: Collection[Task], most: float) -> float:
        """Seconds for which workers can be waited for."""
        if not self._workers.seen or all(task.repeats == 1 for task in running):
            return most
        return min(most, max(MIN_INTERVAL / 2, self._next - monotonic()))

    def asked(self, ask: Callable[[], T]) -> T:
        """What is asked for; how long that takes is remembered."""
        start = perf_counter()
        answer = ask()
        self._asking += SMOOTHING * (perf_counter() - start - self._asking)
        return answer

    def store(
        self,
        running: Mapping[Future[TaskOutcome], Task],
        done: Collection[Future[TaskOutcome]],
        *,
        at_once: bool = False,
    ) -> bool:
        """Store what is new of the tasks that are done, and with it, or when it is time, of all others."""
        if not done and not at_once and monotonic() < self._next:
            return False
        by_batch = sorted(running.items(), key=lambda each: (each[1].batch, each[1].start))
        new = [
            (future, _measured_at(future, task), values) for future, task in by_batch if (values := self._new(future))
        ]
        if new:
            start = perf_counter()
            told = self._tell([(task, values, task.start + self._stored[future]) for future, task, values in new])
            self._telling += SMOOTHING * (perf_counter() - start - self._telling)
            for (future, task, values), taken in zip(new, told, strict=True):
                before = self._stored[future]
                self._stored[future] += len(values)
                came = self._workers.came(future)[before : before + len(values)]
                self._on_stored(future, _part(task, before, values), values, came, taken)
        self._next = monotonic() + self._between(STORE_INTERVAL * self._telling)
        return bool(new)

    def put_aside(self, running: Mapping[Future[TaskOutcome], Task]) -> None:
        """What was measured and is not stored is kept elsewhere: whoever runs the study next stores it."""
        new = [
            (future, _measured_at(future, task), values)
            for future, task in running.items()
            if (values := self._new(future))
        ]
        if new:
            self._tasks.put_aside([(_part(task, self._stored[future], values), values) for future, task, values in new])
            for future, _, values in new:
                self._stored[future] += len(values)

    def repeats_left(self, future: Future[TaskOutcome], task: Task) -> int:
        """How many repeats of a task are not stored."""
        return task.repeats - self._stored[future]

    def forget(self, future: Future[TaskOutcome]) -> None:
        """A task is over."""
        self._stored.pop(future, None)

    def _between(self, seconds: float) -> float:
        return min(self._workers.short, max(MIN_INTERVAL, seconds))

    def _new(self, future: Future[TaskOutcome]) -> list[float]:
        return list(self._workers.so_far(future))[self._stored[future] :]

    def _tell(self, told: Sequence[tuple[Task, list[float], int]]) -> list[list[bool]]:
        """Of each value whether it was taken."""
        try:
            self._tasks.tell_all(told)
        except Conflict:  # others were given some of these repeats too, and answered first
            return [self.tell(task, values, start) for task, values, start in told]
        return [[True] * len(values) for _, values, _ in told]

    def tell(self, task: Task, values: list[float], start: int) -> list[bool]:
        """Values of one task; those that others have told before are left. Returns of each whether it was taken."""
        if self._is_taken(task, values, start):
            return [True] * len(values)
        return [self._is_taken(task, [value], repeat) for repeat, value in enumerate(values, start)]

    def _is_taken(self, task: Task, values: list[float], start: int) -> bool:
        try:
            self._tasks.tell(task, values, start=start)
        except Conflict:
            return False
        return True


def _measured_at(future: Future[TaskOutcome], task: Task) -> Task:
    """With the machine that measured it, as far as that is known before it is over."""
    return replace(task, host=future.result().host) if values_of(future) else task


def _part(task: Task, stored: int, values: Sequence[float]) -> Task:
    """Some repeats of a task: the values after those that are stored."""
    return replace(task, start=task.start + stored, repeats=len(values))
