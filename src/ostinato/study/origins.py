"""Where values come from: who measured them, with what, since when. It is stored with them, once for many."""

import socket
from collections.abc import Iterable

from msgspec.structs import replace

from ostinato.running.task import Task
from ostinato.storage import Entry, Lease, Reader, Source
from ostinato.study.workers import name_of

UNKNOWN = Source()


def here() -> Source:
    """This machine, and nothing else."""
    return Source(host=socket.gethostname())


def source_of(task: Task) -> Source:
    """Where the values of a task come from, which are told here."""
    return replace(here(), program=task.program, version=task.version, worker=task.worker)


def begun(source: Source, first: int, ended: Iterable[Lease]) -> tuple[Source, float]:
    """With the worker that had a repeat assigned, where it is not said who told it; and since when it had it.

    Somebody else may have got it in the meantime: when a value that comes late was begun is not known.
    """
    for lease in ended:
        worker = name_of(lease.worker)
        if first in lease.repeats and worker and source.worker in ("", worker):
            return replace(source, worker=worker), lease.since
    return source, 0.0


class Sources:
    """Sources by number, each read once; one that is not there (which `verify` remarks on) says nothing."""

    def __init__(self) -> None:
        self._known: dict[int, Source] = {0: UNKNOWN}

    def read(self, reader: Reader, entries: Iterable[Entry]) -> "Sources":
        """All that some rows of the log name."""
        missing = {entry.source for entry in entries} - self._known.keys()
        if missing:
            self._known |= dict.fromkeys(missing, UNKNOWN) | reader.sources(missing)
        return self

    def __getitem__(self, number: int) -> Source:
        return self._known[number]
