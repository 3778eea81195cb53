"""The loop: tasks to workers, values back, until the budget is spent. One for memory and for studies.

In memory the calling thread is the one worker, and a task is a whole batch. In a study repeats of one batch run side by
side, and a task is one measurement, or as many as take about a second; values are stored sooner than that
(`value_writer`). A worker that is lost, or too slow, loses nothing: its repeats are handed out again, and whoever
answers first is believed.
"""

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from math import inf, nan
from time import monotonic, sleep
from typing import Any, Protocol

from msgspec.structs import replace

from ostinato.checks import counted
from ostinato.errors import (
    LostWorkers,
    NothingToAsk,
    OstinatoError,
    Outage,
    notify,
)
from ostinato.running.events import Events
from ostinato.running.executors import TaskOutcome, Workers, error_of, is_lost
from ostinato.running.interrupts import Interrupts
from ostinato.running.measure import Measure
from ostinato.running.pausing import OUTAGE, TICK, OutageMonitor, PausableTasks
from ostinato.running.progress import SHARE, Reporter
from ostinato.running.task import Task
from ostinato.running.value_writer import ValueWriter
from ostinato.stopping import met, spending, watched

GRACE = 1.0  # seconds for what was told to stop
LOSSES = 3  # of the same repeats with their worker, after which they count as failed


