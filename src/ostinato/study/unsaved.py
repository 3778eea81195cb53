"""Values that could not be stored: kept in a file beside the study, and taken in when it runs again.

Each line is an answer as `ostinato tell` reads it. The file is written at once and whole, so that a process may end the
moment after.
"""

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import isnan, nan
from pathlib import Path
from tempfile import gettempdir
from typing import Any, TypeAlias
from uuid import uuid4

import msgspec
from msgspec.structs import replace

from ostinato.errors import Conflict, UnsavedValues, notify
from ostinato.running.task import Task
from ostinato.storage import Storage

Tell: TypeAlias = Callable[[Task, list[float]], int]


class Line(msgspec.Struct, frozen=True):
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


class Unsaved:
    """The values of a study that could not be stored."""

    def __init__(self, name: str, created: float, storage: Storage) -> None:
        self._name, self._created = name, created
        file = re.sub(r"[^\w. -]", "_", name) + ".unsaved.jsonl"
        self._places = [storage.folder / file, Path(gettempdir()) / file]

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
        file = next(each for each in self._places if each.parent == place.parent)
        taken = file.with_name(f"{file.name}.{uuid4().hex}")
        try:
            place.rename(taken)  # so that nobody else takes it too
        except FileNotFoundError:
            return 0
        new, left = 0, list(_lines(taken))
        others = [line for line in left if (line.study, line.created) != (self._name, self._created)]
        left = [line for line in left if line not in others]
        try:
            while left:
                new += _told(tell, left[0])
                left.pop(0)
        finally:
            if left or others:
                data = b"".join(msgspec.json.encode(line) + b"\n" for line in (*others, *left))
                _append(file, data)
            taken.unlink(missing_ok=True)
        if others:
            words = f"holds values of another study than this {self._name!r}: they were left alone"
            notify(f"{file} {words}.", UnsavedValues)
        return new

    def _line(self, task: Task, values: Sequence[float]) -> Line:
        known = [None if isnan(value) else float(value) for value in values]
        origin = (task.worker, task.program, task.version)
        return Line(self._name, task.batch, task.start, task.index, task.candidate, known, self._created, *origin)


def _append(place: Path, data: bytes) -> None:
    """On disk when it returns. A line that was cut off before is ended first."""
    with place.open("ab") as file:
        file.write(b"\n" + data if _is_cut_off(place) else data)
        file.flush()
        os.fsync(file.fileno())


def _is_cut_off(place: Path) -> bool:
    with place.open("rb") as file:
        end = file.seek(0, os.SEEK_END)
        if end == 0:
            return False
        file.seek(end - 1)
        return file.read(1) != b"\n"


def _lines(place: Path) -> Iterator[Line]:
    """What can be read; a line that was cut off by a full disk was never acknowledged."""
    for line in place.read_bytes().splitlines():
        with suppress(msgspec.DecodeError):
            yield msgspec.json.decode(line, type=Line)


def _told(tell: Tell, line: Line) -> int:
    """The values of a line; those that others have told before are left out, and no others."""
    task, values = _task(line), [nan if value is None else value for value in line.values]
    with suppress(Conflict):
        return tell(task, values)
    new = 0
    for place, value in enumerate(values):
        with suppress(Conflict):
            new += tell(replace(task, start=task.start + place, repeats=1), [value])
    return new


def _task(line: Line) -> Task:
    task = Task(line.study, line.batch, line.row, line.candidate, line.start, len(line.values))
    return replace(task, worker=line.worker, program=line.program, version=line.version)


def _plain(array: Any) -> Any:
    return array.tolist()
