"""Ctrl-C that waits: held while the library works, let through while the user's own code runs."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

INTERRUPTED = 130  # the exit status of a command that Ctrl-C ended


class Interrupts:
    """Within the block Ctrl-C is only noted; within `released()` it raises KeyboardInterrupt as usual.

    So a measurement is taken in whole or not at all, and a second Ctrl-C cannot spoil the result of the first. Outside
    the main thread, where signals do not arrive, and where Ctrl-C is ignored, it does nothing.

    hurry: where the library itself may have to wait (for a storage that is away), what the second Ctrl-C calls before
    it is raised at once, wherever it comes. It must only set a mark.
    """

    def __init__(self, hurry: Callable[[], object] | None = None) -> None:
        self._noted = self._open = False
        self._count = 0
        self._hurry = hurry
        self._handler: Any = None
        in_main = threading.current_thread() is threading.main_thread()
        self._active = in_main and callable(signal.getsignal(signal.SIGINT))

    def __enter__(self) -> "Interrupts":
        if self._active:
            self._handler = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._active:
            signal.signal(signal.SIGINT, self._handler)

    @contextmanager
    def released(self) -> Generator[None, None, None]:
        """Let Ctrl-C through, one that was noted before included."""
        if not self._active:
            yield
            return
        self._open = True
        try:
            if self._noted:
                self._noted = False  # so that it is heard once
                raise KeyboardInterrupt
            yield
        finally:
            self._open = False
            signal.signal(signal.SIGINT, self._handle)  # the user's own code may have set another

    @property
    def hurried(self) -> bool:
        """Whether Ctrl-C came twice."""
        return self._count >= 2

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """One that is let through closes the door behind it, so that a second one cannot slip in on the way out."""
        self._count += 1
        if self._count == 2 and self._hurry is not None:
            self._hurry()
            self._noted = self._open = False
            raise KeyboardInterrupt
        if not self._open:
            self._noted = True
            return
        self._open = False
        self._handler(number, frame)
        self._open = True  # the user's handler went on
