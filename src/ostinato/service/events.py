"""What happens to a study, as a stream: one look a second for all who watch it, and at once after a tell."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from ostinato.errors import OstinatoError
from ostinato.service.errors import Refused
from ostinato.study import Study
from ostinato.study.paused import notes_in

if TYPE_CHECKING:
    from ostinato.service.service import Service

Allowed: TypeAlias = "Callable[[], Awaitable[bool]]"
EVERY = 1.0  # seconds between two looks at a study that somebody watches
ALIVE = 15.0  # seconds after which a stream in which nothing happens says so


class StudyCounters(msgspec.Struct, frozen=True):
    """Counters of a study, which change whenever anything is asked, told, handed out or put right."""

    asked: int
    measurements: int
    failures: int
    revised: int
    assigned: int
    budget: int | None
    digest: str
    retired: str
    paused: tuple[int | None, ...] = ()

    def as_json(self) -> bytes:
        """What whoever watches is told. paused: when each run tries again that measures nothing now; null for never."""
        counters = {name: getattr(self, name) for name in ("asked", "measurements", "failures", "revised", "assigned")}
        return msgspec.json.encode({**counters, "budget": self.budget, "paused": self.paused})


class Watch:
    """Those who watch one study."""

    def __init__(self) -> None:
        self.queues: set[asyncio.Queue[StudyCounters | None]] = set()
        self.task: asyncio.Task[None] | None = None
        self.look = asyncio.Event()


async def _always() -> bool:
    return True


async def _next(queue: asyncio.Queue[StudyCounters | None]) -> bytes | None:
    """What a stream says next; that it is alive where nothing happens, and None at its end."""
    try:
        async with asyncio.timeout(ALIVE):
            moment = await queue.get()
    except TimeoutError:
        return b": alive\n\n"
    return None if moment is None else b"event: change\ndata: " + moment.as_json() + b"\n\n"


class Events:
    """Streams of all studies."""

    def __init__(self, service: "Service") -> None:
        self._service = service
        self._watched: dict[str, Watch] = {}
        self._closed = False

    def changed(self, name: str) -> None:
        """Something was told or asked here: look at once."""
        watch = self._watched.get(name)
        if watch is not None:
            watch.look.set()

    def close(self) -> None:
        """End all streams."""
        self._closed = True
        for watch in self._watched.values():
            tell(watch, None)
            if watch.task is not None:
                watch.task.cancel()

    async def stream(self, name: str, is_allowed: Allowed = _always) -> AsyncIterator[bytes]:
        """Server-sent events: where the study stands, now and whenever that changes.

        is_allowed: asked every few seconds whether whoever watches still may; the stream ends where not.
        """
        if self._is_full:
            return  # others came between the check and the first event
        queue, clock = self._join(name), asyncio.get_running_loop().time
        try:
            checked = clock()
            while not self._closed:
                moment = await _next(queue)
                if clock() - checked >= ALIVE:
                    if not await is_allowed():
                        return
                    checked = clock()
                if moment is None:
                    return
                yield moment
        finally:
            self._leave(name, queue)

    @property
    def _is_full(self) -> bool:
        return sum(len(watch.queues) for watch in self._watched.values()) >= self._service.config.limits.streams

    def check_room(self) -> None:
        """Refuse one stream too many."""
        if self._is_full:
            raise Refused(503, "busy", "Too many streams are open: close one, or try again.", {"retry-after": "10"})

    def _join(self, name: str) -> asyncio.Queue[StudyCounters | None]:
        watch = self._watched.setdefault(name, Watch())
        queue: asyncio.Queue[StudyCounters | None] = asyncio.Queue(1)
        watch.queues.add(queue)
        if watch.task is not None:
            watch.task.cancel()  # begun anew, so that whoever comes is told where it stands
        watch.task = asyncio.create_task(self._follow(name, watch))
        return queue

    def _leave(self, name: str, queue: asyncio.Queue[StudyCounters | None]) -> None:
        watch = self._watched[name]
        watch.queues.discard(queue)
        if not watch.queues:
            del self._watched[name]
            if watch.task is not None:
                watch.task.cancel()

    async def _follow(self, name: str, watch: Watch) -> None:
        """Look, tell those who watch where something has changed, and wait; until the study is gone."""
        try:
            await self._look(name, watch)
        except OstinatoError:
            tell(watch, None)

    async def _look(self, name: str, watch: Watch) -> None:
        last: StudyCounters | None = None
        while True:
            watch.look.clear()
            moment = await self._service.viewing(name, moment_of)
            if moment != last:
                last = moment
                tell(watch, moment)
            await asyncio.sleep(EVERY / 10)  # a thousand tells a second are told of ten times
            try:
                async with asyncio.timeout(EVERY):
                    await watch.look.wait()
            except TimeoutError:
                continue


def tell(watch: Watch, moment: StudyCounters | None) -> None:
    """The newest moment takes the place of one that somebody slow has not read yet; None ends all streams."""
    for queue in watch.queues:
        if queue.full():
            queue.get_nowait()
        queue.put_nowait(moment)


def moment_of(study: Study) -> StudyCounters:
    """Where a study stands, by its counters."""
    record, assigned = study.counters()
    return StudyCounters(
        record.asked,
        record.answered - record.failed,
        record.failed,
        record.revised,
        assigned,
        record.budget,
        record.digest,
        record.retired,
        tuple(None if note.next_try is None else round(note.next_try) for note in notes_in(record)),
    )
