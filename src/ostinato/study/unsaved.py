"""Values that could not be stored: kept in a file beside the study, and taken in when it runs again.

Each line is an answer as `ostinato tell` reads it. The file is written at once and whole, so that a process may end the
moment after. Whoever takes it in first gives it another name; whoever writes holds a lock on it, and looks under that
lock whether it still has its name: so nothing is written to a file that was read already.
"""

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import isnan, nan
from pathlib import Path
from tempfile import gettempdir
from typing import IO, Any, TypeAlias
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from ostinato.errors import Conflict, UnsavedValues, notify
from ostinato.running.task import Task
from ostinato.storage import Storage

Tell: TypeAlias = Callable[[Task, list[float]], int]
FLEETING, LASTING = Path("/tmp"), Path("/var/tmp")


class UnsavedLine(msgspec.Struct, frozen=True):
    """The values of some repeats, and where they come from.

    created: of the study, by which another one of the same name is told apart.
    """

    study: str
    batch: int
    start: int
    row: int
    candidate: Any
    values: list[float | None]
    created: float = 0.0
    worker: str = ""
    program: str = ""
    version: str = ""
    host: str = ""


class Unsaved:
    """The values of a study that could not be stored."""

    def __init__(self, name: str, created: float, storage: Storage) -> None:
        self._name, self._created = name, created
        file = re.sub(r"[^\w. -]", "_", name) + ".unsaved.jsonl"
        self._places = [folder / file for folder in (storage.folder, *_spare())]

    def keep(self, told: Sequence[tuple[Task, Sequence[float]]]) -> str:
        """Put values aside: beside the study, or where that disk is full, among temporary files.

        Returns the lines where they could be kept nowhere; else nothing.
        """
        data = b"".join(msgspec.json.encode(self._line(*each), enc_hook=_plain) + b"\n" for each in told)
        for place in self._places:
            with suppress(OSError):
                _append(place, data)
                return ""
        return data.decode()

    def found(self) -> list[Path]:
        """The files that are there, such as somebody was taking in when it was killed included."""
        places = dict.fromkeys(self._places)
        left = [each for place in places for each in place.parent.glob(f"{glob.escape(place.name)}.*")]
        return [place for place in (*places, *left) if place.is_file()]

    def take_in(self, tell: Tell) -> int:
        """Tell what was put aside; returns how many values are new. What was measured again meanwhile is left out.

        tell: takes the values of a task that the study may not know any more, and returns how many are new.
        """
        return sum(self._take(place, tell) for place in self.found())

    def _take(self, place: Path, tell: Tell) -> int:
        try:
            file = place.open("rb")
        except OSError:  # taken by somebody else meanwhile, or another user's
            return 0
        with file:
            mine = _lock(file, wait=place in self._places) and _is_at(file, place)
            return self._taken(file, place, tell) if mine else 0  # else somebody else is taking it in

    def _taken(self, file: IO[bytes], place: Path, tell: Tell) -> int:
        """A file that nobody else has: under another name, so that more can be put aside meanwhile."""
        home = next(each for each in self._places if each.parent == place.parent)
        taken = place.rename(home.with_name(f"{home.name}.{uuid4().hex}"))
        new, left = 0, list(_lines(file.read()))
        others = [line for line in left if (line.study, line.created) != (self._name, self._created)]
        left = [line for line in left if line not in others]
        try:
            while left:
                new += _told(tell, left[0])
                left.pop(0)
        finally:
            if left or others:
                data = b"".join(msgspec.json.encode(line) + b"\n" for line in (*others, *left))
                _append(home, data)
            taken.unlink(missing_ok=True)
        if others:
            words = f"holds values of another study than this {self._name!r}: they were left alone"
            notify(f"{home} {words}.", UnsavedValues)
        return new

    def _line(self, task: Task, values: Sequence[float]) -> UnsavedLine:
        known = [None if isnan(value) else float(value) for value in values]
        origin = (task.worker, task.program, task.version, task.host)
        return UnsavedLine(
            self._name, task.batch, task.start, task.index, task.candidate, known, self._created, *origin
        )


def _spare() -> list[Path]:
    """Folders for temporary files: where nothing else was chosen, the one that outlives a restart comes first."""
    folder = Path(gettempdir())
    return [LASTING, folder] if folder == FLEETING and LASTING.is_dir() else [folder]


def _append(place: Path, data: bytes) -> None:
    """On disk when it returns. A line that was cut off before is ended first."""
    while not _appended(place, data):
        pass


def _appended(place: Path, data: bytes) -> bool:
    """False where somebody has taken the file between opening and locking it."""
    with place.open("a+b") as file:
        _lock(file)
        if not _is_at(file, place):
            return False
        file.write(b"\n" + data if _is_cut_off(file) else data)
        file.flush()
        os.fsync(file.fileno())
        return True


def _lock(file: IO[bytes], *, wait: bool = True) -> bool:
    """Hold a file until it is closed; False where somebody else does and it was not to be waited for.

    Windows has no such locks: there, processes that use the file at once are not kept apart.
    """
    with suppress(ImportError):
        from fcntl import LOCK_EX, LOCK_NB, flock

        try:
            flock(file, LOCK_EX if wait else LOCK_EX | LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _is_at(file: IO[bytes], place: Path) -> bool:
    """Whether an open file still has this name."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), place.stat())
    except FileNotFoundError:
        return False


def _is_cut_off(file: IO[bytes]) -> bool:
    end = file.seek(0, os.SEEK_END)
    if end == 0:
        return False
    file.seek(end - 1)
    return file.read(1) != b"\n"


def _lines(data: bytes) -> Iterator[UnsavedLine]:
    """What can be read; a line that was cut off by a full disk was never acknowledged."""
    for line in data.splitlines():
        with suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=UnsavedLine)


def _told(tell: Tell, line: UnsavedLine) -> int:
    """The values of a line; those that others have told before are left out, and no others."""
    task, values = _task(line), [nan if value is None else value for value in line.values]
    with suppress(Conflict):
        return tell(task, values)
    new = 0
    for place, value in enumerate(values):
        with suppress(Conflict):
            new += tell(replace(task, start=task.start + place, repeats=1), [value])
    return new


def _task(line: UnsavedLine) -> Task:
    task = Task(line.study, line.batch, line.row, line.candidate, line.start, len(line.values))
    return replace(task, worker=line.worker, program=line.program, version=line.version, host=line.host)


def _plain(array: Any) -> Any:
    return array.tolist()
