"""Many runs, spread over the cores: one core each, finished ones kept at once, and the time left shown."""

import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future, as_completed
from contextlib import ExitStack, contextmanager
from time import perf_counter
from types import FrameType
from typing import Any, cast

import loky  # type: ignore[import-untyped]
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from ostinato.errors import OstinatoWarning
from ostinato.experiments.algorithms import Algorithm
from ostinato.experiments.records import Job, Run
from ostinato.experiments.store import Store
from ostinato.experiments.trial import trial
from ostinato.problems import Problem

IDLE = 60  # seconds without work after which a worker ends, so that none outlives a main process that was killed
ONE_CORE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1")


class Costs:
    """How many seconds a job takes: as one of its kind took, else as expected beforehand."""

    def __init__(self, expected: Callable[[Job], float]) -> None:
        self._expected = expected
        self._seen: dict[tuple[str, str, int], tuple[int, float]] = {}

    def of(self, job: Job) -> float:
        n, total = self._seen.get(job.kind, (0, 0.0))
        return total / n if n else self._expected(job)

    def note(self, job: Job, seconds: float) -> None:
        n, total = self._seen.get(job.kind, (0, 0.0))
        self._seen[job.kind] = (n + 1, total + seconds)

    def total(self, jobs: Iterable[Job]) -> float:
        return sum(self.of(job) for job in jobs)


class WorkerPool:
    """Worker processes that know the problems and algorithms by name."""

    def __init__(
        self, problems: Sequence[Problem], algorithms: Sequence[Algorithm], workers: int | None = None
    ) -> None:
        self.workers = workers or os.cpu_count() or 1
        self._signals = ExitStack()
        self._equipment = {each.name: each for each in problems}, {each.name: each for each in algorithms}

    def __enter__(self) -> "WorkerPool":
        with _signals(SIGINT=signal.SIG_IGN):  # inherited by the workers: Ctrl-C is the main process's business
            self._executor = _executor(self.workers, self._equipment)
            self._executor.submit(_idle)
        self._signals.enter_context(_signals(SIGTERM=_terminate))  # so that the workers end with this process
        return self

    def __exit__(self, *error: object) -> None:
        with _signals(SIGINT=signal.SIG_IGN):
            self._executor.shutdown(wait=True, kill_workers=True)
        self._signals.close()

    def tried(self, jobs: Sequence[Job]) -> dict[str, tuple[Run, float]]:
        """The run of each algorithm's job, and its seconds by the clock; nothing is kept."""
        return {job.algorithm: done for job, done in zip(jobs, self._executor.map(_work, jobs), strict=True)}

    def run(self, jobs: Sequence[Job], store: Store, costs: Costs, title: str, console: Console) -> None:
        """Make the runs that are not in the store yet, the longest first."""
        todo = sorted((job for job in jobs if job.key not in store.runs), key=costs.of, reverse=True)
        with _bar(console, title, len(jobs), len(jobs) - len(todo)) as report:
            futures: dict[Future[Any], Job] = {self._executor.submit(_work, job): job for job in todo}
            left = {job.key: job for job in todo}
            report(costs.total(todo) / self.workers)
            for future in as_completed(futures):
                run, seconds = future.result()
                store.add(run)
                costs.note(futures[future], seconds)
                del left[run.key]
                report(costs.total(left.values()) / self.workers)


@contextmanager
def _signals(**handlers: Any) -> Generator[None, None, None]:
    """Other handlers of signals for a while; outside the main thread, where none arrive, as they are."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {name: signal.signal(getattr(signal, name), handler) for name, handler in handlers.items()}
    try:
        yield
    finally:
        for name, handler in before.items():
            signal.signal(getattr(signal, name), handler)


def _terminate(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def roughly(seconds: float) -> str:
    """An estimate in words: trial runs are too short to tell seconds."""
    return f"about {span(seconds)}" if seconds >= 60 else "less than a minute"


def span(seconds: float) -> str:
    """A duration in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _executor(workers: int, equipment: Any) -> Any:
    """loky's: it takes policies and problems from scripts and notebooks as they are, lambdas included."""
    settings = {"initializer": _equip, "initargs": equipment, "env": ONE_CORE, "timeout": IDLE}
    return cast("Any", loky).ProcessPoolExecutor(workers, **settings)


@contextmanager
def _bar(console: Console, title: str, total: int, done: int) -> Generator[Callable[[float], None], None, None]:
    """A progress line, where somebody looks; called with the seconds left, before the first run and after each."""
    text = ("{task.description}", "{task.completed:,}/{task.total:,} runs", "{task.fields[left]}")
    columns = (TextColumn(text[0]), BarColumn(bar_width=30), TextColumn(text[1]), TextColumn(text[2]))
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as progress:
        task = progress.add_task(title, total=total, completed=done - 1, left="")
        yield lambda left: progress.update(task, advance=1, left=f"about {span(left)} left")


# In the workers

_equipment: tuple[Mapping[str, Problem], Mapping[str, Algorithm]] = ({}, {})


def _equip(problems: Mapping[str, Problem], algorithms: Mapping[str, Algorithm]) -> None:
    global _equipment
    _equipment = problems, algorithms
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # for workers that are started later
    warnings.simplefilter("ignore", OstinatoWarning)  # a kernel too smooth for its problem is part of the comparison


def _idle() -> None:
    """The first job, which has all workers started."""


def _work(job: Job) -> tuple[Run, float]:
    problems, algorithms = _equipment
    start = perf_counter()
    try:
        run = trial(problems[job.problem], algorithms[job.algorithm], job)
    except Exception as error:
        error.add_note(f"Raised by {job.algorithm} on {job.problem}, settings {job.settings}, seed {job.seed}.")
        raise
    return run, perf_counter() - start
