"""What a server holds while it runs: its storage, open studies, threads, and who is known.

Studies block, so they are called in threads: those that need a model in a few of their own, so that nobody who only
reads or tells waits for a fit.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from ostinato.errors import StudyDiffers, UnknownStudy
from ostinato.service.auth import Authentication
from ostinato.service.configuration import Config
from ostinato.service.errors import Refused
from ostinato.service.events import Events
from ostinato.service.studies import Opened, Studies
from ostinato.service.tokens import Identity
from ostinato.service.writer import GroupCommit
from ostinato.storage import Storage

P = ParamSpec("P")
T = TypeVar("T")
THINKING, READING = 4, 8  # threads


class Service:
    """One server's studies."""

    def __init__(self, storage: Storage, config: Config | None = None) -> None:
        self.storage, self.config = storage, config or Config()
        self.authentication = Authentication(storage)
        self.studies = Studies(storage)
        self.writer = GroupCommit(self.studies)
        self.events = Events(self)
        self._thinking = ThreadPoolExecutor(THINKING, "ostinato-thinking")
        self._reading = ThreadPoolExecutor(READING, "ostinato-reading")
        self._waiting = 0

    async def read(self, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Something that is soon done, in a thread."""
        return await self._in(self._reading, action, *args, **kwargs)

    async def think(self, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Something that may take a model, in one of few threads; refused where too many wait already."""
        if self._waiting >= self.config.limits.waiting:
            raise Refused(503, "busy", "Too many requests wait for a model: try again.", {"retry-after": "1"})
        self._waiting += 1
        try:
            return await self._in(self._thinking, action, *args, **kwargs)
        finally:
            self._waiting -= 1

    async def viewing(self, name: str, question: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Ask a study something that needs no new decision: question(study, *args)."""
        return await self.read(self._with, name, lambda opened: question(opened.viewing, *args, **kwargs))

    async def modelling(self, name: str, question: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """The same, where the answer takes a model."""
        return await self.think(self._with, name, lambda opened: question(opened.viewing, *args, **kwargs))

    async def asking(self, name: str, question: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """The same, where it takes a decision; others go on looking meanwhile."""
        return await self.think(self._with, name, lambda opened: question(opened.asking, *args, **kwargs))

    async def opened(self, name: str) -> Opened:
        """A study that is open, or is opened now."""
        return self.studies.known(name) or await self.read(self._with, name, lambda opened: opened)

    async def names(self, identity: Identity) -> list[str]:
        """Studies that somebody may know of."""
        names = await self.read(self.storage.patiently, self.storage.names)
        return [name for name in names if identity.sees(name)]

    def close(self) -> None:
        """End the threads. What was told is stored first; a model that is being fitted is not waited for."""
        self.events.close()
        self.writer.close()
        self._thinking.shutdown(wait=False, cancel_futures=True)
        self._reading.shutdown(wait=False, cancel_futures=True)
        self.storage.close()

    def _with(self, name: str, action: Callable[[Opened], T]) -> T:
        """Whoever deletes a study and makes it anew under the same name gets the new one."""
        try:
            return action(self.studies.opened(name))
        except UnknownStudy:
            self.studies.forget(name)
            raise unknown(name) from None
        except StudyDiffers:
            if not self.studies.is_another(name):
                raise
            self.studies.forget(name)
            return action(self.studies.opened(name))

    @staticmethod
    async def _in(pool: ThreadPoolExecutor, action: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, lambda: action(*args, **kwargs))


def unknown(name: str) -> UnknownStudy:
    """The same words for a study that is not there and for one that is not to be seen."""
    return UnknownStudy(
        f"There is no study {name!r} here, or your token is not for it: check the name in the list of studies, or ask "
        "whoever runs the server for a token."
    )
