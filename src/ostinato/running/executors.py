"""Where evaluations run: the calling thread, threads, processes, or whatever has the interface of `concurrent.futures`.

Workers keep no state. One that vanishes loses nothing but time: its repeats are handed out again.
"""

import os
import pickle
import socket
import traceback
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import (
    ALL_COMPLETED,
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from math import inf
from multiprocessing import get_context
from time import monotonic, perf_counter
from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

from ostinato.checks import whole
from ostinato.errors import InvalidSetting
from ostinato.running.measure import Measure, TimedValues

THREADS = "ostinato-worker"
SHORT = 1.0  # seconds that a task of several repeats is to take where its values are stored as they come


class RaisedError:
    """An error of the user's function. One that cannot be sent to another process arrives there in words."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> "tuple[type[RaisedError], tuple[Exception]]":
        try:
            pickle.loads(pickle.dumps(self.error))  # our own bytes: whether it comes back at all
        except Exception:
            return RaisedError, (RuntimeError("".join(traceback.format_exception(self.error))),)
        return RaisedError, (self.error,)


class TaskOutcome(NamedTuple):
    """What came of a task: values, the error that ended it, if one did, the seconds it took.

    ended: when, by the clock of whoever measured, whose values say by the same clock when they came. host: its machine.
    """

    values: TimedValues
    raised: RaisedError | None
    seconds: float
    ended: float
    host: str


class Workers(Protocol):
    """Those who measure."""

    workers: int
    short: float  # seconds that a task of several repeats is to take, at most
    seen: bool  # whether values are seen before a task is over

    def submit(self, measure: Measure, candidate: Any, repeats: int) -> "Future[TaskOutcome]":
        """Measure a candidate so often; or less often, where that would take much longer than a short task."""
        ...

    def wait(
        self, running: "Collection[Future[TaskOutcome]]", seconds: float, *, every: bool = False
    ) -> "set[Future[TaskOutcome]]":
        """What is done, after waiting so long for any of it, or for every one."""
        ...

    def so_far(self, future: "Future[TaskOutcome]") -> Sequence[float]:
        """What was measured of a task, as far as that can be seen; all of it when it is over, unless it was lost."""
        ...

    def came(self, future: "Future[TaskOutcome]") -> Sequence[float]:
        """When each of these values came, by this process's clock."""
        ...

    def shutdown(self) -> None: ...


class CallingThread:
    """The thread that calls, as the only worker: debuggers, plots and Ctrl-C find the user's function where it is.

    A measurement is made when it is waited for. Whatever stops it, what was measured before is kept as its result.
    """

    workers, short, seen = 1, inf, False

    def __init__(self, report: Callable[[int], object]) -> None:
        self._report = report
        self._begun: dict[Future[TaskOutcome], tuple[Measure, Any, int]] = {}

    def submit(self, measure: Measure, candidate: Any, repeats: int) -> "Future[TaskOutcome]":
        future: Future[TaskOutcome] = Future()
        self._begun[future] = measure, candidate, repeats
        return future

    def wait(
        self, running: "Collection[Future[TaskOutcome]]", seconds: float, *, every: bool = False
    ) -> "set[Future[TaskOutcome]]":
        for future in running:
            if not future.done():
                self._do(future, *self._begun.pop(future))
        return set(running)

    def _do(self, future: "Future[TaskOutcome]", measure: Measure, candidate: Any, repeats: int) -> None:
        values, raised, start = TimedValues(), None, perf_counter()
        try:
            measure(candidate, repeats, values, self._report)
        except Exception as error:
            raised = RaisedError(error)
        finally:
            future.set_result(TaskOutcome(values, raised, perf_counter() - start, monotonic(), socket.gethostname()))

    def so_far(self, future: "Future[TaskOutcome]") -> Sequence[float]:
        return values_of(future)

    def came(self, future: "Future[TaskOutcome]") -> Sequence[float]:
        return values_of(future).came

    def shutdown(self) -> None:
        """There is nothing to end."""


class Pool:
    """An executor and how many workers it has; made anew where it is ours and broke."""

    short = SHORT

    def __init__(self, given: Any, workers: int | None) -> None:
        self._given = given
        self.workers = _workers(given) if workers is None else whole("workers", workers)
        self._executor = self._made()
        self.seen = isinstance(self._executor, ThreadPoolExecutor)
        self._begun: WeakKeyDictionary[Future[TaskOutcome], TimedValues] = WeakKeyDictionary()
        self._ended: WeakKeyDictionary[Future[TaskOutcome], float] = WeakKeyDictionary()

    def submit(self, measure: Measure, candidate: Any, repeats: int) -> "Future[TaskOutcome]":
        values = TimedValues()
        what = (measured, measure, candidate, repeats, 2 * self.short, values)
        try:
            future = self._executor.submit(*what)
        except (BrokenExecutor, RuntimeError):
            if not self._ours:
                raise
            self.shutdown()
            self._executor = self._made()
            future = self._executor.submit(*what)
        if self.seen:
            self._begun[future] = values
        else:
            future.add_done_callback(self._note_end)
        return future

    def _note_end(self, future: "Future[TaskOutcome]") -> None:
        self._ended[future] = monotonic()

    def so_far(self, future: "Future[TaskOutcome]") -> TimedValues:
        return values_of(future) if future.done() else self._begun.get(future, TimedValues())

    def came(self, future: "Future[TaskOutcome]") -> Sequence[float]:
        """Other processes may be on machines with clocks of their own: what they brought ended when it was brought."""
        values = self.so_far(future)
        if self.seen or not values:
            return values.came
        later = self._ended.get(future, monotonic()) - future.result().ended
        return [at + later for at in values.came]

    def wait(
        self, running: "Collection[Future[TaskOutcome]]", seconds: float, *, every: bool = False
    ) -> "set[Future[TaskOutcome]]":
        return wait(running, seconds, ALL_COMPLETED if every else FIRST_COMPLETED).done

    def shutdown(self) -> None:
        """Let go of the executor; one that the user gave is the user's to end."""
        if self._ours:
            self._executor.shutdown(wait=False, cancel_futures=True)

    @property
    def _ours(self) -> bool:
        return self._given in (None, "threads", "processes")

    def _made(self) -> Executor:
        if isinstance(self._given, Executor):
            return self._given
        if hasattr(self._given, "get_executor"):  # a client of Dask
            return self._given.get_executor(pure=False)
        if self._given in (None, "threads"):
            return ThreadPoolExecutor(self.workers, thread_name_prefix=THREADS)
        if self._given == "processes":
            return ProcessPoolExecutor(self.workers, mp_context=get_context("spawn"))
        raise InvalidSetting(
            f"executor={self._given!r} is not known: give 'threads', 'processes', an Executor of concurrent.futures, "
            "or a client of Dask."
        )


def measured(measure: Measure, candidate: Any, repeats: int, patience: float, values: TimedValues) -> TaskOutcome:
    """What was measured. It runs where workers are.

    values: an empty list, in which whoever shares it with the worker sees them as they come.
    """
    raised, start = None, perf_counter()
    try:
        measure(candidate, repeats, values, patience=patience)
    except Exception as error:
        raised = RaisedError(error)
    return TaskOutcome(values, raised, perf_counter() - start, monotonic(), socket.gethostname())


def values_of(future: "Future[TaskOutcome]") -> TimedValues:
    """The values of a task that is over; none where its worker was lost."""
    if not future.done() or future.cancelled() or future.exception() is not None:
        return TimedValues()
    return future.result().values


def error_of(future: "Future[Any]") -> BaseException | None:
    """The error of a future, a cancellation included."""
    try:
        return future.exception()
    except BaseException as error:
        return error


def is_lost(error: BaseException) -> bool:
    """Whether it was the worker that failed, and not the measurement."""
    return isinstance(error, (BrokenExecutor, CancelledError)) or type(error).__module__.startswith("distributed")


def _workers(given: Any) -> int:
    if hasattr(given, "get_executor"):  # a client of Dask: the threads of all its workers
        return max(1, sum(given.ncores().values()))
    return getattr(given, "_max_workers", None) or os.cpu_count() or 1
