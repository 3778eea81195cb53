"""An instrument that is down: the run pauses, tries one measurement again and again, and goes on when it works.

Failures are told as they come, so that what truly fails is avoided at once. Those of a suspicious row
(`running/outage.py`) are judged when nothing else is under way: a candidate that gave values before is measured again.
If that fails too, they are taken back, and count neither against the budget nor against their candidates. If it gives
a value, one of those that failed is measured again: the failures stay if it fails again; they are taken back if it
gives a value, since then it was an outage that is over. What other runs of the same program have seen in the same row
belongs to it, and whoever finds it suspicious judges all of it, and takes back whatever else nobody got a value before
or after. What is told later of the same outage is taken back by those who tell it. A run that is killed before it has
judged leaves a note of what it would have judged, however few failures these are: the next run takes them back.
"""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime, timedelta
from math import inf, isnan
from time import monotonic, sleep
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from ostinato.errors import InvalidFeedback, OstinatoError, Outage, Paused, notify
from ostinato.optimizer import Optimizer
from ostinato.running.events import LOGGER, Events, OutageBegan, OutageEnded
from ostinato.running.executors import TaskOutcome, Workers, error_of, is_lost
from ostinato.running.interrupts import Interrupts
from ostinato.running.measure import Measure
from ostinato.running.outage import Evidence
from ostinato.running.suspects import FailureLog, Suspects
from ostinato.running.task import Place, Task
from ostinato.running.timestamped import lasting, say

T = TypeVar("T")
TICK = 0.5  # seconds after which those who wait look again
PROBES = 10  # measurements at most, of candidates that worked, to find out whether it is an outage
ONE_BAD = 2  # tries: one that failed and one that worked may be chance
HOPELESS = 20  # failures, with no success before them, at which a run ends
OBSERVED = -1  # in place of a batch's number: nobody asked for it
OUTAGE, FAILURE = "outage", "failure"  # why a run ended


class Pause(msgspec.Struct, frozen=True):
    """Where a run stands that measures nothing: for others to see, and for the next run if this one is killed.

    since, next_try: seconds ago, and from now; None for no other try. judged: failures that may be taken back.
    paused: False while the run still measures, and may come to judge them.
    """

    since: float
    failure: str
    next_try: float | None
    judged: tuple[Task, ...] = ()
    paused: bool = True


class PausableTasks(FailureLog, Protocol):
    """What a pause needs of those that hand out tasks."""

    def looked(self, question: Callable[[Optimizer], T]) -> T: ...

    @property
    def finished(self) -> bool: ...

    def observe_probe(self, task: Task, values: list[float], seconds: float) -> None:
        """A measurement that nobody asked for, to see whether any can be made; it took so long."""
        ...

    def retract(self, what: Any = None, *, failures: bool = False, why: str = "") -> int: ...

    def keep_pause(self, pause: Pause | None) -> None:
        """Show others where the run stands; None when it goes on."""
        ...

    def keep_answer(self) -> None: ...


