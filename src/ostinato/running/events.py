"""What happens in a run, told to whoever listens: logging, functions of the user's own, programs that call people."""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, TypeAlias

import msgspec

from ostinato.checks import counted
from ostinato.errors import InvalidSetting, OstinatoError
from ostinato.optimizer import Optimizer
from ostinato.records import Best
from ostinato.running.task import Task

LOGGER = logging.getLogger("ostinato")
LOGGER.addHandler(logging.NullHandler())  # who wants to hear it adds another
SHARE = 20  # times as long as it took to find the best, before it is looked for again


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """Something that happened in a run, with a line about it as its text. `study` is empty for runs in memory."""

    study: str = ""

    @property
    def kind(self) -> str:
        """Its name: tell, best, stop, …"""
        return str(self.__struct_config__.tag)


class ValuesTold(Event, frozen=True, kw_only=True, tag="tell"):
    """Values were taken in; in a study they are on disk."""

    task: Task
    values: list[float]

    def __str__(self) -> str:
        what = self.values[0] if len(self.values) == 1 else counted(len(self.values), "value")
        return f"{self.task.candidate}: {what}"


class NewBest(Event, frozen=True, kw_only=True, tag="best"):
    """Another candidate is recommended than before."""

    best: Best

    def __str__(self) -> str:
        return f"new best: {self.best}"


class OutageBegan(Event, frozen=True, kw_only=True, tag="outage"):
    """An outage began: nothing can be measured, and the run pauses. `failure` is what the last one said."""

    message: str
    failure: str

    def __str__(self) -> str:
        return self.message


class OutageEnded(Event, frozen=True, kw_only=True, tag="resumed"):
    """An outage is over, after so many seconds."""

    message: str
    seconds: float

    def __str__(self) -> str:
        return self.message


class RunEnded(Event, frozen=True, kw_only=True, tag="stop"):
    """The run is over, and why: "budget", "interrupted", "exhausted", the rule that held, or the error that was raised.

    `best` is what it recommends, where anything was measured.
    """

    why: str
    best: Best | None = None

    def __str__(self) -> str:
        return f"ended ({self.why})" + ("" if self.best is None else f"; best {self.best}")


Listener: TypeAlias = Callable[[Event], object]
AskOptimizer: TypeAlias = Callable[[Callable[[Optimizer], Any]], Any]  # answers a question about the optimiser


class Events:
    """Those who listen to a run. What a listener raises ends the run; everything measured is kept."""

    def __init__(self, study: str = "", listeners: Sequence[Listener] = ()) -> None:
        self.study, self._listeners = study, (logged, *listeners)
        self._index: int | None = None  # of the candidate that was last said to be the best
        self._next_look = 0.0

    def begun(self, looked: AskOptimizer) -> None:
        """What a run begins with is no news."""
        best = looked(_best) if self._has_listeners else None
        self._index = None if best is None else best.index

    def told(self, task: Task, values: list[float]) -> None:
        self.tell(ValuesTold(study=self.study, task=task, values=values))

    def ended(self, why: str, looked: AskOptimizer) -> None:
        """The last of them; a storage that does not answer is no reason to say nothing."""
        if not self._has_listeners:
            return
        best: Best | None = None
        with suppress(OstinatoError):
            best = looked(_best)
        self._compare(best)
        self.tell(RunEnded(study=self.study, why=why, best=best))

    def tell(self, event: Event) -> None:
        for listener in self._listeners:
            listener(event)

    def look_for_best(self, looked: AskOptimizer) -> None:
        """Say so where another candidate is the best; looking takes a twentieth of the time at most."""
        start = monotonic()
        if self._has_listeners and start >= self._next_look:
            self._compare(looked(_best))
            self._next_look = monotonic() + SHARE * (monotonic() - start)

    def _compare(self, best: Best | None) -> None:
        if best is not None and best.index != self._index:
            self._index = best.index
            self.tell(NewBest(study=self.study, best=best))

    @property
    def _has_listeners(self) -> bool:
        return len(self._listeners) > 1 or LOGGER.isEnabledFor(logging.INFO)


def _best(optimizer: Optimizer) -> Best | None:
    return optimizer.best() if optimizer.has_best else None


def logged(event: Event) -> None:
    """A record of the logger "ostinato": its attribute `event` is the event's name, and `details` all it says."""
    level = logging.WARNING if isinstance(event, OutageBegan) else logging.INFO
    if LOGGER.isEnabledFor(level):
        LOGGER.log(level, "%s", event, extra={"event": event.kind, "details": plain(event)})


def plain(event: Event) -> dict[str, Any]:
    """An event as numbers, text, lists and dictionaries."""
    return msgspec.to_builtins(event, enc_hook=lambda each: each.tolist())


def callbacks(
    on_tell: Callable[[Task, list[float]], object] | None,
    on_best: Callable[[Best], object] | None,
    on_stop: Callable[[str], object] | None,
) -> list[Listener]:
    """The user's own functions as listeners."""
    for name, given in (("on_tell", on_tell), ("on_best", on_best), ("on_stop", on_stop)):
        if given is not None and not callable(given):
            raise InvalidSetting(f"{name}={given!r} cannot be called: give a function.")

    def listener(event: Event) -> None:
        match event:
            case ValuesTold() if on_tell is not None:
                on_tell(event.task, event.values)
            case NewBest() if on_best is not None:
                on_best(event.best)
            case RunEnded() if on_stop is not None:
                on_stop(event.why)
            case _:
                pass

    return [] if on_tell is on_best is on_stop is None else [listener]
