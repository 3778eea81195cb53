"""A study in its storage, and what this process keeps of it: its candidates, and an optimiser that follows it."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

import msgspec
from msgspec.structs import replace

from ostinato.candidates import Candidates, Head, Packed, Sampled, ShardedTable, Space, head_of, packed, row_of
from ostinato.checks import brief
from ostinato.errors import Damaged, InvalidFeedback, StudyDiffers, UnknownBatch, UnknownCandidate
from ostinato.measurements.outcomes import outcome_of
from ostinato.running.task import Task
from ostinato.storage import BatchRecord, Reader, Storage, Writer
from ostinato.study.candidates import table_of
from ostinato.study.settings import (
    check_given,
    has_setting,
    missing_code,
    outcome_name,
    quantity_in,
    restored,
    stop_of,
    with_setting,
)

if TYPE_CHECKING:  # the optimiser takes longer to import than all else, and much that is read needs none
    from ostinato.optimizer import Optimizer
    from ostinato.study.replica import Replica

T = TypeVar("T")
R = TypeVar("R", bound=Reader)
ROWS_READ_SINGLY = 16  # rows of a large table that are read one by one; then all of them are


class CandidatesSnapshot(msgspec.Struct, frozen=True, eq=False):
    """The candidates as they were at some moment: their digest, what they are, and themselves once they were read.

    Threads see them at different moments. So this is replaced as a whole, and whoever needs candidates of a moment
    goes on with those that he was given for it.
    """

    digest: str
    head: Head
    table: Candidates | None = None


class StoredStudy:
    """A study in its storage: reading, writing, its candidates, and the optimiser that follows it.

    given: settings that must be those that were stored, and such as are Python code, which is not. candidates: as they
    were given too, with the digest that they would be stored with; a space may have constraints, which are code.

    Candidates are read when they are needed; of a large table, single rows by themselves.
    """

    def __init__(
        self,
        name: str,
        storage: Storage,
        given: Mapping[str, Any] | None = None,
        *,
        candidates: Candidates | None = None,
        digest: str = "",
    ) -> None:
        self.name, self.storage = name, storage
        self._space: Space | None = candidates.space if isinstance(candidates, Sampled) else None
        self._sharded = candidates if isinstance(candidates, ShardedTable) else None
        problems = storage.patiently(lambda: storage.check(everything=False))
        if problems:
            raise Damaged(f"{storage!r} is damaged: {problems[0]}. Restore a copy, or see what `ostinato verify` says.")
        record, head = self.read(lambda reader: (reader.record, head_of(reader.table())))
        same = record.digest == digest and not isinstance(candidates, Sampled)
        self._seen = CandidatesSnapshot(record.digest, head, candidates if same else None)
        self._read_alone = 0
        self._created: float = record.created
        self._given, self._text = dict(given or {}), record.settings
        self.here: dict[str, Any] = {}  # settings of this process alone, which are not stored
        check_given(self._text, self._given, name, rows_given=candidates is not None)
        self.outcome = outcome_of(outcome_name(self._text))
        self.quantity = quantity_in(self._text)
        self.replica: Replica | None = None
        self.lock = RLock()  # one thread at a time
        _OPENED.add(self)

    @property
    def table(self) -> Candidates:
        """The candidates."""
        table = self._seen.table
        return self.read(self.refresh) if table is None else table

    @property
    def head(self) -> Head:
        """What the candidates are."""
        return self._seen.head

    @property
    def settings(self) -> dict[str, Any]:
        """All that an optimiser needs; an error where it is Python code and was not given."""
        return restored(self._text, self._given, self.name) | self.here

    def check_code(self) -> None:
        """An error where settings are Python code and were not given."""
        restored(self._text, self._given, self.name)

    @property
    def missing(self) -> tuple[str, ...]:
        """Settings that are Python code and were not given: without them nothing is decided, nor asked of the model."""
        return (*missing_code(self._text, self._given), *(["constraints"] if self._lacks_constraints else []))

    @property
    def has_code(self) -> bool:
        """Whether answers rest on Python code, given here or not."""
        return bool(missing_code(self._text, {})) or self.head.constraints > 0

    @property
    def keeps_observations_apart(self) -> bool:
        """Whether it matters which observations came together: they share the error of a set-up, or fade with age."""
        return has_setting(self._text, "setup_std") or has_setting(self._text, "half_life")

    @property
    def _lacks_constraints(self) -> bool:
        return self._space is None and self.head.constraints > 0

    @property
    def stop(self) -> Any:
        """The rules by which runs end, as they were when the study was opened."""
        return stop_of(self._text, self._given, self.name)

    @property
    def created(self) -> float:
        """When the study was made, by which it is told apart from another one of the same name."""
        return self._created

    def read(self, action: Callable[[Reader], T]) -> T:
        """One moment of the study; tried again while the storage does not answer."""
        return self.storage.patiently(partial(self._within, self.storage.read, action))

    def seen(self, action: Callable[[Reader], T]) -> T:
        """The same, of what speaks of candidates by their rows: the table is of that moment, or newer."""

        def look(reader: Reader) -> T:
            self.look(reader)
            return action(reader)

        return self.read(look)

    def write(self, action: Callable[[Writer], T]) -> T:
        """A change of the study, as a whole or not at all; tried again while the storage does not answer."""
        return self.storage.patiently(partial(self._within, self.storage.write, action))

    def _within(self, transaction: Callable[[str], AbstractContextManager[R]], action: Callable[[R], T]) -> T:
        with transaction(self.name) as moment:
            return action(moment)

    def write_once(self, action: Callable[[Writer], T]) -> T:
        """The same, of what counts twice if it is done twice: revisions, candidates added, retired or restored.

        A try may have been kept though its answer was lost; the next one then finds the study as it had left it.
        """
        tried: list[tuple[Any, T]] = []

        def once(writer: Writer) -> T:
            for left, answer in tried:
                if left == _revised(writer):
                    return answer
            answer = action(writer)
            tried.append((_revised(writer), answer))
            return answer

        return self.write(once)

    def keep_setting(self, name: str, value: Any) -> None:
        """Another value for a setting that may change, for whoever opens the study from now on."""

        def change(writer: Writer) -> str:
            text = with_setting(writer.record.settings, name, value)
            if text != writer.record.settings:
                writer.change(replace(writer.record, settings=text))
            return text

        text = self.write(change)
        if text != self._text:
            self._text, self.replica = text, None

    def synced(self, reader: Reader) -> "Replica":
        """The optimiser of this process, at the reader's moment."""
        from ostinato.study.replica import Replica

        replica, self.replica = self.replica, None  # whatever stops it half-way, it is made anew
        if replica is None or not replica.follows(reader):
            replica = Replica(reader, self.refresh(reader), self.settings)
        self.replica = replica
        return replica

    def counting(self, reader: Reader) -> "Optimizer":
        """An optimiser for what was asked and told. Where code is missing, it can only count."""
        if not self.missing:
            return self.synced(reader).optimizer
        from ostinato.study.replica import Replica

        table = self.refresh(reader)
        table = table.within(Space(table.space.parameters)) if isinstance(table, Sampled) else table
        return Replica(reader, table, {}).optimizer

    def refresh(self, reader: Reader) -> Candidates:
        """The candidates at the reader's moment: others may have added some."""
        seen = self.look(reader)
        if seen.table is not None:
            return seen.table
        table = table_of(reader, self._sharded)
        if isinstance(table, ShardedTable):
            self._sharded = table
        if isinstance(table, Sampled) and self._space is not None:
            table = table.within(self._space)
        self._seen = replace(seen, table=table)
        return table

    def look(self, reader: Reader) -> CandidatesSnapshot:
        """The same, where they need not be read: those that are not as they were are forgotten."""
        if reader.record.created != self._created:
            raise StudyDiffers(f"The study {self.name!r} is not the one that was opened: open it again.")
        seen = self._seen
        if reader.record.digest != seen.digest:
            self._text = reader.record.settings  # noise of each row comes with the rows
            self._seen = seen = CandidatesSnapshot(reader.record.digest, head_of(reader.table()))
        return seen

    def keep_table(self, writer: Writer, table: Candidates) -> None:
        """Points of a space that have indices now, in the storage and here."""
        if table.rows > self.refresh(writer).rows:
            pack = packed(table)
            self.change_table(writer, pack)
            self._seen = CandidatesSnapshot(pack.digest, pack.told, table)

    def change_table(self, writer: Writer, pack: Packed) -> None:
        """Other candidates in the storage, which are read from there when they are needed.

        Of a large table that has grown only the rows that are new are written.
        """
        old, new = self.look(writer).head.blocks, pack.told.blocks
        same = len(old) if new[: len(old)] == old else 0
        writer.change_table(pack.head, pack.blocks(same), same)
        writer.change(replace(writer.record, digest=pack.digest))

    def hold(self, candidate: Any) -> Candidates:
        """Points of a space that are spoken of have indices from now on, in the candidates that it returns."""
        table = self.table
        return table if table.holding(candidate) is table else self.write(lambda writer: self._held(writer, candidate))

    def _held(self, writer: Writer, candidate: Any) -> Candidates:
        table = self.refresh(writer).holding(candidate)
        self.keep_table(writer, table)
        return table

    # Candidates and batches

    def index(self, candidate: Any) -> int:
        """The row of the table that a candidate is: an index, or a row as it was given."""
        table = self.table
        try:
            named = table.named_by(candidate)
        except UnknownCandidate:
            now = self.read(self.refresh)  # candidates may have been added elsewhere
            if now is table:
                raise
            table, named = now, now.named_by(candidate)
        numbers = [named] if isinstance(named, int) else named
        if len(numbers) != 1:
            raise InvalidFeedback(f"{brief(candidate)} is more than one candidate: observe them one by one.")
        return table.index_of(int(numbers[0]))

    def candidate(self, index: int) -> Any:
        """A row of the table, as it was given."""
        return self.read(lambda reader: self.row(reader, index))

    def row(self, reader: Reader, index: int) -> Any:
        """The same at the reader's moment."""
        seen = self.look(reader)
        self._read_alone += 1
        alone = seen.head.shards or (seen.head.blocks and self._read_alone <= ROWS_READ_SINGLY)
        if seen.table is None and alone and 0 <= index < seen.head.rows:
            row = row_of(seen.head, index, reader.block)
            return self.refresh(reader)[index] if row is None else row
        table = self.refresh(reader)
        if not 0 <= index < table.rows:
            table.number_of(index)  # which says what is wrong
        return table[index]

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


_OPENED = WeakSet[StoredStudy]()  # in this process


def _begin_in_a_fork() -> None:
    """A process that was forked begins with locks that nobody holds, and with optimisers of its own."""
    for stored in _OPENED:
        stored.lock, stored.replica = RLock(), None


os.register_at_fork(after_in_child=_begin_in_a_fork)


def _revised(reader: Reader) -> tuple[Any, ...]:
    """What changes when candidates or measurements are revised, and not when more is asked or told."""
    return reader.record.digest, reader.record.retired, reader.last_revision()
