"""Where evaluations run: threads, processes, or whatever has the interface of `concurrent.futures`, as Dask has.

Workers keep no state. One that vanishes loses nothing but time: its repeats are handed out again.
"""

import os
import pickle
import traceback
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from time import perf_counter
from typing import Any, TypeAlias

from ostinato.checks import whole
from ostinato.errors import InvalidSetting
from ostinato.running.measure import Measure

THREADS = "ostinato-worker"


class Raised:
    """An error of the user's function. One that cannot be sent to another process arrives there in words."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __reduce__(self) -> "tuple[type[Raised], tuple[Exception]]":
        try:
            pickle.loads(pickle.dumps(self.error))  # our own bytes: whether it comes back at all
        except Exception:
            return Raised, (RuntimeError("".join(traceback.format_exception(self.error))),)
        return Raised, (self.error,)


Measured: TypeAlias = tuple[list[float], Raised | None, float]


class Pool:
    """An executor and how many workers it has; made anew where it is ours and broke."""

    def __init__(self, given: Any, workers: int | None) -> None:
        self._given = given
        self.workers = _workers(given) if workers is None else whole("workers", workers)
        self._executor = self._made()

    def submit(self, measure: Measure, candidate: Any, repeats: int, patience: float) -> "Future[Measured]":
        """Measure a candidate so often, somewhere; or less often, where that would take longer."""
        try:
            return self._executor.submit(measured, measure, candidate, repeats, patience)
        except (BrokenExecutor, RuntimeError):
            if not self._ours:
                raise
            self.shutdown()
            self._executor = self._made()
            return self._executor.submit(measured, measure, candidate, repeats, patience)

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
            f"executor={self._given!r} is none: give 'threads', 'processes', an Executor of concurrent.futures, or a "
            "client of Dask."
        )


def measured(measure: Measure, candidate: Any, repeats: int, patience: float) -> Measured:
    """What was measured, the error that ended it, if one did, and the seconds it took. It runs where workers are."""
    values: list[float] = []
    raised, start = None, perf_counter()
    try:
        measure(candidate, repeats, values, patience=patience)
    except Exception as error:
        raised = Raised(error)
    return values, raised, perf_counter() - start


def is_lost(error: BaseException) -> bool:
    """Whether it was the worker that failed, and not the measurement."""
    return isinstance(error, (BrokenExecutor, CancelledError)) or type(error).__module__.startswith("distributed")


def _workers(given: Any) -> int:
    if hasattr(given, "get_executor"):  # a client of Dask: the threads of all its workers
        return max(1, sum(given.ncores().values()))
    return getattr(given, "_max_workers", None) or os.cpu_count() or 1
