"""A study in its storage, and what this process keeps of it: its candidates, and an optimiser that follows it."""

import os
from collections.abc import Callable, Mapping
from threading import RLock
from typing import Any, TypeVar
from zlib import compress

from msgspec.structs import replace

from ostinato.candidates import Candidates, Sampled, Space, packed
from ostinato.checks import brief
from ostinato.errors import Damaged, InvalidFeedback, StudyDiffers, UnknownBatch, UnknownCandidate
from ostinato.measurements.outcomes import outcome_of
from ostinato.running.task import Task
from ostinato.storage import BatchRecord, Reader, Storage, Writer
from ostinato.study.create import digest_of, table_of
from ostinato.study.replica import Replica
from ostinato.study.settings import restored

T = TypeVar("T")


class Stored:
    """What everything that is done with a study rests on.

    given: settings that must be those that were stored, apart from such as are Python code and are not stored. space:
    the same, for the constraints of a space.
    """

    def __init__(self, name: str, storage: Storage, given: Mapping[str, Any], space: Space | None = None) -> None:
        self.name, self.storage, self._space = name, storage, space
        problems = storage.patiently(storage.check)
        if problems:
            raise Damaged(f"{storage!r} is damaged: {problems[0]}. Restore a copy, or see what `ostinato verify` says.")
        record, table = self.read(lambda reader: (reader.record, reader.table()))
        self.table: Candidates = self._table_of(table)
        self._created, self._digest = record.created, record.digest
        self.settings = restored(record.settings, given, name)
        self.stop = self.settings.pop("stop", None)
        self.outcome = outcome_of(self.settings.get("outcome", "real"))
        self.replica: Replica | None = None
        self._lock = os.getpid(), RLock()

    def alone(self) -> RLock:
        """One thread at a time; a process that was forked begins with a lock that nobody holds."""
        if self._lock[0] != os.getpid():
            self._lock, self.replica = (os.getpid(), RLock()), None
        return self._lock[1]

    def read(self, action: Callable[[Reader], T]) -> T:
        """One moment of the study; tried again while the storage does not answer."""

        def once() -> T:
            with self.storage.read(self.name) as reader:
                return action(reader)

        return self.storage.patiently(once)

    def write(self, action: Callable[[Writer], T]) -> T:
        """A change of the study, as a whole or not at all; tried again while the storage does not answer."""

        def once() -> T:
            with self.storage.write(self.name) as writer:
                return action(writer)

        return self.storage.patiently(once)

    def synced(self, reader: Reader) -> Replica:
        """The optimiser of this process, at the reader's moment."""
        self.refresh(reader)
        replica, self.replica = self.replica, None  # whatever stops it half-way, it is made anew
        if replica is None or not replica.follows(reader):
            replica = Replica(reader, self.table, self.settings)
        self.replica = replica
        return replica

    def refresh(self, reader: Reader) -> None:
        """The candidates as they are now: others may have added some."""
        if reader.record.created != self._created:
            raise StudyDiffers(f"The study {self.name!r} is not the one that was opened: open it again.")
        if reader.record.digest != self._digest:
            self.table, self._digest, self.replica = self._table_of(reader.table()), reader.record.digest, None

    def _table_of(self, data: bytes) -> Candidates:
        table = table_of(data)
        return table.within(self._space) if isinstance(table, Sampled) and self._space is not None else table

    def keep_table(self, writer: Writer, table: Candidates) -> None:
        """More candidates, in the storage and here."""
        if table.rows > self.table.rows:
            data = packed(table)
            self.table, self._digest = table, digest_of(data)
            writer.change_table(compress(data))
            writer.change(replace(writer.record, digest=self._digest))

    def hold(self, candidate: Any) -> None:
        """Points of a space that are spoken of have indices from now on."""
        if self.table.holding(candidate) is not self.table:

            def change(writer: Writer) -> None:
                self.refresh(writer)
                self.keep_table(writer, self.table.holding(candidate))

            self.write(change)

    # Candidates and batches

    def index(self, candidate: Any) -> int:
        """The row of the table that a candidate is: an index, or a row as it was given."""
        try:
            named = self.table.named_by(candidate)
        except UnknownCandidate:
            if not self._has_grown():
                raise
            named = self.table.named_by(candidate)
        numbers = [named] if isinstance(named, int) else named
        if len(numbers) != 1:
            raise InvalidFeedback(f"{brief(candidate)} is more than one candidate: observe them one by one.")
        return self.table.index_of(int(numbers[0]))

    def candidate(self, index: int) -> Any:
        """A row of the table, as it was given."""
        if index >= self.table.rows:
            self._has_grown()
        return self.table[index]

    def _has_grown(self) -> bool:
        """Whether candidates were added elsewhere; they are known from now on."""
        before = self._digest
        self.read(self.refresh)
        return self._digest != before

    def batch(self, reader: Reader, number: int) -> BatchRecord:
        """A batch that was asked for."""
        found = reader.batch(number) if number >= 0 else None
        if found is None:
            raise UnknownBatch(f"Batch {number} is none that was asked for in this study.")
        return found

    def check_task(self, task: Any) -> None:
        """Whether it is a task of this study."""
        if not isinstance(task, Task) or task.study != self.name:
            raise UnknownBatch(f"{brief(task)} is not a task of the study {self.name!r}: give what ask() returned.")
