"""A command that is told to end: by a second Ctrl-C, by kill, or because its terminal was closed."""

import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from ostinato.running.interrupts import INTERRUPTED

GRACE = 4.5  # seconds for ending, once that is asked for
AGAIN = 2.0  # seconds for what is under way, where this process is asked to end


class EndingGuard:
    """What is measured, by a process that ends soon after it was told to: whatever holds it up, values are kept."""

    def __init__(self, objective: Callable[..., Any]) -> None:
        self._objective, self._timers = objective, list[threading.Timer]()
        self.__wrapped__ = objective  # what values are traced to

    def __call__(self, candidate: Any) -> Any:
        return self._objective(candidate)

    @property
    def complaint(self) -> str:
        return getattr(self._objective, "complaint", "")

    def stop(self) -> None:
        """Nobody waits any more: a second Ctrl-C."""
        self._after(GRACE, os._exit, INTERRUPTED)
        getattr(self._objective, "stop", int)()

    def end(self, number: int, _: object) -> None:
        """This process is asked to end: that is Ctrl-C, and a little later another one.

        Of a process in the background (nohup … &) Ctrl-C is ignored until then.
        """
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._after(GRACE, os._exit, 128 + number)
        self._after(AGAIN, _interrupt, signal.SIGINT)
        getattr(self._objective, "stop", int)()
        os.kill(os.getpid(), signal.SIGINT)

    def over(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _after(self, seconds: float, what: Callable[[int], Any], number: int) -> None:
        timer = threading.Timer(seconds, what, (number,))
        timer.daemon = True
        timer.start()
        self._timers.append(timer)


def _interrupt(number: int) -> None:
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, number)


@contextmanager
def ended_gently(ending: EndingGuard) -> Generator[None, None, None]:
    """Where this process is asked to end, it stores what it has, and leaves no program running behind it."""
    asked: list[int] = []

    def end(number: int, frame: object) -> None:
        asked.append(number)
        ending.end(number, frame)

    signals = (signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(each, end) for each in signals]
    try:
        yield
    finally:
        ending.over()
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)
        if asked:
            os._exit(128 + asked[0])
