"""One moment of a study in an SQL database, to be read or changed within a transaction."""

from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from msgspec import DecodeError
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, Result, Row, delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from ostinato.errors import Damaged, UnknownStudy
from ostinato.storage import schema, statements
from ostinato.storage.base import BatchRecord, Entry, Lease, LogRow, Reader, Revision, Source, StudyRecord, Writer
from ostinato.storage.rows import (
    batch_of,
    batch_row,
    block_rows,
    digest_of,
    lease_of,
    lease_row,
    log_row,
    moment_of,
    seal_of,
    seal_of_bytes,
    seal_of_stored,
    source_of,
    source_row,
    study_row,
)
from ostinato.storage.schema import answers, revisions, studies, tables
from ostinato.storage.values import Kind, Told, checksum, checksum_of_log

T = TypeVar("T", int, str)
NUMBERS = 2**63  # of batches: databases know no larger ones
AT_ONCE = 500  # candidates, or sources, in one query: databases limit how many values one has
_BLOCKS = select(schema.blocks).order_by(schema.blocks.c.number)


class Backend(Protocol):
    """What differs between databases."""

    name: str  # for messages: a file, or a host and a database, never a password
    local: bool  # whether it is known to be on a disk that no other machine uses at the same time

    def engine(self) -> Engine: ...

    def begin(self, connection: Connection, *, write: bool, wait: bool = True, lasting: bool = True) -> None:
        """Begin a transaction; for writing, so that no two of them can come to stand against each other.

        wait: whether for locks that others hold; else the transaction fails. lasting: whether what was committed has to
        outlive a power cut; where not, a server may answer sooner.
        """

    def now(self, connection: Connection) -> float: ...

    def damaged(self, error: DBAPIError) -> bool:
        """Whether an error means that the file is damaged."""
        ...

    def passing(self, error: DBAPIError) -> bool:
        """Whether an error may go away by itself."""
        ...

    def busy(self, error: DBAPIError) -> bool:
        """Whether it means no more than that others are writing."""
        ...

    @property
    def file(self) -> Path | None:
        """The file that it is; None for a server."""
        ...

    def check(self, connection: Connection, *, everything: bool) -> list[str]:
        """What is wrong with the database itself; without everything, as far as that is soon said."""
        ...