class OutageMonitor:
    """Watches for outages: judges the failures since the last value, pauses the run, and ends the pause."""

    def __init__(self, tasks: PausableTasks, measure: Measure, workers: Workers, events: Events) -> None:
        self._tasks, self._measure, self._workers, self._how = tasks, measure, workers, measure.on_failure
        self._events = events
        self._suspects = Suspects(tasks)
        self._began = 0.0  # the outage
        self._evidence: Evidence | None = None  # what the row means, from its first failure on
        self._down: Task | None = None  # that could not be measured at all: there is nothing to judge
        self._tried = 0  # so often, without a value
        self._remembered = 0  # failures that are noted, to be judged
        self._said = ""
        self._worked = self._noted = False
        self.ended: str | None = None

    # Hearing

    def record(self, task: Task, values: Sequence[float], came: Sequence[float], begun: float) -> None:
        """Values of a task that were told, NaN for such as failed; when each came, and when the first was begun."""
        for place, (value, at) in enumerate(zip(values, came, strict=True)):
            if isnan(value):
                self._fail(at, replace(task, start=task.start + place, repeats=1))
            else:
                self._work(begun, at)
            begun = at
        if self._how.way == "stop" and any(map(isnan, values)):
            self.ended = FAILURE

    def judge_failures(self) -> None:
        """What the failures mean, when all that was stored together was heard."""
        if self._how.pauses and self._suspects.take_news():
            self._suspects.look()
            self._evidence = self._tasks.looked(self._weighed)
        self._remember()

    def _weighed(self, optimizer: Optimizer) -> Evidence | None:
        """The row, or what is over by now if that is more suspicious, against what was told before."""
        past = self._suspects.past
        if past and (evidence := self._against(optimizer, past)).suspicious_when_over:
            return evidence
        self._suspects.leave_past()
        row = self._suspects.tasks
        return self._against(optimizer, row) if row else None

    def _against(self, optimizer: Optimizer, row: Sequence[Task]) -> Evidence:
        core, indices = optimizer.core, [task.index for task in row]
        index_of = core.problem.table.index_of
        failures = Counter({index_of(number): failed for number, failed in core.state.failures.items()})
        evidence = Evidence(optimizer.counts(), failures - Counter(indices), indices)
        LOGGER.debug("weighed %s: %s", [task.place for task in row], evidence)
        return evidence

    def _remember(self) -> None:
        """Note what is to be judged when nothing else is under way: this run may be killed before it comes to that."""
        judged = tuple(self._suspects.to_judge) if self.in_doubt else ()
        if len(judged) > self._remembered:
            self._began = self._suspects.began or monotonic()
            self._keep(Pause(self._ago, self._said, 0.0, judged, paused=self.alarmed))
        elif self._remembered and not judged:  # a value came: there is nothing to judge
            self._noted = False
            self._tasks.keep_pause(None)
        self._remembered = len(judged)

    def record_outage(self, task: Task, error: Outage) -> None:
        """A task that could not be measured, nor could any other."""
        self._down, self._said = task, str(error)

    def _fail(self, at: float, failed: Task) -> None:
        self._said = self._measure.complaint or f"{failed.candidate} failed"
        self._suspects.add_failure(at, failed)

    def _work(self, begun: float, at: float) -> None:
        """A value: the row is over."""
        self._suspects.add_value(begun, at)
        self._evidence = self._down = None

    def _forget(self) -> None:
        """What failed before was news about candidates, or does not count any more."""
        self._suspects.clear()
        self._evidence, self._down, self._remembered = None, None, 0

    @property
    def alarmed(self) -> bool:
        """Whether nothing more is to be measured until it is known what the failures mean."""
        return self._down is not None or (self._evidence is not None and self._evidence.suspicious)

    @property
    def in_doubt(self) -> bool:
        """Whether the failures may be an outage, few as they are: a run that ends has to know that first."""
        return self._down is not None or (self._evidence is not None and self._evidence.improbable)

    @property
    def complaint(self) -> str:
        """What the last failure said."""
        return self._said

    def check_hopeless(self) -> None:
        """A run that never worked has no outage: somebody should look at it."""
        if self._worked or not self._suspects:
            return
        steps, failures = self._tasks.looked(lambda optimizer: (optimizer.steps, optimizer.failures))
        self._worked = steps > 0
        if self._worked or failures < HOPELESS:
            return
        taken = self._take_back("no measurement had worked before") if self._how.pauses else 0
        raise InvalidFeedback(
            f"The first {failures} measurements all failed, of as many candidates: see that they give a number for "
            f"any candidate at all." + (" They do not count." if taken else "")
        )

    # Judging

    def settle(self, interrupts: Interrupts) -> str | None:
        """Find out what the failures mean, with nothing else under way; after an outage it works again.

        Returns why the run has to end, if it has to.
        """
        self._began = self._suspects.began or monotonic()
        row, down = self._suspects.to_judge, self._down
        failed = row if down is None else [*row, down]
        self._keep(Pause(self._ago, self._said, 0.0, tuple(row)))
        works = down is None and self._works_now(interrupts, failed)
        if not works or (not self._by_chance and (self._tried > ONE_BAD or self._is_past(interrupts, row))):
            self._take_back(OUTAGE)
        if works:
            self._over()
            return None
        return self._wait(interrupts, failed, unstarted=down is not None)

    @property
    def _by_chance(self) -> bool:
        """Whether a program that fails now and then explains a long row, which is over since it works again."""
        return self.alarmed and self._evidence is not None and not self._evidence.suspicious_when_over

    def close(self) -> None:
        """The end of a run: failures that nobody came to judge are taken back, to be on the safe side."""
        with suppress(OstinatoError):  # the note stays, and the next run takes them back
            self.judge_failures()
            if self.in_doubt:
                self._take_back("the run ended before it was known whether it was an outage")
            self._tasks.take_back_rest(over=True)
            if self._noted and self.ended != OUTAGE:
                self._over()

    def _works_now(self, interrupts: Interrupts, failed: Sequence[Task]) -> bool:
        """Whether candidates that gave values before still do; where that stays in doubt, a pause does no harm.

        Where several of them failed first, it was an outage that is over by now.
        """
        evidence = self._evidence
        while evidence is not None and not (self._tried and evidence.certain) and self._tried < PROBES:
            probed, _ = self._probe(evidence, failed)
            if self._works(interrupts, probed):
                return True
            evidence.add(probed)
        return False

    def _is_past(self, interrupts: Interrupts, row: Sequence[Task]) -> bool:
        """Whether the last candidate that failed gives a value by now: then it was an outage, which is over."""
        barred = self._tasks.looked(_barred)
        possible = [task.index for task in row if task.index not in barred]
        return bool(possible) and self._works(interrupts, possible[-1])

    def _probe(self, evidence: Evidence, failed: Sequence[Task]) -> tuple[int, bool]:
        """A candidate to try, and whether it gave values before; where none did, one that failed, another each time."""
        known = self._tasks.looked(lambda optimizer: evidence.probe(_barred(optimizer)))
        return (failed[self._tried % len(failed)].index, False) if known is None else (known, True)

    def _works(self, interrupts: Interrupts, index: int, *, any_will_do: bool = False) -> bool:
        """Whether a measurement of a candidate gives a value, which counts. any_will_do: or fails as it may."""
        candidate = self._tasks.looked(lambda optimizer: optimizer.core.problem.table[index])
        future = self._workers.submit(self._measure, candidate, 1)
        interrupted = self._is_interrupted(interrupts, future)
        value, said = self._came_of(future, candidate)
        self._tried += 1
        if value is not None and not isnan(value) and not self._tasks.finished:
            task = Task(self._events.study, OBSERVED, index, candidate, 0, 1, host=future.result().host)
            self._tasks.observe_probe(task, [value], future.result().seconds)
            self._events.told(task, [value])
        if interrupted:
            raise KeyboardInterrupt
        if value is None or isnan(value):
            self._said = said or self._said
            return any_will_do and value is not None
        return True

    def _is_interrupted(self, interrupts: Interrupts, future: "Future[TaskOutcome]") -> bool:
        """Wait for a measurement. The first Ctrl-C ends the run when it is over, and the second one at once."""
        try:
            self._wait_for(interrupts, future)
            return False
        except KeyboardInterrupt:
            if interrupts.hurried:
                self._measure.stop()
                raise
        if not future.done():
            print("waiting for the measurement under way; Ctrl-C stops at once", file=sys.stderr)
        try:
            self._wait_for(interrupts, future)
        except KeyboardInterrupt:
            self._measure.stop()
            raise
        return True

    def _wait_for(self, interrupts: Interrupts, future: "Future[TaskOutcome]") -> None:
        while not future.done():
            with interrupts.released():
                self._workers.wait([future], TICK)

    def _came_of(self, future: "Future[TaskOutcome]", candidate: Any) -> tuple[float | None, str]:
        """One value, NaN where it failed, None where nothing can be measured; and what it then said."""
        error = error_of(future)
        if error is not None:
            if not is_lost(error):
                raise error
            return None, str(error)
        values, raised, *_ = future.result()
        if raised is not None and not isinstance(raised.error, Outage):
            raised.error.add_note(f"Raised while {candidate} was measured; everything before it is kept.")
            raise raised.error
        if raised is not None or not values:
            return None, str(raised.error) if raised is not None else ""
        return values[0], self._measure.complaint

    def _take_back(self, why: str) -> int:
        row, at = self._suspects.to_judge, self._suspects.began or self._began or monotonic()
        began = datetime.now() - timedelta(seconds=monotonic() - at)
        taken = self._tasks.retract(row, failures=True, why=f"{why}, since {began:%Y-%m-%d %H:%M:%S}") if row else 0
        rest = self._tasks.take_back_rest(over=False)
        LOGGER.debug("took back %s (%s), and of the same outage %s", _places(row), why, sorted(rest))
        self._forget()
        return taken + len(rest)

    # Waiting

    def _wait(self, interrupts: Interrupts, failed: Sequence[Task], *, unstarted: bool) -> str | None:
        """Pause and try again until it works, or it is time to give up.

        failed: what could not be measured; unstarted: nothing was even begun, so that any beginning is an end to it,
        where no candidate ever gave a value.
        """
        pause, end, first = self._how.retry_every, monotonic() + self._how.give_up_after, True
        while (left := end - monotonic()) > 0:
            seconds = min(pause, left)
            self._keep(Pause(self._ago, self._said, seconds))
            self._say(seconds, first=first)
            self._sleep(interrupts, seconds)
            self._suspects.look_at_last()
            worked = self._tasks.finished or self._try(interrupts, failed, unstarted=unstarted)
            self._take_back(OUTAGE)  # what other runs have seen of it since
            if worked:
                self._over()
                return None
            pause, first = self._how.after(pause), False
        self._keep(Pause(self._ago, self._said, None))
        self._tell(f"given up: nothing could be measured for {lasting(self._ago)}. The last failure: {self._said}")
        self.ended = OUTAGE
        return OUTAGE

    def _try(self, interrupts: Interrupts, failed: Sequence[Task], *, unstarted: bool) -> bool:
        evidence = self._tasks.looked(lambda optimizer: self._against(optimizer, self._suspects.tasks))
        probed, known = self._probe(evidence, failed)
        if not self._works(interrupts, probed, any_will_do=unstarted and not known):
            return False
        words = f"measuring again, after {lasting(self._ago)}"
        self._events.tell(OutageEnded(study=self._events.study, message=words, seconds=self._ago))
        say(words)
        return True

    def _sleep(self, interrupts: Interrupts, seconds: float) -> None:
        end = monotonic() + seconds
        while (left := end - monotonic()) > 0:
            with interrupts.released():
                sleep(min(TICK, left))

    # Saying

    @property
    def _ago(self) -> float:
        return monotonic() - self._began

    def _say(self, seconds: float, *, first: bool) -> None:
        now = datetime.now()
        at = f"{now + timedelta(seconds=seconds):%H:%M:%S}"
        if not first:
            self._tell(f"still down after {lasting(self._ago)}; next try at {at}. The last failure: {self._said}")
            return
        until = "" if self._how.give_up_after == inf else f" It gives up after {lasting(self._how.give_up_after)}."
        words = (
            f"Nothing can be measured, whatever the candidate: the run pauses at {now:%H:%M:%S}, and tries again at "
            f"{at}. These failures do not count.{until} The last failure: {self._said}"
        )
        self._events.tell(OutageBegan(study=self._events.study, message=words, failure=self._said))
        notify(words, Paused)

    def _tell(self, words: str) -> None:
        LOGGER.warning(words)
        say(words)

    def _keep(self, pause: Pause) -> None:
        self._noted = True
        self._tasks.keep_pause(pause)
        if pause.paused:
            self._tasks.keep_answer()

    def _over(self) -> None:
        self._forget()
        self._noted, self._tried = False, 0
        self._tasks.keep_pause(None)


def _places(tasks: Sequence[Task]) -> list[Place]:
    return [task.place for task in tasks]


def _barred(optimizer: Optimizer) -> set[int]:
    """Candidates that are not to be measured any more: retired, or as often as they may be."""
    cap = getattr(optimizer.policy, "cap_per_candidate", None) or inf
    return {*optimizer.retired, *(index for index, n in optimizer.counts().items() if n >= cap)}
