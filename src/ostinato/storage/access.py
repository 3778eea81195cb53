"""One moment of a study in an SQL database, to be read or changed within a transaction."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from msgspec import DecodeError
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, Result, Row, Select, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError

from ostinato.errors import Damaged, UnknownStudy
from ostinato.storage import schema, statements
from ostinato.storage.base import BatchRecord, Entry, Lease, Reader, Revision, StudyRecord, Writer
from ostinato.storage.rows import batch_of, batch_row, block_rows, moment_of, seal_of, seal_of_bytes, study_row
from ostinato.storage.schema import answers, batches, leases, log, revisions, studies, tables
from ostinato.storage.values import Kind, Told, checksum, checksum_of_log

_BLOCKS = select(schema.blocks).order_by(schema.blocks.c.number)


class Backend(Protocol):
    """What differs between databases."""

    name: str  # for messages: a file, or a host and a database, never a password

    def engine(self) -> Engine: ...

    def begin(self, connection: Connection, *, write: bool) -> None:
        """Begin a transaction; for writing, so that no two of them can come to stand against each other."""

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
    def folder(self) -> Path:
        """Where files that belong to its studies go."""
        ...

    def check(self, connection: Connection) -> list[str]:
        """What is wrong with the database itself."""
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
            rows = self._rows(statements.ALL_BATCHES)
        else:
            rows = self._rows(statements.BATCHES_SINCE, told_after=told_after, from_id=asked_from)
        return [self._batch(row) for row in rows]

    def batch(self, number: int) -> BatchRecord | None:
        row = self._rows(statements.BATCH, in_batch=number).first()
        return None if row is None else self._batch(row)

    def unfinished(self) -> list[BatchRecord]:
        return [self._batch(row) for row in self._rows(statements.UNFINISHED)]

    def log(self, after: int = 0, most: int = 1_000, batch: int | None = None) -> list[Entry]:
        if batch is None:
            rows = self._rows(statements.LOG, after=after, most=most)
        else:
            rows = self._rows(statements.LOG_OF_BATCH, after=after, most=most, in_batch=batch)
        return [self._entry(row) for row in rows]

    def first_numbers(self, rows: Sequence[int]) -> dict[int, int]:
        if not rows:
            return {}
        query = select(log.c.number, log.c.repeats).where(log.c.study == self._record.id, log.c.number <= max(rows))
        wanted, before, found = set(rows), 0, dict[int, int]()
        for row in self._connection.execute(query.order_by(log.c.number)):
            if row.number in wanted:
                found[row.number] = before + 1
            before += row.repeats
        return found

    def row_of(self, measurement: int) -> tuple[Entry, int] | None:
        upto = func.sum(log.c.repeats).over(order_by=log.c.number).label("upto")
        counted = select(log.c.number, log.c.repeats, upto).where(log.c.study == self._record.id).subquery()
        query = select(counted).where(counted.c.upto >= measurement).order_by(counted.c.number).limit(1)
        row = self._connection.execute(query).first()
        if row is None or measurement < 1:
            return None
        (entry,) = self.log(after=row.number - 1, most=1)
        return entry, int(measurement - (row.upto - row.repeats) - 1)

    def revisions(self, batch: int | None = None) -> list[Revision]:
        query = select(revisions).where(revisions.c.study == self._record.id).order_by(revisions.c.number)
        if batch is not None:
            query = query.where(revisions.c.batch == batch)
        return [self._revision(row) for row in self._connection.execute(query)]

    def _revision(self, row: Row[Any]) -> Revision:
        values: dict[str, Any] = dict(row._mapping)
        with self._whole(f"revision {row.number}"):
            if values.pop("check") != checksum(*values.values()):
                raise self._damage(f"revision {row.number}")
        value = float(np.frombuffer(row.data, dtype="<f8")[0]) if row.data else None
        return Revision(row.measurement, row.row, row.place, row.batch, value, row.at, row.why)

    def overlapping(self, batch: int, start: int, count: int) -> list[Entry]:
        before = self._rows(statements.LAST_UP_TO, in_batch=batch, low=start)
        within = self._rows(statements.BETWEEN, in_batch=batch, low=start, high=start + count)
        rows = [*(row for row in before if row.start + row.repeats > start), *within]
        return [self._entry(row) for row in rows]

    def told_of(self, batch: int) -> int:
        query = select(func.sum(log.c.repeats)).where(log.c.study == self._record.id, log.c.batch == batch)
        return int(self._connection.execute(query).scalar() or 0)

    def leases(self, batch: int | None = None) -> list[Lease]:
        if batch is None:
            rows = self._rows(statements.LEASES)
        else:
            rows = self._rows(statements.LEASES_OF_BATCH, in_batch=batch)
        found = [(Lease(row.batch, row.start, row.repeats, row.worker, row.until), row.check) for row in rows]
        return [lease for lease, check in found if self._fits(lease, check)]

    def _fits(self, lease: Lease, check: Any) -> bool:
        try:
            return check == self._seal(lease)
        except (TypeError, ValueError):
            return False

    def now(self) -> float:
        return self._backend.now(self._connection)

    def _rows(self, statement: Select[Any], **values: Any) -> Result[Any]:
        return self._connection.execute(statement, {"in_study": self._record.id, **values})

    def _seal(self, lease: Lease) -> int:
        return checksum(self._record.id, lease.batch, lease.start, lease.count, lease.worker, lease.until)

    def _batch(self, row: Row[Any]) -> BatchRecord:
        with self._whole(f"batch {row.id}"):
            record = batch_of(row)
            if row.check != seal_of(batch_row(self._record.id, record)):
                raise self._damage(f"batch {row.id}")
            return record

    def _entry(self, row: Row[Any]) -> Entry:
        with self._whole(f"row {row.number} of the log"):
            return self._entry_of(row)

    def _entry_of(self, row: Row[Any]) -> Entry:
        if row.kind not in list(Kind):
            raise self._damage(f"row {row.number} of the log (batch {row.batch})")
        told = Told(row.repeats, Kind(row.kind), row.data)
        if row.check != checksum_of_log(row.study, row.number, row.batch, row.start, told):
            raise self._damage(f"row {row.number} of the log (batch {row.batch})")
        return Entry(row.number, row.batch, row.start, told, row.at)

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

    def add_batch(self, batch: BatchRecord) -> None:
        self._connection.execute(insert(batches), self._row(batch))

    def change_batch(self, batch: BatchRecord) -> None:
        which = {"in_study": self._record.id, "in_batch": batch.facts.id}
        self._connection.execute(statements.CHANGE_BATCH, {**self._row(batch), **which})

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

    def append(self, batch: int, start: int, told: Told) -> Entry:
        number, study, at = self._record.told + 1, self._record.id, self.now()
        row = {
            "study": study, "number": number, "batch": batch, "start": start, "repeats": told.count,
            "kind": int(told.kind), "data": told.data, "at": at,
            "check": checksum_of_log(study, number, batch, start, told),
        }  # fmt: skip
        self._connection.execute(insert(log), row)
        self._record = replace(self._record, told=number)
        return Entry(number, batch, start, told, at)

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
        self.release(lease)
        row = {
            "study": self._record.id, "batch": lease.batch, "start": lease.start, "repeats": lease.count,
            "worker": lease.worker, "until": lease.until, "check": self._seal(lease),
        }  # fmt: skip
        self._connection.execute(insert(leases), row)

    def release(self, lease: Lease) -> None:
        which = {"in_study": self._record.id, "in_batch": lease.batch, "low": lease.start}
        self._connection.execute(statements.RELEASE, which)

    def change(self, record: StudyRecord) -> None:
        row = study_row(record)
        self._connection.execute(statements.CHANGE_STUDY, {**row, "check": seal_of(row), "in_study": record.id})
        self._record = record

    def _row(self, batch: BatchRecord) -> dict[str, Any]:
        row = batch_row(self._record.id, batch)
        return {**row, "check": seal_of(row)}


def damage_in(name: str, cause: str) -> str:
    """The words for a storage that cannot be read."""
    return (
        f"{name} is damaged, or no storage of studies ({cause}): nothing was changed. `ostinato verify` says what is "
        "wrong, and `ostinato export --damaged` rescues what can be read; or restore a copy."
    )
