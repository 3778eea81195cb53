"""The tasks of one run: on short leases, which a heart renews as long as this process lives."""

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, TypeVar

from msgspec.structs import replace

from ostinato.checks import counted
from ostinato.errors import Conflict, LongMeasurements, OstinatoError, notify
from ostinato.optimizer import Optimizer
from ostinato.running.pausing import Pause
from ostinato.running.program import Program
from ostinato.running.task import Place, Task
from ostinato.storage import Reader
from ostinato.study.asking import key_of, tasks_for
from ostinato.study.assigned import WaitMessage
from ostinato.study.heartbeat import Heartbeat
from ostinato.study.origins import source_of
from ostinato.study.pauses import PauseNote, Recovery
from ostinato.study.reading import read_values
from ostinato.study.recent_failures import OUTAGE_ROWS, RECENT_ROWS, failure_rows, outage_failures, recent_spans
from ostinato.study.request import Request
from ostinato.study.stored import StoredStudy
from ostinato.study.telling import observe_all
from ostinato.study.unsaved import Unsaved
from ostinato.study.workers import own_name

T = TypeVar("T")
JUDGED_OUTAGE = "of an outage that was judged before"


class StudyForRun(Protocol):
    """The methods of a study that a run uses, besides those for tasks."""

    def tell(self, task: Task, values: Any, *, start: int | None = None) -> int: ...

    def tell_all(self, told: Sequence[tuple[Task, Any, int]]) -> int: ...

    def release(self, task: Task, *, keep: int = 0) -> None: ...

    def in_hand(self) -> Mapping[int, int]: ...

    @property
    def finished(self) -> bool: ...

    def looked(self, question: Callable[[Optimizer], T]) -> T: ...

    def retract(self, what: Any = None, *, failures: bool = False, why: str = "") -> int: ...

    def keep_answer(self) -> None: ...