class SQLReader(Reader):
    """One moment of a study, in a transaction."""

    locked = False

    def __init__(self, connection: Connection, backend: Backend, name: str) -> None:
        self._connection, self._backend = connection, backend
        query = statements.STUDY_LOCKED if self.locked else statements.STUDY
        row = connection.execute(query, {"called": name}).first()
        if row is None:
            known = connection.execute(select(studies.c.name).order_by(studies.c.id)).scalars().all()
            if name in known:
                raise Damaged(damage_in(backend.name, f"the index of studies does not find {name!r}"))
            listed = f"it holds {', '.join(map(repr, known))}" if known else "it holds none"
            raise UnknownStudy(f"There is no study {name!r} in {backend.name}: {listed}.")
        self._record = self._study(row)

    @property
    def record(self) -> StudyRecord:
        return self._record

    def table(self) -> bytes:
        row = self._connection.execute(select(tables).where(tables.c.study == self._record.id)).first()
        with self._whole("its candidates"):
            fits = row is not None and row.check == checksum(self._record.id, row.data)
        if row is None or not fits:
            raise self._damage("its candidates")
        return row.data

    def block(self, number: int) -> bytes:
        query = _BLOCKS.where(schema.blocks.c.study == self._record.id, schema.blocks.c.number == number)
        row = self._connection.execute(query).first()
        if row is None:
            raise self._damage(f"block {number} of its candidates")
        return self._block(row)

    def blocks(self) -> list[bytes]:
        query = _BLOCKS.where(schema.blocks.c.study == self._record.id)
        return [self._block(row) for row in self._connection.execute(query)]

    def _block(self, row: Row[Any]) -> bytes:
        what = f"block {row.number} of its candidates"
        with self._whole(what):
            if row.check == seal_of_bytes(row.data, row.study, row.number):
                return row.data
        raise self._damage(what)

    def answer(self) -> bytes | None:
        moment = moment_of(self._record)
        row = self._connection.execute(select(answers).where(answers.c.study == self._record.id)).first()
        try:
            fits = row is not None and row.check == seal_of_bytes(row.data, row.study, row.moment)
        except (TypeError, ValueError):
            return None
        return row.data if row is not None and fits and row.moment == moment else None

    def batches(self, *, told_after: int | None = None, asked_from: int = 0) -> list[BatchRecord]:
        if told_after is None:
            return [self._batch(row) for row in self._rows(statements.ALL_BATCHES)]
        told = {row.id: row for row in self._rows(statements.TOLD_SINCE, told_after=told_after)}
        asked = {row.id: row for row in self._rows(statements.ASKED_SINCE, from_id=asked_from)}
        return [self._batch(row) for _, row in sorted((told | asked).items())]

    def batch(self, number: int) -> BatchRecord | None:
        row = self._rows(statements.BATCH, in_batch=number).first() if abs(number) < NUMBERS else None
        return None if row is None else self._batch(row)

    def batches_of(self, numbers: Collection[int]) -> dict[int, BatchRecord]:
        possible = [number for number in numbers if abs(number) < NUMBERS]
        found = (self._rows(statements.BATCHES, numbers=part) for part in _parts(possible))
        return {row.id: self._batch(row) for rows in found for row in rows}

    def unfinished(self) -> list[BatchRecord]:
        return [self._batch(row) for row in self._rows(statements.UNFINISHED)]

    def with_room(self, candidates: Collection[int]) -> list[BatchRecord]:
        found = (self._rows(statements.WITH_ROOM, candidates=part) for part in _parts(candidates))
        return [self._batch(row) for rows in found for row in rows]

    def log(self, after: int = 0, most: int = 1_000) -> list[Entry]:
        return [self._entry(row) for row in self._rows(statements.LOG, after=after, most=most)]

    def first_numbers(self, rows: Sequence[int]) -> dict[int, int]:
        if not rows or self._record.told == self._record.numbered:  # every row holds one
            return {row: row for row in rows}
        wanted, before, found = set(rows), self._told_before(min(rows)), dict[int, int]()
        for row in self._rows(statements.REPEATS, low=min(rows), high=max(rows)):
            if row.number in wanted:
                found[row.number] = before + 1
            before += row.repeats
        return found

    def row_of(self, measurement: int) -> tuple[Entry, int] | None:
        record = self._record
        if not 1 <= measurement <= record.numbered:
            return None
        low = max(1, record.told - (record.numbered - measurement))  # every row holds one at least
        before = self._told_before(low)
        row = self._rows(statements.ROW_OF, low=low, high=measurement, rest=measurement - before).first()
        entry = None if row is None else self.row(row.number)
        return (
            None if row is None or entry is None else (entry, int(measurement - before - (row.upto - row.repeats) - 1))
        )

    def _told_before(self, row: int) -> int:
        """How many measurements the rows of the log before one hold; added up from the nearer end."""
        record = self._record
        if record.told == record.numbered or row > record.told:
            return min(row - 1, record.numbered)
        if row <= record.told // 2:
            return int(self._rows(statements.TOLD_BETWEEN, low=1, high=row - 1).scalar() or 0)
        return record.numbered - int(self._rows(statements.TOLD_BETWEEN, low=row, high=record.told).scalar() or 0)

    def revisions(self, batch: int | None = None) -> list[Revision]:
        if batch is None:
            rows = self._rows(statements.REVISIONS)
        else:
            rows = self._rows(statements.REVISIONS_OF_BATCH, in_batch=batch)
        return [self._revision(row) for row in rows]

    def last_revision(self) -> Revision | None:
        rows = self._rows(statements.LAST_REVISION, from_number=self._record.revised).all()
        return self._revision(rows[-1]) if rows else None

    def _revision(self, row: Row[Any]) -> Revision:
        values: dict[str, Any] = dict(row._mapping)
        with self._whole(f"revision {row.number}"):
            if values.pop("check") != checksum(*values.values()):
                raise self._damage(f"revision {row.number}")
        value = float(np.frombuffer(row.data, dtype="<f8")[0]) if row.data else None
        return Revision(row.measurement, row.row, row.place, row.batch, value, row.at, row.why)

    def sources(self, numbers: Collection[int]) -> dict[int, Source]:
        found = (self._rows(statements.SOURCES, numbers=part) for part in _parts(numbers))
        return {row.number: self._source(row) for rows in found for row in rows}

    def _source(self, row: Row[Any]) -> Source:
        with self._whole(f"source {row.number} of its values"):
            return source_of(row)

    def overlapping(self, batch: int, start: int, count: int) -> list[Entry]:
        before = self._rows(statements.LAST_UP_TO, in_batch=batch, low=start)
        within = self._rows(statements.BETWEEN, in_batch=batch, low=start, high=start + count)
        rows = [*(row for row in before if row.start + row.repeats > start), *within]
        return [self._entry(row) for row in rows]

    def leases(self, batch: int | None = None) -> list[Lease]:
        if batch is None:
            rows = self._rows(statements.LEASES)
        else:
            rows = self._rows(statements.LEASES_OF_BATCH, in_batch=batch)
        return [lease for lease in map(lease_of, rows) if lease is not None]

    def leases_of(self, batches: Collection[int]) -> list[Lease]:
        found = (self._rows(statements.LEASES_OF_BATCHES, numbers=part) for part in _parts(batches))
        return [lease for rows in found for lease in map(lease_of, rows) if lease is not None]

    def known_source(self, source: Source) -> Source | None:
        number = self._rows(statements.SOURCE, digest=digest_of(source)).scalar()
        return None if number is None else self.sources([number])[number]

    def now(self) -> float:
        return self._backend.now(self._connection)

    @property
    def local(self) -> bool:
        return self._backend.local

    def _rows(self, statement: Any, **values: Any) -> Result[Any]:
        return self._connection.execute(statement, {"in_study": self._record.id, **values})

    def _batch(self, row: Row[Any]) -> BatchRecord:
        with self._whole(f"batch {row.id}"):
            if row.check != seal_of_stored(row):
                raise self._damage(f"batch {row.id}")
            return batch_of(row)

    def _entry(self, row: Row[Any]) -> Entry:
        with self._whole(f"row {row.number} of the log"):
            told = Told(row.repeats, Kind(row.kind), row.data) if row.kind in list(Kind) else None
            place = (row.study, row.number, row.batch, row.start)
            if told is None or row.check != checksum_of_log(place, told, row.source, row.began):
                raise self._damage(f"row {row.number} of the log (batch {row.batch})")
            return Entry(row.number, row.batch, row.start, told, row.at, row.source, row.began)

    def _study(self, row: Row[Any]) -> StudyRecord:
        values: dict[str, Any] = dict(row._mapping)
        seal = values.pop("check")
        record = StudyRecord(**values)
        with self._whole(f"study {record.name!r}"):
            if seal != seal_of(study_row(record)):
                raise self._damage(f"study {record.name!r}")
        return record

    @contextmanager
    def _whole(self, what: str) -> Generator[None, None, None]:
        """A damaged row may hold anything: also what no code expects there."""
        try:
            yield
        except (TypeError, ValueError, OverflowError, AttributeError, DecodeError):
            raise self._damage(what) from None

    def _damage(self, what: str) -> Damaged:
        return Damaged(
            f"{self._backend.name} is damaged: {what} does not fit its checksum. Nothing was changed; `ostinato export "
            "--damaged` rescues the rest, or restore a copy."
        )


