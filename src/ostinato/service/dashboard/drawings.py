"""What takes a model and time, worked out once for all who look: figures, the table of candidates, the diagnosis.

It has studies and threads of its own, so that neither asks nor answers wait for it. What was worked out is kept until
the study has changed. While a study changes all the time, what took long is shown a little old: working it out takes a
tenth of a core at most.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any, Generic, TypeVar, cast

import msgspec
from litestar import Request

from ostinato.errors import StudyDiffers, UnknownStudy
from ostinato.service.errors import Refused
from ostinato.service.events import StudyCounters, moment_of
from ostinato.service.requests import service_of
from ostinato.service.service import Service, unknown
from ostinato.study import Study

T = TypeVar("T")
STATE = "drawings"
THREADS = 2
STUDIES = 4  # kept open for figures
KEPT = 256  # drawings
REST = 10.0  # times as long as it took, what was worked out is shown before it is worked out anew
SOON = 0.1  # seconds after which what is old is asked for again at the earliest
Key = tuple[str, str, str]  # the study, what, and of which column or page


class CachedDrawing(msgspec.Struct, Generic[T], frozen=True):
    """What was worked out, and at which moment. again: seconds after which to ask again; 0 where it is new."""

    value: T
    moment: object
    at: float
    took: float
    again: float = 0.0

    @property
    def rests_for(self) -> float:
        """Seconds until it may be worked out anew."""
        return self.at + REST * self.took - monotonic()


class Drawings:
    """Of all studies of a server."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._threads = ThreadPoolExecutor(THREADS, "ostinato-drawing")
        self._studies: OrderedDict[str, Study] = OrderedDict()
        self._drawn: OrderedDict[Key, CachedDrawing[Any]] = OrderedDict()
        self._under_way: dict[Key, asyncio.Task[CachedDrawing[Any]]] = {}

    async def of(self, study: str, what: str, draw: Callable[[Study], T], detail: str = "") -> CachedDrawing[T]:
        """What `draw` says of the study as it is now, or was a little while ago.

        What others wait for already may have begun before the study came to where it is: then it is a little old too.
        """
        key = study, what, detail
        moment = await self._service.viewing(study, facts_of)
        found = self._drawn.get(key)
        if found is None or (found.moment != moment and found.rests_for <= 0):
            found = await asyncio.shield(self._once(key, draw))
        if key in self._drawn:
            self._drawn.move_to_end(key)
        return msgspec.structs.replace(found, again=0.0 if found.moment == moment else max(found.rests_for, SOON))

    def known(self, study: str, what: str, detail: str = "") -> Any:
        """What was worked out last, however old; None where nothing was."""
        found = self._drawn.get((study, what, detail))
        return None if found is None else found.value

    def close(self) -> None:
        """End the threads; what has not begun is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _once(self, key: Key, draw: Callable[[Study], Any]) -> asyncio.Task[CachedDrawing[Any]]:
        """One task for all who want the same."""
        task = self._under_way.get(key)
        if task is None:
            if len(self._under_way) >= self._service.config.limits.waiting:
                raise Refused(503, "busy", "Too many requests wait for a model: try again.", {"retry-after": "1"})
            task = self._under_way[key] = asyncio.create_task(self._keep(key, draw))
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return task

    async def _keep(self, key: Key, draw: Callable[[Study], Any]) -> CachedDrawing[Any]:
        loop = asyncio.get_running_loop()
        drawn = await loop.run_in_executor(self._threads, self._draw, key[0], draw)
        self._drawn[key] = drawn
        while len(self._drawn) > KEPT:
            self._drawn.popitem(last=False)
        return drawn

    def _draw(self, name: str, draw: Callable[[Study], Any]) -> CachedDrawing[Any]:
        study, start = self._opened(name), monotonic()
        try:
            moment, value = facts_of(study), draw(study)
        except (StudyDiffers, UnknownStudy):  # deleted, and perhaps made anew
            self._studies.pop(name, None)
            study = self._opened(name)
            moment, value = facts_of(study), draw(study)
        return CachedDrawing(value, moment, monotonic(), monotonic() - start)

    def _opened(self, name: str) -> Study:
        found = self._studies.get(name)
        if found is None:
            try:
                found = Study(name, self._service.storage)
            except UnknownStudy:
                raise unknown(name) from None
            self._studies[name] = found
            while len(self._studies) > STUDIES:
                self._studies.popitem(last=False)
        return found


def drawings_of(request: Request[Any, Any, Any]) -> Drawings:
    """Those of the server."""
    state = request.app.state
    if STATE not in state:
        state[STATE] = Drawings(service_of(request))
    return cast("Drawings", state[STATE])


def close_drawings(state: Any) -> None:
    """At the server's end."""
    if STATE in state:
        state[STATE].close()


def facts_of(study: Study) -> tuple[float, StudyCounters]:
    """What figures rest on: all counters but those of what is handed out."""
    return study.created, msgspec.structs.replace(moment_of(study), asked=0, assigned=0, budget=None, paused=())
