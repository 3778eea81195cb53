"""A thread that renews what a run holds while its process lives: when the process ends, that ends soon after it.

It beats only for what is held longer than a third of a lease, so that quick measurements cost nothing. A storage that
does not answer is tried again, quietly: nothing is lost if a lease ends, for a value that comes late still counts.
"""

import os
import threading
from collections.abc import Callable, Collection
from time import monotonic
from types import TracebackType

BEATS = 3  # in the length of a lease
RETRY = 1.0  # seconds after a beat that failed, at most
GRACE = 1.0  # seconds for the beat under way when a run ends


class Heartbeat:
    """renew: called with the keys of all that is held, leases or a note. lease: seconds for which it renews them.

    The thread starts with the first of them, and ends with the block.

    A process that is forked inherits no thread, and holds nothing: its parent's heart goes on.
    """

    def __init__(self, renew: Callable[[Collection[str]], object], lease: float) -> None:
        self._renew, self.lease = renew, lease
        self._held: dict[str, float] = {}  # keys of leases, and when each was given or renewed
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._process = os.getpid()
        self.stood_still = 0.0  # seconds, at the most, that this process did not run at all

    def __enter__(self) -> "Heartbeat":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process == os.getpid() and self._thread is not None:
            self._ended.set()
            self._thread.join(GRACE)

    @property
    def held(self) -> frozenset[str]:
        """The keys of what it beats for."""
        with self._lock:
            return frozenset(self._held)

    def hold(self, key: str) -> None:
        """Beat for a lease that was given just now."""
        with self._lock:
            self._held[key] = monotonic()
        if self._thread is None:
            self._thread = threading.Thread(target=self._beat_on, name="ostinato-heartbeat", daemon=True)
            self._thread.start()

    def let_go(self, key: str) -> None:
        """What was told or handed back needs no lease."""
        with self._lock:
            self._held.pop(key, None)

    def _beat_on(self) -> None:
        pause = self._until_due()
        while not self._waited(pause):
            due = self._until_due() <= 0
            failed = due and not self._beat()
            pause = min(RETRY, self.lease / BEATS) if failed else self._until_due()

    def _until_due(self) -> float:
        """Seconds until the next beat; those that come in the meantime are not due before."""
        with self._lock:
            oldest = min(self._held.values(), default=monotonic())
        return max(0.0, oldest + self.lease / BEATS - monotonic())

    def _waited(self, seconds: float) -> bool:
        """Whether it was ended while it waited. Notes when the process was stopped, or a call did not let it run."""
        start = monotonic()
        ended = self._ended.wait(seconds)
        late = monotonic() - start - seconds
        if late > self.lease - self.lease / BEATS:
            self.stood_still = max(self.stood_still, late)
        return ended

    def _beat(self) -> bool:
        """All that is held, in one write."""
        held, start = self.held, monotonic()
        try:
            self._renew(held)
        except Exception:
            return False
        with self._lock:
            self._held.update((key, start) for key in held if key in self._held)
        return True
