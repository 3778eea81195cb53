"""The loop: tasks to workers, values back, until the budget is spent. One for memory and for studies.

In memory the calling thread is the one worker, and a task is a whole batch. In a study repeats of one batch run side by
side, and a task is one measurement, or as many as take about a second: what a crash can cost is what was going on. A
worker that is lost, or too slow, loses nothing: its repeats are handed out again, and whoever answers first is
believed.
"""

import sys
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from math import inf, nan
from time import monotonic, sleep
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from ostinato.checks import counted
from ostinato.errors import (
    Conflict,
    InvalidFeedback,
    LongMeasurements,
    LostWorkers,
    NothingToAsk,
    OstinatoError,
    notify,
)
from ostinato.optimizer import Optimizer
from ostinato.running.events import Events
from ostinato.running.executors import Measured, Workers, is_lost
from ostinato.running.interrupts import Interrupts
from ostinato.running.measure import Measure
from ostinato.running.progress import SHARE, Reporter
from ostinato.running.task import Task
from ostinato.stopping import met, spending, watched

T = TypeVar("T")
GRACE = 1.0  # seconds for what was told to stop
TICK = 0.5  # seconds after which those who wait look again
LOSSES = 3  # of the same repeats with their worker, after which they count as failed
HOPELESS = 20  # failures, with no success before them, at which a run ends


class Tasks(Protocol):
    """Where a run gets its tasks and takes its values: a study, or an optimiser in memory."""

    @property
    def lease(self) -> float:
        """Seconds for which tasks are handed out."""
        ...

    def ask(self, limit: int | None = None, *, share: int = 1) -> Task | None: ...

    def tell(self, task: Task, values: Any, *, start: int | None = None) -> int: ...

    def release(self, task: Task, *, keep: int = 0) -> None: ...

    def in_hand(self) -> Mapping[int, int]: ...

    @property
    def finished(self) -> bool: ...

    def looked(self, question: Callable[[Optimizer], T]) -> T: ...

    def keep_answer(self) -> None:
        """Store what is known now for others who look at it, where there are any."""
        ...


