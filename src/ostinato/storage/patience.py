"""How long a storage that does not answer is tried again: one wait for all who share it, none for whoever hurries."""

import random
from collections.abc import Callable
from threading import get_ident
from time import monotonic, sleep
from typing import TypeVar

from ostinato.errors import StorageAway, Unavailable, notify

T = TypeVar("T")
FIRST_WAIT, LONGEST_WAIT = 0.02, 1.0  # seconds between two tries
STEP = 0.1  # seconds after which one who waits looks whether to hurry
SOON = 2.0  # seconds of trying after which it is said
BUSY = 10.0  # the same, where it only waits for others to finish what they write
PATIENCE = 60.0  # seconds of trying, by default
AGAIN = 1.0  # seconds after the end of a wait within which it is not even tried


class Patience:
    """Tries again what failed because the storage does not answer, for so many seconds from its first failure on.

    The wait is the storage's, and not one for each who waits: when it is over, everybody gives up. Then only one try is
    made at a time, until one succeeds.
    """

    def __init__(self, seconds: float = PATIENCE) -> None:
        self._seconds = seconds
        self._since: float | None = None  # when it first failed; None while it works
        self._last: tuple[float, Unavailable] | None = None  # when somebody gave up, and why
        self._hurrying: frozenset[int] = frozenset()  # threads: a run stores and asks from one of its own

    def hurry(self) -> None:
        """This thread waits for nothing any more, and others as they did.

        It only sets a mark, so that it can be called by the handler of a signal.
        """
        self._hurrying |= {get_ident()}

    def calm(self) -> None:
        """Be patient again, from the beginning; whoever is waiting in another thread waits as long as before."""
        self._hurrying -= {get_ident()}
        self._since = self._last = None

    @property
    def _hurried(self) -> bool:
        return get_ident() in self._hurrying

    def __call__(self, action: Callable[[], T]) -> T:
        start: float | None = None
        wait, said = FIRST_WAIT, False
        if self._last is not None:
            self._refuse_while_away(*self._last)
        while True:
            try:
                answer = action()
            except Unavailable as error:
                if not error.passing:
                    raise
                now = monotonic()
                start, self._since = start or now, self._since or now
                if self._hurried or now - min(start, self._since) >= self._seconds:
                    self._last = now, error
                    raise
                if not said and now - start > (BUSY if error.busy else SOON):
                    said = True
                    notify(f"{error} It is tried again, for {self._seconds:g} s in all.", StorageAway)
            else:
                self._since = self._last = None
                return answer
            self._sleep(wait * random.uniform(0.5, 1.5))
            wait = min(2 * wait, LONGEST_WAIT)

    def _refuse_while_away(self, since: float, why: Unavailable) -> None:
        """Where somebody has just waited in vain, nobody else has to: a server that is away can take long to say so.

        Whoever hurries does not even try what did not work the last time.
        """
        if self._hurried or monotonic() - since < AGAIN:
            raise why

    def _sleep(self, seconds: float) -> None:
        end = monotonic() + seconds
        if self._since is not None:
            end = min(end, max(monotonic(), self._since + self._seconds))
        while not self._hurried and (left := end - monotonic()) > 0:
            sleep(min(left, STEP))
