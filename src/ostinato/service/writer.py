"""Group commit: all answers that wait are stored in one transaction, and each is acknowledged when that is on disk.

One thread writes. While it waits for the disk, others arrive; the next transaction takes them all. A transaction costs
as much as dozens of answers in it: so where several came together the last time, it waits a few milliseconds while more
keep coming. A thousand clients that each tell one value cost a few dozen writes a second and not a thousand; one client
alone never waits.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from queue import SimpleQueue
from threading import Lock, Thread
from time import sleep

import msgspec

from ostinato.errors import OstinatoError, StudyDiffers, Unavailable, UnknownStudy
from ostinato.service.studies import Studies
from ostinato.study import Study
from ostinato.study.group import GroupWriter
from ostinato.study.intake import Report

MOST = 4_000  # reports in one transaction
GATHERING, GATHERINGS = 0.003, 16  # seconds in which others may come, and how often at most


class PendingRequest(msgspec.Struct, frozen=True, eq=False):
    """A request that waits for its acknowledgement."""

    study: str
    reports: Sequence[Report]
    answer: asyncio.Future[int]


class GroupCommit:
    """The one who writes answers, for all studies of a storage."""

    def __init__(self, studies: Studies) -> None:
        self._studies = studies
        self._queue: SimpleQueue[PendingRequest | None] = SimpleQueue()
        self._tellers: dict[str, tuple[Study, GroupWriter]] = {}
        self._lock, self._thread, self._closed = Lock(), None, False
        self._together = 1  # requests in the last transaction
        self.transactions = 0  # how many there were, for those who measure

    async def tell(self, study: str, reports: Sequence[Report]) -> int:
        """Store the reports of one request, all or none; returns how many repeats are new, when that is on disk."""
        answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._put(PendingRequest(study, reports, answer))
        return await answer

    def close(self) -> None:
        """Store what waits, and end."""
        with self._lock:
            self._closed, thread = True, self._thread
        if thread is not None:
            self._queue.put(None)
            thread.join()

    def _put(self, waiting: PendingRequest) -> None:
        """Let it wait for the thread that writes; nothing is let in after the end."""
        with self._lock:
            if self._closed:
                raise Unavailable("The server is shutting down.", passing=True)
            if self._thread is None:
                self._thread = Thread(target=self._write, name="ostinato-writer", daemon=True)
                self._thread.start()
            self._queue.put(waiting)

    def _write(self) -> None:
        while True:
            waiting, ends = self._taken()
            by_study: dict[str, list[PendingRequest]] = {}
            for each in waiting:
                by_study.setdefault(each.study, []).append(each)
            for study, own in by_study.items():
                self._store(study, own)
            if ends:
                return

    def _taken(self) -> tuple[list[PendingRequest], bool]:
        """All that waits now, up to some thousands; at least one. And whether that is all there will be."""
        found, reports = list[PendingRequest](), 0
        while not found or (reports < MOST and not self._queue.empty()):
            each = self._queue.get()
            if each is None:
                return found, True
            if not found:
                self._gather()
            found.append(each)
            reports += len(each.reports)
        self._together = len(found)
        return found, False

    def _gather(self) -> None:
        """Wait while more keep coming; not at all for one client alone."""
        seen, tries = 0 if self._together == 1 else -1, 0
        while (now := self._queue.qsize()) > seen and tries < GATHERINGS:
            seen, tries = now, tries + 1
            sleep(GATHERING)

    def _store(self, study: str, waiting: Sequence[PendingRequest]) -> None:
        """One transaction; whatever happens, everybody gets an answer."""
        self.transactions += 1
        try:
            answers: Sequence[int | Exception] = self._told(study, [each.reports for each in waiting])
        except Exception as error:
            answers = [error] * len(waiting)
        pairs = list(zip([each.answer for each in waiting], answers, strict=True))
        with suppress(RuntimeError):  # the loop has ended, and with it all who waited
            waiting[0].answer.get_loop().call_soon_threadsafe(_deliver, pairs)

    def _told(self, name: str, requests: Sequence[Sequence[Report]]) -> list[int | OstinatoError]:
        try:
            return self._teller(name).take(requests)
        except (StudyDiffers, UnknownStudy):  # deleted, and perhaps made anew under the same name
            self._tellers.pop(name, None)
            self._studies.forget(name)
            return self._teller(name).take(requests)

    def _teller(self, name: str) -> GroupWriter:
        study = self._studies.opened(name).viewing
        known = self._tellers.get(name)
        if known is None or known[0] is not study:
            known = self._tellers[name] = study, study.teller()
        return known[1]


def _deliver(pairs: Sequence[tuple[asyncio.Future[int], int | Exception]]) -> None:
    """Tell all who wait, in the loop's own thread: one wake-up for hundreds."""
    for future, answer in pairs:
        if future.done():
            continue  # whoever waited has gone
        if isinstance(answer, Exception):
            future.set_exception(answer)
        else:
            future.set_result(answer)
