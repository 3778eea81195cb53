"""Open studies, by name: each twice, so that a decision under way keeps nobody from looking."""

from threading import Lock

import msgspec

from ostinato.errors import OstinatoError
from ostinato.storage import Storage
from ostinato.study import Study


class Opened(msgspec.Struct, frozen=True):
    """A study, for decisions and for all else. Both follow the same storage, each with an optimiser of its own."""

    asking: Study
    viewing: Study


class Studies:
    """Studies of one storage, opened when they are first asked for."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._lock = Lock()
        self._opened: dict[str, Opened] = {}

    def known(self, name: str) -> Opened | None:
        """A study that is open already."""
        return self._opened.get(name)

    def opened(self, name: str) -> Opened:
        """A study; an error where there is none."""
        found = self._opened.get(name)
        if found is None:
            made = Opened(Study(name, self.storage), Study(name, self.storage))
            with self._lock:
                found = self._opened.setdefault(name, made)
        return found

    def forget(self, name: str) -> None:
        """It was deleted, or is another one now."""
        with self._lock:
            self._opened.pop(name, None)

    def is_another(self, name: str) -> bool:
        """Whether the study of this name is not the one that was opened."""
        found = self._opened.get(name)
        try:
            with self.storage.read(name) as reader:
                return found is not None and found.viewing.created != reader.record.created
        except OstinatoError:
            return True
