"""An instrument that is down: the run pauses, tries one measurement again and again, and goes on when it works.

Failures are told as they come, so that what truly fails is avoided at once. Those of a suspicious row
(`running/outage.py`) are judged when nothing else is under way: a candidate that gave values before is measured again.
If that gives a value, they stay; if not, they are taken back, and count neither against the budget nor against their
candidates. A run that is killed while it judges leaves a note of what it judged: the next one takes that back.
"""

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import takewhile
from math import inf, isnan
from time import monotonic, sleep
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from ostinato.errors import InvalidFeedback, OstinatoError, Outage, Paused, notify
from ostinato.optimizer import Optimizer
from ostinato.running.events import LOGGER, Down, Events, Up
from ostinato.running.executors import Workers, error_of, is_lost
from ostinato.running.interrupts import Interrupts
from ostinato.running.measure import Measure
from ostinato.running.outage import FEWEST, Evidence
from ostinato.running.task import Task

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
    """

    since: float
    failure: str
    next_try: float | None
    judged: tuple[Task, ...] = ()


class Failures(Protocol):
    """What a pause needs of those that hand out tasks."""

    def looked(self, question: Callable[[Optimizer], T]) -> T: ...

    @property
    def finished(self) -> bool: ...

    def observe(self, candidate: Any, values: Any = None) -> None: ...

    def retract(self, what: Any = None, *, failures: bool = False, why: str = "") -> int: ...

    def keep_pause(self, pause: Pause | None) -> None:
        """Show others where the run stands; None when it goes on."""
        ...

    def keep_answer(self) -> None: ...


class Pausing:
    """The failures since the last value, and what is made of them."""

    def __init__(self, tasks: Failures, measure: Measure, workers: Workers, events: Events) -> None:
        self._tasks, self._measure, self._workers, self._how = tasks, measure, workers, measure.on_failure
        self._events = events
        self._row: list[tuple[float, Task]] = []  # failures since the last value, one repeat each, and when they came
        self._began = 0.0  # the outage
        self._evidence: Evidence | None = None  # from the fewest that can be suspicious on
        self._down: Task | None = None  # that could not be measured at all: there is nothing to judge
        self._tried = 0  # so often, without a value
        self._said = ""
        self._worked = self._noted = False
        self.ended: str | None = None

    # Hearing

    def hear(self, task: Task, values: Sequence[float], seconds: float) -> None:
        """Values of a task that took so long, which were told; NaN for such as failed."""
        now, failed = monotonic(), list(takewhile(isnan, reversed(values)))
        if len(failed) < len(values):
            self._hear_value(now - (seconds if failed else 0.0))
        for place in range(len(values) - len(failed), len(values)):
            self._fail(now, replace(task, start=task.start + place, repeats=1))
        if self._how.way == "stop" and any(map(isnan, values)):
            self.ended = FAILURE

    def weigh(self) -> None:
        """What the row means, when all that was stored together was heard."""
        if self._how.pauses and self._evidence is None and len(self._row) >= FEWEST:
            self._evidence = self._tasks.looked(self._weighed)

    def _hear_value(self, at: float) -> None:
        """It worked at a moment. Side by side, values come in that are older than failures that came in before."""
        later = [(when, failed) for when, failed in self._row if when > at]
        self._forget()
        self._row = later

    def hear_outage(self, task: Task, error: Outage) -> None:
        """A task that could not be measured, nor could any other."""
        self._down, self._said = task, str(error)

    def _fail(self, now: float, failed: Task) -> None:
        self._row.append((now, failed))
        self._said = self._measure.complaint or f"{failed.candidate} failed"
        if self._evidence is not None:
            self._evidence.add(failed.index)

    def _forget(self) -> None:
        """It works: what failed before was news about candidates."""
        self._row, self._evidence, self._down = [], None, None

    def _weighed(self, optimizer: Optimizer) -> Evidence:
        """The row against what was told before it, here or elsewhere."""
        core, row = optimizer.core, [task.index for _, task in self._row]
        index_of = core.problem.table.index_of
        failures = Counter({index_of(number): failed for number, failed in core.state.failures.items()})
        return Evidence(optimizer.counts(), failures - Counter(row), row)

    @property
    def alarmed(self) -> bool:
        """Whether nothing more is to be measured until it is known what the failures mean."""
        return self._down is not None or (self._evidence is not None and self._evidence.suspicious)

    @property
    def complaint(self) -> str:
        """What the last failure said."""
        return self._said

    def check_hopeless(self) -> None:
        """A run that never worked has no outage: somebody should look at it."""
        if self._worked or not self._row:
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
        self._began = self._row[0][0] if self._row else monotonic()
        row, down = [task for _, task in self._row], self._down
        failed = row if down is None else [*row, down]
        self._keep(Pause(self._ago, self._said, 0.0, tuple(row)))
        works = down is None and self._works_now(interrupts, failed)
        if not works or self._tried > ONE_BAD:
            self._take_back("outage")
        if works:
            self._over()
            return None
        return self._wait(interrupts, failed, unstarted=down is not None)

    def close(self) -> None:
        """The end of a run: failures that nobody came to judge are taken back, to be on the safe side."""
        with suppress(OstinatoError):  # the note stays, and the next run takes them back
            if self.alarmed:
                self._take_back("the run ended before it was known whether it was an outage")
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

    def _probe(self, evidence: Evidence, failed: Sequence[Task]) -> tuple[int, bool]:
        """A candidate to try, and whether it gave values before; where none did, one that failed, another each time."""
        known = self._tasks.looked(lambda optimizer: evidence.probe(_barred(optimizer)))
        return (failed[self._tried % len(failed)].index, False) if known is None else (known, True)

    def _works(self, interrupts: Interrupts, index: int, *, any_will_do: bool = False) -> bool:
        """Whether a measurement of a candidate gives a value, which counts. any_will_do: or fails as it may."""
        candidate = self._tasks.looked(lambda optimizer: optimizer.core.problem.table[index])
        value, said = self._measured(interrupts, candidate)
        self._tried += 1
        if value is None or isnan(value):
            self._said = said or self._said
            return any_will_do and value is not None
        if not self._tasks.finished:
            self._tasks.observe(index, [value])
            self._events.told(Task(self._events.study, OBSERVED, index, candidate, 0, 1), [value])
        return True

    def _measured(self, interrupts: Interrupts, candidate: Any) -> tuple[float | None, str]:
        """One value, NaN where it failed, None where nothing can be measured; and what it then said."""
        future = self._workers.submit(self._measure, candidate, 1)
        try:
            while not future.done():
                with interrupts.released():
                    self._workers.wait([future], TICK)
        except KeyboardInterrupt:
            self._measure.stop()
            raise
        error = error_of(future)
        if error is not None:
            if not is_lost(error):
                raise error
            return None, str(error)
        values, raised, _ = future.result()
        if raised is not None and not isinstance(raised.error, Outage):
            raised.error.add_note(f"Raised while {candidate} was measured; everything before it is kept.")
            raise raised.error
        if raised is not None or not values:
            return None, str(raised.error) if raised is not None else ""
        return values[0], self._measure.complaint

    def _take_back(self, why: str) -> int:
        row = [task for _, task in self._row]
        began = datetime.now() - timedelta(seconds=monotonic() - self._row[0][0]) if row else datetime.now()
        taken = self._tasks.retract(row, failures=True, why=f"{why}, since {began:%Y-%m-%d %H:%M:%S}") if row else 0
        self._row, self._evidence, self._down = [], None, None
        return taken

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
            if self._tasks.finished or self._try(interrupts, failed, unstarted=unstarted):
                self._over()
                return None
            pause, first = self._how.after(pause), False
        self._keep(Pause(self._ago, self._said, None))
        self._tell(f"given up: nothing could be measured for {_lasting(self._ago)}. The last failure: {self._said}")
        self.ended = OUTAGE
        return OUTAGE

    def _try(self, interrupts: Interrupts, failed: Sequence[Task], *, unstarted: bool) -> bool:
        probed, known = self._probe(self._tasks.looked(self._weighed), failed)
        if not self._works(interrupts, probed, any_will_do=unstarted and not known):
            return False
        words = f"measuring again, after {_lasting(self._ago)}"
        self._events.tell(Up(study=self._events.study, message=words, seconds=self._ago))
        print(words, file=sys.stderr)
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
        at = f"{datetime.now() + timedelta(seconds=seconds):%H:%M:%S}"
        if not first:
            self._tell(f"still down after {_lasting(self._ago)}; next try at {at}. The last failure: {self._said}")
            return
        until = "" if self._how.give_up_after == inf else f" It gives up after {_lasting(self._how.give_up_after)}."
        words = (
            f"Nothing can be measured, whatever the candidate: the run pauses, and tries again at {at}. These failures "
            f"do not count.{until} The last failure: {self._said}"
        )
        self._events.tell(Down(study=self._events.study, message=words, failure=self._said))
        notify(words, Paused)

    def _tell(self, words: str) -> None:
        LOGGER.warning(words)
        print(words, file=sys.stderr)

    def _keep(self, pause: Pause) -> None:
        self._noted = True
        self._tasks.keep_pause(pause)
        self._tasks.keep_answer()

    def _over(self) -> None:
        self._forget()
        self._noted, self._tried = False, 0
        self._tasks.keep_pause(None)


def _barred(optimizer: Optimizer) -> set[int]:
    """Candidates that are not to be measured any more: retired, or as often as they may be."""
    cap = getattr(optimizer.policy, "cap_per_candidate", None) or inf
    return {*optimizer.retired, *(index for index, n in optimizer.counts().items() if n >= cap)}


def _lasting(seconds: float) -> str:
    """A time in words: 40 s, 12 min, 3.5 h, 2.1 days."""
    for unit, size in (("days", 86_400.0), ("h", 3_600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.0f} s"