class RunTasks:
    """What a run asks and tells goes to its study; what it holds in between is kept alive.

    judges: whether it takes back failures of outages; else every failure counts.
    """

    def __init__(
        self, study: StudyForRun, stored: StoredStudy, lease: float, program: Program, *, judges: bool
    ) -> None:
        self._study, self._stored, self._program, self._judges = study, stored, program, judges
        self._heart = Heartbeat(lambda keys: stored.storage.renew(stored.name, keys, lease), lease)
        self._note, self._recovery = PauseNote(stored, lease), Recovery(stored, lease)
        self._waiting, self._unsaved = WaitMessage(stored), Unsaved(stored.name, stored.created, stored.storage)
        self._in_vain = self._remarked = False

    def __enter__(self) -> "RunTasks":
        self.take_in_again()
        self._heart.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._heart.__exit__(kind, error, trace)
        self._note.__exit__(kind, error, trace)
        if error is None:
            self._remark()

    def ask(self, limit: int | None = None, *, share: int = 1) -> Task | None:
        """The next repeats."""
        self._remark()
        if self._recovery.looked():
            self._take_back_rest(OUTAGE_ROWS, over=True)
        with self._stored.lock:
            request = Request(key_of(None), self._heart.lease, limit, share, mine=self._heart.held)
            found = [self._marked(task) for task in tasks_for(self._stored, request)]
        for task in found:
            self._heart.hold(task.key)
            self._waiting.reset()
        return found[0] if found else None

    def _marked(self, task: Task) -> Task:
        """With what it is measured."""
        return replace(task, program=self._program.name, version=self._program.version)

    def tell(self, task: Task, values: Any, *, start: int | None = None) -> int:
        """The values of a task, in the order of its repeats."""
        first = task.start if start is None else start
        try:
            new = self._study.tell(task, values, start=start)
        except Conflict:
            self._in_vain = True
            self._heart.let_go(task.key)
            raise
        self._in_vain |= new < len(values)
        self._let_go(task, first + len(values))
        return new

    def tell_all(self, told: Sequence[tuple[Task, Any, int]]) -> int:
        """Values of several tasks, each from a repeat on, stored together."""
        new = self._study.tell_all(told)
        self._in_vain |= new < sum(len(values) for _, values, _ in told)
        for task, values, first in told:
            self._let_go(task, first + len(values))
        return new

    def _let_go(self, task: Task, stop: int) -> None:
        """A task whose last repeat was told is held no more."""
        if stop >= task.stop:
            self._heart.let_go(task.key)

    def release(self, task: Task, *, keep: int = 0) -> None:
        """Hand a task back, or all but the first `keep` of its repeats."""
        if keep == 0:
            self._heart.let_go(task.key)
        self._study.release(task, keep=keep)

    def put_aside(self, told: Sequence[tuple[Task, Sequence[float]]]) -> None:
        """Values that cannot be stored now."""
        lines = self._unsaved.keep(told)
        if lines:
            print(f"could be stored nowhere:\n{lines}", file=sys.stderr)

    def take_in_again(self) -> None:
        """Store what was put aside, by this run or an earlier one; or say where it is."""
        with suppress(OstinatoError):
            new = self._unsaved.take_in(self._told_late)
            if new:
                print(f"took in {counted(new, 'value')} that could not be stored before", file=sys.stderr)
        for place in self._unsaved.found():
            words = "values that could not be stored are in it, and are taken in when the study runs again"
            print(f"{place}: {words}", file=sys.stderr)

    def _told_late(self, task: Task, values: list[float]) -> int:
        """Values of a task; of its candidate, where the study was restored from a copy that has no such batch."""
        batch = self._stored.read(lambda reader: reader.batch(task.batch))
        if batch is not None and batch.facts.index == task.index and task.stop <= batch.facts.places:
            return self._study.tell(task, values)
        self._observe(task, values)
        return len(values)

    def hurry(self) -> None:
        """Wait for nothing any more."""
        self._stored.storage.hurry()

    def waiting(self) -> str | None:
        """What is waited for, where that is new."""
        return self._waiting.message()

    def _remark(self) -> None:
        """Where others measured the same because this process did not run, that can be helped."""
        if not self._in_vain or not self._heart.stood_still or self._remarked:
            return
        self._remarked = True
        notify(
            f"This process stood still for {self._heart.stood_still:,.3g} s, and a run's leases end after "
            f"{self._heart.lease:,.3g} s: others measured the same, and some of it counts once. If your function holds "
            "Python's lock for so long, give executor='processes'; or give a longer lease.",
            LongMeasurements,
        )

    # The rest is the study's

    def in_hand(self) -> Mapping[int, int]:
        return self._study.in_hand()

    @property
    def finished(self) -> bool:
        return self._study.finished

    def looked(self, question: Callable[[Optimizer], T]) -> T:
        return self._study.looked(question)

    def failed_in_rows(self) -> list[list[Task]]:
        """What failed lately in all runs with the same program."""
        return self._stored.read(lambda reader: failure_rows(recent_spans(reader, self._program.name)))

    def take_back_rest(self, *, over: bool) -> Collection[Place]:
        """What else failed in all these runs, of outages that any of them has judged."""
        return self._take_back_rest(RECENT_ROWS if over else OUTAGE_ROWS, over=over)

    def _take_back_rest(self, rows: int, *, over: bool) -> Collection[Place]:
        def look(reader: Reader) -> list[Task]:
            return (
                outage_failures(recent_spans(reader, self._program.name, rows), over=over)
                if reader.record.revised
                else []
            )

        rest = self._stored.read(look) if self._judges else []
        if rest:
            self._study.retract(rest, failures=True, why=JUDGED_OUTAGE)
        return {task.place for task in rest}

    def keep_answer(self) -> None:
        self._study.keep_answer()

    def observe_probe(self, task: Task, values: list[float], seconds: float) -> None:
        """A measurement that nobody asked for; where it comes from is stored with it."""
        self._observe(replace(self._marked(task), worker=own_name()), values, seconds)

    def _observe(self, task: Task, values: list[float], seconds: float = 0.0) -> None:
        told = read_values(values, None, self._stored.outcome)
        observe_all(self._stored, [(task.index, told)], source_of(task), seconds)

    def retract(self, what: Any = None, *, failures: bool = False, why: str = "") -> int:
        return self._study.retract(what, failures=failures, why=why)

    def keep_pause(self, pause: Pause | None) -> None:
        self._note.keep(pause)
