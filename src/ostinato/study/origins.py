"""Where values come from: who measured them, with what, since when. It is stored with them, once for many."""

import socket
from collections.abc import Iterable
from hashlib import sha256

from msgspec.structs import replace

from ostinato.checks import text
from ostinato.running.task import Task
from ostinato.storage import Entry, Lease, Reader, Source
from ostinato.storage.values import StoredFeedback
from ostinato.study.workers import name_of, token_of

UNKNOWN = Source()


def this_machine() -> Source:
    """A source that names this machine, and nothing else."""
    return Source(host=socket.gethostname())


def key_digest(key: str) -> str:
    """A digest of what somebody calls one request to observe something, by which it is known when it comes again."""
    return sha256(text("key", key).encode(errors="surrogatepass")).hexdigest()


def with_content(source: Source, told: Iterable[tuple[int, StoredFeedback]]) -> Source:
    """With a digest of what is told, by row of the table: by which the same request is known from another one."""
    digest = sha256()
    for index, each in told:
        digest.update(f"{index} {each.count} {int(each.kind)} {len(each.data)} ".encode() + each.data)
    return replace(source, content=digest.hexdigest())


def source_of(task: Task) -> Source:
    """Where the values of a task come from, which are told here; they may have been measured elsewhere."""
    return Source(task.program, task.version, task.host or socket.gethostname(), task.worker)


def begun(source: Source, first: int, ended: Iterable[Lease]) -> tuple[Source, float]:
    """With the worker that had a repeat assigned, where it is not said who told it; and since when it had it.

    Somebody else may have got it in the meantime: when a value that comes late was begun is not known. Over HTTP it is
    known with which token it was told: what that token does not hold is told under its own name.
    """
    for lease in ended:
        worker = name_of(lease.worker)
        same = source.worker in ("", worker) and (not source.token or source.token == token_of(lease.worker))
        if first in lease.repeats and worker and same:
            return replace(source, worker=worker), lease.since
    return replace(source, worker=source.worker or source.token), 0.0


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