class SQLWriter(SQLReader, Writer):
    """The same, with the study's row locked."""

    locked = True

    def __init__(self, connection: Connection, backend: Backend, name: str) -> None:
        super().__init__(connection, backend, name)
        self._known: dict[Source | None, int] = {}  # sources by number: nobody else adds any within this transaction

    def add_batches(self, batches: Sequence[BatchRecord]) -> None:
        self._connection.execute(statements.ADD_BATCH, [self._row(each) for each in batches])

    def change_batches(self, batches: Sequence[BatchRecord]) -> None:
        rows = [self._row(each) for each in batches]
        changes = [{**row, "in_study": row.pop("study"), "in_batch": row.pop("id")} for row in rows]
        self._connection.execute(statements.CHANGE_BATCH, changes)

    def change_table(self, data: bytes, blocks: Sequence[bytes] = (), after: int = 0) -> None:
        study, seal, stored = self._record.id, checksum(self._record.id, data), schema.blocks
        self._connection.execute(update(tables).where(tables.c.study == study).values(data=data, check=seal))
        self._connection.execute(delete(stored).where(stored.c.study == study, stored.c.number >= after))
        if blocks:
            self._connection.execute(insert(stored), block_rows(study, blocks, after))

    def keep_answer(self, data: bytes) -> None:
        study, moment = self._record.id, moment_of(self._record)
        self._connection.execute(delete(answers).where(answers.c.study == study))
        row = {"study": study, "moment": moment, "data": data, "check": seal_of_bytes(data, study, moment)}
        self._connection.execute(insert(answers), row)

    def append_all(self, rows: Sequence[LogRow]) -> list[Entry]:
        first, at = self._record.told + 1, self.now()
        numbers = self._numbers_of({row.source for row in rows if row.source is not None} - {Source()})
        entries = [
            Entry(number, row.batch, row.start, row.told, at, numbers.get(row.source, 0), row.began)
            for number, row in enumerate(rows, first)
        ]
        self._connection.execute(statements.APPEND, [log_row(self._record.id, entry) for entry in entries])
        self._record = replace(self._record, told=self._record.told + len(entries))
        return entries

    def _numbers_of(self, sources: Collection[Source]) -> Mapping[Source | None, int]:
        """The numbers of sources, which are stored where they are new: all of them in a query or two."""
        digests = {source: digest_of(source) for source in sources if source not in self._known}
        found = dict[str, int]()
        for part in _parts(digests.values()):
            for row in self._rows(statements.SOURCE_NUMBERS, digests=part):
                found.setdefault(row.digest, row.number)
        new = {digest: source for source, digest in digests.items() if digest not in found}
        if new:
            first, study = int(self._rows(statements.LAST_SOURCE).scalar() or 0) + 1, self._record.id
            found |= {digest: number for number, digest in enumerate(new, first)}
            rows = [source_row(study, found[digest], source) for digest, source in new.items()]
            self._connection.execute(statements.ADD_SOURCE, rows)
        self._known |= {source: found[digest] for source, digest in digests.items()}
        return self._known

    def revise(self, revision: Revision) -> Revision:
        kept = replace(revision, at=self.now())
        data = b"" if kept.value is None else np.array([kept.value], dtype="<f8").tobytes()
        row = {
            "study": self._record.id, "number": self._record.revised + 1, "measurement": kept.measurement,
            "row": kept.row, "place": kept.place, "batch": kept.batch, "data": data, "at": kept.at, "why": kept.why,
        }  # fmt: skip
        self._connection.execute(insert(revisions), {**row, "check": checksum(*row.values())})
        self._record = replace(self._record, revised=self._record.revised + 1)
        return kept

    def lease(self, lease: Lease) -> None:
        self.change_leases([lease], [lease])

    def release(self, lease: Lease) -> None:
        self.change_leases([lease], [])

    def change_leases(self, gone: Sequence[Lease], new: Sequence[Lease]) -> None:
        study = self._record.id
        if gone:
            which = [{"in_study": study, "in_batch": each.batch, "low": each.start} for each in gone]
            self._connection.execute(statements.RELEASE, which)
        if new:
            self._connection.execute(statements.ADD_LEASE, [lease_row(study, each) for each in new])

    def change(self, record: StudyRecord) -> None:
        row = study_row(record)
        seal = seal_of(row)
        row.pop("id")  # a key that is set, to whatever, makes SQLite look through all rows that refer to it
        self._connection.execute(statements.CHANGE_STUDY, {**row, "check": seal, "in_study": record.id})
        self._record = record

    def _row(self, batch: BatchRecord) -> dict[str, Any]:
        row = batch_row(self._record.id, batch)
        return {**row, "check": seal_of(row)}


def _parts(given: Iterable[T]) -> list[list[T]]:
    """As many at a time as one query takes."""
    wanted = sorted(set(given))
    return [wanted[start : start + AT_ONCE] for start in range(0, len(wanted), AT_ONCE)]


def damage_in(name: str, cause: str) -> str:
    """The words for a storage that cannot be read."""
    return (
        f"{name} is damaged, or no storage of studies ({cause}): nothing was changed. `ostinato verify` says what is "
        "wrong, and `ostinato export --damaged` rescues what can be read; or restore a copy."
    )