class Run:
    """The workers of one process, and what they are doing.

    stop: a rule of `ostinato.stopping`, or several.
    """

    def __init__(
        self,
        tasks: Tasks,
        measure: Measure,
        workers: Workers,
        stop: Any,
        report: Reporter,
        events: Events,
    ) -> None:
        self._tasks, self._measure, self._workers, self._report = tasks, measure, workers, report
        self._events = events
        self._rules, self._limits = watched(stop), spending(stop)
        self._running: dict[Future[Measured], Task] = {}
        self._suspects: list[Task] = []  # lost again and again with their workers: they are measured alone
        self._lost: Counter[tuple[int, int]] = Counter()
        self._seconds: float | None = None  # that a measurement took lately
        self._unpaid: str | None = None  # the limit that pays for nothing more
        self._told = self._remarked = False
        self._next_answer = 0.0  # not before then

    def until_the_end(self, interrupts: Interrupts) -> str:
        """Returns why it ended. Ctrl-C comes through only while workers are waited for."""
        ended = "interrupted"
        try:
            self._events.begun(self._tasks.looked)
            ended = self._go_on(interrupts)
        except KeyboardInterrupt:
            pass
        except Exception as error:
            if not (isinstance(error, NothingToAsk) and self._steps()):
                ended = f"{type(error).__name__}: {error}"
                raise
            ended = "exhausted"
        finally:
            self._let_go(interrupts)
            self._events.ended(ended, self._tasks.looked)
        if ended == "interrupted" and not self._steps():
            raise KeyboardInterrupt
        return ended

    def _go_on(self, interrupts: Interrupts) -> str:
        ended = self._ruled()
        while not ended:
            self._fill()
            if not self._running and (self._unpaid or self._tasks.finished):
                return self._unpaid or "budget"
            self._advance(interrupts)
            ended = self._ruled()
        return ended

    def _steps(self) -> int:
        return self._tasks.looked(lambda optimizer: optimizer.steps)

    # Handing out

    def _fill(self) -> None:
        """Give every worker something to do, as far as there is anything, and it can be paid for."""
        self._unpaid = None
        if self._suspects:
            if not self._running:
                self._start(self._suspects.pop())
            return
        while len(self._running) < self._workers.workers:
            task = self._asked()
            if task is None:
                return
            self._start(task)

    def _asked(self) -> Task | None:
        left = self._affordable()
        if left and min(left) < 1:
            self._unpaid = repr(self._limits[left.index(min(left))])
            return None
        try:
            task = self._tasks.ask(self._short(), share=self._workers.workers)
        except NothingToAsk:
            if self._running:  # what is under way still counts
                return None
            raise
        return task and self._paid(task)

    def _start(self, task: Task) -> None:
        try:
            self._running[self._workers.submit(self._measure, task.candidate, task.repeats)] = task
        except BaseException:
            self._tasks.release(task)
            raise

    def _short(self) -> int | None:
        """How many repeats make a task that is soon over; one, as long as nobody knows."""
        if self._measure.vectorized or self._workers.short == inf:
            return None
        return 1 if self._seconds is None else int(max(1, self._workers.short / max(self._seconds, 1e-9)))

    def _affordable(self) -> list[int]:
        """For how many more repeats each limit still pays, when those that are assigned to anybody are measured."""
        if not self._limits:
            return []
        in_hand, mine = Counter(self._tasks.in_hand()), Counter[int]()
        for task in self._running.values():
            mine[task.batch] += task.repeats
        return self._tasks.looked(
            lambda optimizer: [limit.affordable(optimizer, in_hand | mine) for limit in self._limits]
        )

    def _paid(self, task: Task) -> Task | None:
        """As much of a task as can be paid for, the switch to it included; the rest is handed back."""
        left = self._affordable()
        repeats = max(0, task.repeats + min([0, *left]))
        if repeats < task.repeats:
            self._tasks.release(task, keep=repeats)
        if repeats == 0:
            self._unpaid = repr(self._limits[left.index(min(left))])
            return None
        return replace(task, repeats=repeats)

    # Taking in

    def _advance(self, interrupts: Interrupts) -> None:
        """Wait for values, for a while, and take them in."""
        if not self._running:  # the rest is assigned to others
            with interrupts.released():
                sleep(TICK)
            return
        with interrupts.released():
            done = self._workers.wait(self._running, TICK)
        alone = len(self._running) == 1
        for future in done:
            self._take(future, self._running[future], alone=alone)
            del self._running[future]  # not before: what stops it half-way is handed back
        if done:
            self._report(0)
            self._events.look_for_best(self._tasks.looked)
        else:
            self._keep_answer()

    def _keep_answer(self) -> None:
        """While everybody measures, what is known is stored for others to see; in a twentieth of the time at most."""
        start = monotonic()
        if start >= self._next_answer:
            self._tasks.keep_answer()
            self._next_answer = monotonic() + SHARE * (monotonic() - start)

    def _take(self, future: Future[Measured], task: Task, *, alone: bool) -> None:
        """What a worker has brought: values, an error of the user's function, or nothing, being lost."""
        error = _error_of(future)
        if error is not None:
            self._lose(task, error, alone=alone)
            return
        values, raised, seconds = future.result()
        if values:
            self._seconds = seconds / len(values)
            self._tell(task, values)
            self._remark(seconds)
        if len(values) < task.repeats:
            self._tasks.release(task)
        if raised is not None:
            raised.error.add_note(f"Raised while {task.candidate} was measured; everything before it is kept.")
            raise raised.error
        self._check_hopeless()

    def _lose(self, task: Task, error: BaseException, *, alone: bool) -> None:
        """A task was lost with its worker. What broke the workers of others too may be innocent: it is tried alone."""
        if not is_lost(error):
            error.add_note("Raised before the function was called: is it one that workers can import?")
            raise error
        key = (task.batch, task.start)
        self._lost[key] += 1
        if self._lost[key] >= LOSSES and alone:
            self._tell(task, [nan] * task.repeats)
            notify(
                f"A worker ended {LOSSES} times while it measured {task.candidate} ({error}): that counts as failed.",
                LostWorkers,
            )
        elif self._lost[key] >= LOSSES - 1:
            self._suspects.append(task)
        else:
            self._tasks.release(task)

    def _tell(self, task: Task, values: list[float]) -> None:
        try:
            self._tasks.tell(task, values)
        except Conflict:  # others were given some of these repeats too, and answered first
            for i, value in enumerate(values):
                with suppress(Conflict):
                    self._tasks.tell(task, [value], start=task.start + i)
        self._events.told(task, values)

    def _remark(self, seconds: float) -> None:
        if seconds > self._tasks.lease and not self._remarked:
            self._remarked = True
            notify(
                f"A task took {seconds:,.3g} s, and tasks are handed out for {self._tasks.lease:,.3g} s: then others "
                "are given the same repeats, and one of the two measures in vain. Give a longer lease.",
                LongMeasurements,
            )

    # Ending

    def _ruled(self) -> str | None:
        return self._tasks.looked(lambda optimizer: met(self._rules, optimizer)) if self._rules else None

    def _check_hopeless(self) -> None:
        if self._told:
            return
        steps, failures = self._tasks.looked(lambda optimizer: (optimizer.steps, optimizer.failures))
        self._told = steps > 0
        if not self._told and failures >= HOPELESS:
            raise InvalidFeedback(
                f"The first {failures} measurements all failed, of as many candidates: see that they give a "
                "number for any candidate at all."
            )

    def _let_go(self, interrupts: Interrupts) -> None:
        """What is under way is waited for and told, unless Ctrl-C says not to; the rest is handed back."""
        self._measure.finish()
        for future in [future for future in self._running if future.cancel()]:
            self._give_up(self._running.pop(future))
        try:
            self._wait_for_the_rest(interrupts)
        except KeyboardInterrupt:
            self._measure.stop()
            done = self._workers.wait(self._running, GRACE, every=True)
            for future in done:
                self._keep(future, self._running.pop(future))
        for task in [*self._running.values(), *self._suspects]:
            self._give_up(task)
        self._workers.shutdown()

    def _wait_for_the_rest(self, interrupts: Interrupts) -> None:
        said, start = False, monotonic()
        while self._running:
            with interrupts.released():
                done = self._workers.wait(self._running, TICK)
            for future in done:
                self._keep(future, self._running.pop(future))
            if self._running and not said and monotonic() - start > TICK:
                said = True
                under_way = counted(len(self._running), "task")
                print(f"waiting for {under_way} under way; Ctrl-C stops at once", file=sys.stderr)

    def _keep(self, future: Future[Measured], task: Task) -> None:
        """The values of a task at the end of a run, if it has any; what else went wrong matters no more."""
        with suppress(Exception):
            if _error_of(future) is None:
                values, _, _ = future.result()
                if values:
                    self._tell(task, values)
        self._give_up(task)

    def _give_up(self, task: Task) -> None:
        with suppress(OstinatoError):
            self._tasks.release(task)


def _error_of(future: Future[Any]) -> BaseException | None:
    """The error of a future, a cancellation included."""
    try:
        return future.exception()
    except BaseException as error:
        return error
