"""A study that runs: tasks to workers, values to the store, until the budget is spent.

Repeats of one batch run side by side. A worker that is lost, or too slow, loses nothing: its repeats are handed out
again, and whoever answers first is believed. A task is one measurement, or as many as take about a second: what a crash
can cost is what was going on.
"""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from math import nan
from time import sleep
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from ostinato.errors import Conflict, InvalidFeedback, LongMeasurements, NothingToAsk, notify
from ostinato.executors import Pool, is_lost
from ostinato.interrupts import Interrupts
from ostinato.measure import Measure
from ostinato.optimizer import Optimizer
from ostinato.progress import Reporter
from ostinato.stopping import Rule, Spent
from ostinato.study.task import Task

T = TypeVar("T")
SHORT = 1.0  # seconds that a task of several repeats is to take
TICK = 0.5  # seconds after which those who wait look again
LOSSES = 3  # of the same repeats with their worker, after which they count as failed
HOPELESS = 20  # failures, with no success before them, at which a run ends


class Desk(Protocol):
    """What a run needs of a study."""

    lease: float

    def ask(self, limit: int | None = None, *, share: int = 1) -> Task | None: ...

    def tell(self, task: Task, values: Any) -> int: ...

    def release(self, task: Task, *, keep: int = 0) -> None: ...

    @property
    def finished(self) -> bool: ...

    def looked(self, question: Callable[[Optimizer], T]) -> T: ...


class Run:
    """The workers of one process, and what they are doing."""

    def __init__(
        self,
        study: Desk,
        measure: Measure,
        pool: Pool,
        rules: list[tuple[str, Rule]],
        limits: list[Spent],
        report: Reporter,
    ) -> None:
        self._study, self._measure, self._pool, self._report = study, measure, pool, report
        self._rules, self._limits = rules, limits
        self._running: dict[Future[Any], Task] = {}
        self._seconds: float | None = None  # that a measurement took lately
        self._lost: Counter[tuple[int, int]] = Counter()
        self._unpaid: str | None = None  # the limit that does not pay for the task that was asked for last
        self._told = self._remarked = False

    def until_the_end(self, interrupts: Interrupts) -> str:
        """Returns why it ended. Ctrl-C comes through only while there is nothing to do but wait."""
        try:
            ended = self._ruled()
            while not ended:
                self._fill()
                if not self._running and (self._unpaid or self._study.finished):
                    return self._unpaid or "budget"
                done = self._waited(interrupts)
                for future in done:
                    self._take(future, self._running.pop(future))
                if done:
                    self._report(0)
                    ended = self._ruled()
            return ended
        except KeyboardInterrupt:
            return "interrupted"
        except NothingToAsk:
            return "exhausted"
        finally:
            self._let_go()

    def _fill(self) -> None:
        while len(self._running) < self._pool.workers:
            most = min([*self._short(), *self._affordable()], default=None)
            if most is not None and most < 1:
                return
            try:
                task = self._study.ask(most, share=self._pool.workers)
            except NothingToAsk:
                if self._running:  # what is under way still counts
                    return
                raise
            task = task and self._paid(task)
            if task is None:
                return
            self._running[self._pool.submit(self._measure, task.candidate, task.repeats)] = task

    def _short(self) -> list[int]:
        """How many repeats make a task that is soon over; one, as long as nobody knows."""
        if self._measure.vectorized:
            return []
        return [1 if self._seconds is None else int(max(1, SHORT / max(self._seconds, 1e-9)))]

    def _affordable(self, *more: Task) -> list[int]:
        """For how many more repeats each limit still pays, when those in hand are measured; below 0 if for less."""
        if not self._limits:
            return []
        in_hand = Counter[int]()
        for task in [*self._running.values(), *more]:
            in_hand[task.batch] += task.repeats
        return self._study.looked(lambda optimizer: [each.affordable(optimizer, in_hand) for each in self._limits])

    def _paid(self, task: Task) -> Task | None:
        """As much of a task as can be paid for, the switch to it included; the rest is handed back."""
        left = self._affordable(task)
        repeats = max(0, task.repeats + min([0, *left]))
        if repeats < task.repeats:
            self._study.release(task, keep=repeats)
        self._unpaid = None if repeats else repr(self._limits[left.index(min(left))])
        return replace(task, repeats=repeats) if repeats else None

    def _waited(self, interrupts: Interrupts) -> list[Future[Any]]:
        with interrupts.released():
            if not self._running:  # the rest is in other hands
                sleep(TICK)
                return []
            done, _ = wait(self._running, timeout=TICK, return_when=FIRST_COMPLETED)
        return list(done)

    def _take(self, future: Future[Any], task: Task) -> None:
        """What a worker has brought: values, an error of the user's function, or nothing, being lost."""
        error = _error_of(future)
        if error is not None:
            self._lose(task, error)
            return
        values, raised, seconds = future.result()
        if values:
            self._seconds = seconds / len(values)
            self._tell(task, values)
            self._remark(seconds)
        if raised is not None:
            self._study.release(task)
            raised.add_note(f"Raised while {task.candidate} was measured; everything before it is stored.")
            raise raised
        self._check_hopeless()

    def _remark(self, seconds: float) -> None:
        if seconds > self._study.lease and not self._remarked:
            self._remarked = True
            notify(
                f"A task took {seconds:,.3g} s, and tasks are handed out for {self._study.lease:,.3g} s: then others "
                "are given the same repeats, and one of the two measures in vain. Give a longer lease.",
                LongMeasurements,
            )

    def _lose(self, task: Task, error: BaseException) -> None:
        if not is_lost(error):
            raise error
        key = (task.batch, task.start)
        self._lost[key] += 1
        if self._lost[key] < LOSSES:
            self._study.release(task)
        else:
            self._tell(task, [nan] * task.repeats)

    def _tell(self, task: Task, values: list[float]) -> None:
        with suppress(Conflict):  # another worker was given these repeats, and answered first
            self._study.tell(task, values)

    def _ruled(self) -> str | None:
        if not self._rules:
            return None
        return self._study.looked(
            lambda optimizer: next((name for name, rule in self._rules if optimizer.steps and rule(optimizer)), None)
        )

    def _check_hopeless(self) -> None:
        if self._told:
            return
        steps, failures = self._study.looked(lambda optimizer: (optimizer.steps, optimizer.failures))
        self._told = steps > 0
        if not self._told and failures >= HOPELESS:
            raise InvalidFeedback(
                f"The first {failures} measurements all failed, of as many candidates: see that they give a "
                "number for any candidate at all."
            )

    def _let_go(self) -> None:
        """What is done is told, and the rest handed back for others."""
        for future, task in self._running.items():
            if not future.cancel() and future.done() and future.exception() is None:
                values, _, _ = future.result()
                if values:
                    self._tell(task, values)
            self._study.release(task)
        self._pool.shutdown()


def _error_of(future: Future[Any]) -> BaseException | None:
    """The error of a future, a cancellation included."""
    try:
        return future.exception()
    except BaseException as error:
        return error