class Tasks(PausableTasks, Protocol):
    """Where a run gets its tasks and takes its values: a study, or an optimiser in memory."""

    def ask(self, limit: int | None = None, *, share: int = 1) -> Task | None: ...

    def tell(self, task: Task, values: Any, *, start: int | None = None) -> int: ...

    def tell_all(self, told: Sequence[tuple[Task, Any, int]]) -> int: ...

    def release(self, task: Task, *, keep: int = 0) -> None: ...

    def put_aside(self, told: Sequence[tuple[Task, Sequence[float]]]) -> None: ...

    def take_in_again(self) -> None:
        """Store what was put aside, if that works now; else say where it is."""
        ...

    def hurry(self) -> None:
        """Wait for nothing any more."""
        ...

    def in_hand(self) -> Mapping[int, int]: ...

    def waiting(self) -> str | None:
        """What is waited for while all that is left is assigned to others, in words, where that is new."""
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
        self._writer = ValueWriter(tasks, workers, self._on_stored)
        self._running: dict[Future[TaskOutcome], Task] = {}
        self._suspects: list[Task] = []  # lost again and again with their workers: they are measured alone
        self._lost: Counter[tuple[int, int]] = Counter()
        self._seconds: float | None = None  # that a measurement took lately
        self._unpaid: str | None = None  # the limit that pays for nothing more
        self._began: dict[Future[TaskOutcome], float] = {}
        self._pausing = OutageMonitor(tasks, measure, workers, events)
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
            try:
                self._let_go(interrupts)
            finally:
                self._pausing.close()
                self._events.ended(ended, self._tasks.looked)
        if ended == "interrupted" and not self._steps():
            raise KeyboardInterrupt
        if ended == OUTAGE and not self._steps():
            raise Outage(f"Nothing could be measured, and nothing was before: {self._pausing.complaint}")
        return ended

    def _go_on(self, interrupts: Interrupts) -> str:
        ended = self._ruled()
        while not ended:
            over = not self._pausing.alarmed and self._has_nothing_left()
            if over and not self._pausing.in_doubt:
                return self._unpaid or "budget"
            if not self._running and (over or self._pausing.alarmed):
                ended = self._pausing.settle(interrupts)
            else:
                self._advance(interrupts)
            ended = ended or self._pausing.ended or self._ruled()
        return ended

    def _has_nothing_left(self) -> bool:
        """Give the workers something to do; whether there is nothing more, and nothing is under way."""
        self._fill()
        if self._is_idle and self._tasks.take_back_rest(over=True):
            self._fill()
        return self._is_idle

    @property
    def _is_idle(self) -> bool:
        return not self._running and bool(self._unpaid or self._tasks.finished)

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
            task = self._writer.asked(lambda: self._tasks.ask(self._short(), share=self._workers.workers))
        except NothingToAsk:
            if self._running:  # what is under way still counts
                return None
            raise
        return task and self._paid(task)

    def _start(self, task: Task) -> None:
        try:
            future = self._workers.submit(self._measure, task.candidate, task.repeats)
        except BaseException:
            self._tasks.release(task)
            raise
        self._running[future], self._began[future] = task, monotonic()

    def _short(self) -> int | None:
        """How many repeats make a task that is soon over; one, as long as nobody knows."""
        if self._measure.vectorized or self._workers.short == inf:
            return None
        return 1 if self._seconds is None else int(max(1, self._writer.short() / max(self._seconds, 1e-9)))

    def _affordable(self) -> list[int]:
        """For how many more repeats each limit still pays, when those that are assigned to anybody are measured."""
        if not self._limits:
            return []
        in_hand, mine = Counter(self._tasks.in_hand()), Counter[int]()
        for future, task in self._running.items():
            mine[task.batch] += self._writer.repeats_left(future, task)
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
            words = self._tasks.waiting()
            if words:
                print(words, file=sys.stderr)
            with interrupts.released():
                sleep(TICK)
            return
        with interrupts.released():
            done = self._workers.wait(self._running, self._writer.pause(self._running.values(), TICK))
        stored = self._writer.store(self._running, done)
        self._pausing.judge_failures()
        alone = len(self._running) == 1
        for future in done:
            self._take(future, self._running[future], alone=alone)
            self._over(future)  # not before: what stops it half-way is handed back
        if done or stored:
            self._report(0)
            self._events.look_for_best(self._tasks.looked)
        else:
            self._keep_answer()

    def _over(self, future: Future[TaskOutcome]) -> Task:
        self._writer.forget(future)
        self._began.pop(future, None)
        return self._running.pop(future)

    def _on_stored(
        self, future: Future[TaskOutcome], task: Task, values: list[float], came: Sequence[float], taken: Sequence[bool]
    ) -> None:
        """Values that were stored, but for those that others had told before: all of a task, or some of its repeats."""
        self._pausing.record(task, values, came, self._began[future])
        self._began[future] = came[-1]
        if all(taken):
            self._events.told(task, values)
            return
        for place, value in enumerate(values):
            if taken[place]:
                self._events.told(replace(task, start=task.start + place, repeats=1), [value])

    def _keep_answer(self) -> None:
        """While everybody measures, what is known is stored for others to see; in a twentieth of the time at most."""
        start = monotonic()
        if start >= self._next_answer:
            self._tasks.keep_answer()
            self._next_answer = monotonic() + SHARE * (monotonic() - start)

    def _take(self, future: Future[TaskOutcome], task: Task, *, alone: bool) -> None:
        """What a worker has brought: values (stored by now), an error of the function, or nothing if it was lost."""
        error = error_of(future)
        if error is not None:
            self._lose(task, error, alone=alone)
            return
        values, raised, seconds, _, _ = future.result()
        if values:
            self._seconds = seconds / len(values)
        if len(values) < task.repeats:
            self._tasks.release(task)
        if raised is not None and isinstance(raised.error, Outage):
            self._pausing.record_outage(task, raised.error)
        elif raised is not None:
            raised.error.add_note(f"Raised while {task.candidate} was measured; everything before it is kept.")
            raise raised.error
        self._pausing.check_hopeless()

    def _lose(self, task: Task, error: BaseException, *, alone: bool) -> None:
        """A task was lost with its worker. What broke the workers of others too may be innocent: it is tried alone."""
        if not is_lost(error):
            error.add_note("Raised before the function was called: is it one that workers can import?")
            raise error
        key = (task.batch, task.start)
        self._lost[key] += 1
        if self._lost[key] >= LOSSES and alone:
            self._writer.tell(task, [nan] * task.repeats, task.start)
            self._pausing.record(task, [nan] * task.repeats, [monotonic()] * task.repeats, monotonic())
            self._pausing.judge_failures()
            notify(
                f"A worker ended {LOSSES} times while it measured {task.candidate} ({error}): that counts as failed.",
                LostWorkers,
            )
        elif self._lost[key] >= LOSSES - 1:
            self._suspects.append(task)
        else:
            self._tasks.release(task)

    # Ending

    def _ruled(self) -> str | None:
        return self._tasks.looked(lambda optimizer: met(self._rules, optimizer)) if self._rules else None

    def _let_go(self, interrupts: Interrupts) -> None:
        """What is under way is waited for and told, unless Ctrl-C says not to; the rest is handed back."""
        self._measure.finish()
        for future in [future for future in self._running if future.cancel()]:
            self._give_up(self._over(future))
        hurried = interrupts.hurried
        if not hurried:
            try:
                self._wait_for_the_rest(interrupts)
            except KeyboardInterrupt:
                hurried = True
        if hurried:
            self._end_in_haste()
        self._keep(())  # what others have measured so far
        self._tasks.take_in_again()
        for task in [*self._running.values(), *self._suspects]:
            self._give_up(task)
        self._workers.shutdown()

    def _end_in_haste(self) -> None:
        """Nobody waits any more: what was measured is put aside before a storage is tried that may not answer."""
        self._tasks.hurry()
        self._measure.stop()
        self._writer.put_aside(self._running)
        with suppress(KeyboardInterrupt):
            self._workers.wait(self._running, GRACE, every=True)
        self._writer.put_aside(self._running)

    def _wait_for_the_rest(self, interrupts: Interrupts) -> None:
        said, start = False, monotonic()
        while self._running:
            with interrupts.released():
                done = self._workers.wait(self._running, TICK)
            self._keep(done)
            if self._running and not said and monotonic() - start > TICK:
                said = True
                under_way = counted(len(self._running), "task")
                print(f"waiting for {under_way} under way; Ctrl-C stops at once", file=sys.stderr)

    def _keep(self, done: Collection[Future[TaskOutcome]]) -> None:
        """The values of tasks at the end of a run, if they have any; what else went wrong matters no more."""
        try:
            self._writer.store(self._running, done, at_once=True)
        except Exception:
            self._writer.put_aside(self._running)
        for future in done:
            self._give_up(self._over(future))

    def _give_up(self, task: Task) -> None:
        with suppress(OstinatoError):
            self._tasks.release(task)
