"""Storage in an SQL database, with SQLAlchemy's Core: the same statements for SQLite and PostgreSQL.

What differs between the two (how a transaction begins, whose clock it is, what an error means) is in `sqlite.py` and
`postgres.py`.
"""

import random
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from time import monotonic, sleep
from typing import Any, Protocol, TypeVar

import msgspec
import numpy as np
from msgspec.structs import replace
from sqlalchemy import Connection, Engine, Row, delete, func, insert, inspect, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from ostinato.errors import Damaged, InvalidSetting, StorageAway, Unavailable, UnknownStudy, notify
from ostinato.measurements.history import Points
from ostinato.measurements.tally import Statistics
from ostinato.optimizer.facts import BatchFacts
from ostinato.storage.base import BatchRecord, Entry, Lease, Reader, Revision, Storage, StudyRecord, Writer
from ostinato.storage.schema import HEAD, batches, leases, log, revisions, studies, tables
from ostinato.storage.values import Kind, Told, checksum, checksum_of_log

T = TypeVar("T")
FIRST_WAIT, LONGEST_WAIT = 0.02, 1.0  # seconds between two tries
SOON = 2.0  # seconds of trying after which it is said
PATIENCE = 60.0  # seconds of trying, by default
LATER = ("extremes", "revised", "withdrawn", "replaced", "retired")  # columns that the first schema did not have


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

    def check(self, connection: Connection) -> list[str]:
        """What is wrong with the database itself."""
        ...


class SQLStorage(Storage):
    """Studies in a database."""

    def __init__(self, backend: Backend, *, patience: float = PATIENCE, create: bool = True) -> None:
        self.backend, self._patience = backend, patience
        self.patiently(lambda: self._prepare(create=create))

    def __repr__(self) -> str:
        return f"<storage in {self.backend.name}>"

    def names(self) -> list[str]:
        with self._transaction(write=False) as connection:
            return list(connection.execute(select(studies.c.name).order_by(studies.c.id)).scalars())

    def create(self, record: StudyRecord, table: bytes) -> bool:
        try:
            with self._transaction(write=True) as connection:
                values = _study_row(record)
                values.pop("id")
                result = connection.execute(insert(studies).values(**values, check=0))
                (number,) = result.inserted_primary_key or (0,)
                made = replace(record, id=number)
                seal = _seal_of(_study_row(made))
                connection.execute(update(studies).where(studies.c.id == number).values(check=seal))
                sealed = {"study": number, "data": table, "check": checksum(number, table)}
                connection.execute(insert(tables).values(**sealed))
        except IntegrityError:
            return False
        return True

    def delete(self, name: str) -> None:
        with self._transaction(write=True) as connection:
            number = SQLWriter(connection, self.backend, name).record.id
            for table in (leases, revisions, log, batches, tables):
                connection.execute(delete(table).where(table.c.study == number))
            connection.execute(delete(studies).where(studies.c.id == number))

    @contextmanager
    def read(self, name: str) -> Generator["SQLReader", None, None]:
        with self._transaction(write=False) as connection:
            yield SQLReader(connection, self.backend, name)

    @contextmanager
    def write(self, name: str) -> Generator["SQLWriter", None, None]:
        with self._transaction(write=True) as connection:
            yield SQLWriter(connection, self.backend, name)

    def patiently(self, action: Callable[[], T]) -> T:
        start, wait, said = monotonic(), FIRST_WAIT, False
        while True:
            try:
                return action()
            except Unavailable as error:
                if not getattr(error, "passing", False) or monotonic() - start > self._patience:
                    raise
                if not said and monotonic() - start > SOON:
                    said = True
                    notify(f"{error} It is tried again, for {self._patience:g} s in all.", StorageAway)
            sleep(wait * random.uniform(0.5, 1.5))
            wait = min(2 * wait, LONGEST_WAIT)

    def check(self) -> Sequence[str]:
        with self._transaction(write=False) as connection:
            return self.backend.check(connection)

    def close(self) -> None:
        self.backend.engine().dispose()

    @contextmanager
    def _transaction(self, *, write: bool) -> Generator[Connection, None, None]:
        try:
            with self.backend.engine().connect() as connection:
                self.backend.begin(connection, write=write)
                try:
                    yield connection
                except BaseException:
                    connection.rollback()
                    raise
                connection.commit()
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise self._translated(error) from error
        except UnicodeDecodeError as error:
            raise Damaged(_damaged(self.backend.name, str(error))) from error

    def _translated(self, error: DBAPIError) -> Exception:
        cause = str(error.orig).strip().partition("\n")[0]
        if self.backend.damaged(error):
            return Damaged(_damaged(self.backend.name, cause))
        passing = self.backend.passing(error)
        unavailable = Unavailable(
            f"{self.backend.name} does not work at the moment ({cause}): nothing that was acknowledged is lost, and "
            "what was not can be told again."
            if passing
            else f"{self.backend.name} cannot be used ({cause}): see that it is there, and that you may write to it."
        )
        unavailable.passing = passing  # type: ignore[attr-defined]
        return unavailable

    def _prepare(self, *, create: bool) -> None:
        """Bring the tables to the schema that this code knows."""
        with self._transaction(write=False) as connection:
            version = _version(connection)
        if version == HEAD:
            return
        if version is None and not create:
            raise UnknownStudy(f"{self.backend.name} holds no studies of Ostinato.")
        with self._transaction(write=True) as connection:
            _migrate(connection, self.backend.name)


class SQLReader(Reader):
    """One moment of a study, in a transaction."""

    locked = False

    def __init__(self, connection: Connection, backend: Backend, name: str) -> None:
        self._connection, self._backend = connection, backend
        query = select(studies).where(studies.c.name == name)
        row = connection.execute(query.with_for_update() if self.locked else query).first()
        if row is None:
            known = connection.execute(select(studies.c.name).order_by(studies.c.id)).scalars().all()
            if name in known:
                raise Damaged(_damaged(backend.name, f"the index of studies does not find {name!r}"))
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

    def batches(self, *, told_after: int | None = None, asked_from: int = 0) -> list[BatchRecord]:
        query = select(batches).where(batches.c.study == self._record.id).order_by(batches.c.id)
        if told_after is not None:
            query = query.where((batches.c.last > told_after) | (batches.c.id >= asked_from))
        return [self._batch(row) for row in self._connection.execute(query)]

    def batch(self, number: int) -> BatchRecord | None:
        query = select(batches).where(batches.c.study == self._record.id, batches.c.id == number)
        row = self._connection.execute(query).first()
        return None if row is None else self._batch(row)

    def unfinished(self) -> list[BatchRecord]:
        query = select(batches).where(
            batches.c.study == self._record.id,
            batches.c.id >= 0,
            batches.c.closed.is_(False),
            batches.c.n + batches.c.failed + batches.c.withdrawn < batches.c.repeats + batches.c.replaced,
        )
        return [self._batch(row) for row in self._connection.execute(query.order_by(batches.c.id))]

    def log(self, after: int = 0, most: int = 1_000, batch: int | None = None) -> list[Entry]:
        query = select(log).where(log.c.study == self._record.id, log.c.number > after).order_by(log.c.number)
        if batch is not None:
            query = query.where(log.c.batch == batch)
        return [self._entry(row) for row in self._connection.execute(query.limit(most))]

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
        mine = select(log).where(log.c.study == self._record.id, log.c.batch == batch)
        before = mine.where(log.c.start <= start).order_by(log.c.start.desc()).limit(1)
        within = mine.where(log.c.start > start, log.c.start < start + count).order_by(log.c.start)
        rows = [row for row in self._connection.execute(before) if row.start + row.repeats > start]
        return [self._entry(row) for row in [*rows, *self._connection.execute(within)]]

    def told_of(self, batch: int) -> int:
        query = select(func.sum(log.c.repeats)).where(log.c.study == self._record.id, log.c.batch == batch)
        return int(self._connection.execute(query).scalar() or 0)

    def leases(self, batch: int | None = None) -> list[Lease]:
        query = select(leases).where(leases.c.study == self._record.id).order_by(leases.c.batch, leases.c.start)
        if batch is not None:
            query = query.where(leases.c.batch == batch)
        found = [
            (Lease(row.batch, row.start, row.repeats, row.worker, row.until), row.check)
            for row in self._connection.execute(query)
        ]
        return [lease for lease, check in found if self._fits(lease, check)]

    def _fits(self, lease: Lease, check: Any) -> bool:
        try:
            return check == self._seal(lease)
        except (TypeError, ValueError):
            return False

    def now(self) -> float:
        return self._backend.now(self._connection)

    def _seal(self, lease: Lease) -> int:
        return checksum(self._record.id, lease.batch, lease.start, lease.count, lease.worker, lease.until)

    def _batch(self, row: Row[Any]) -> BatchRecord:
        with self._whole(f"batch {row.id}"):
            return self._batch_of(row)

    def _batch_of(self, row: Row[Any]) -> BatchRecord:
        statistics = Statistics(row.n, row.mean, row.squares, row.known)
        facts = BatchFacts(
            row.id, row.candidate, row.repeats, row.wanted, bool(row.capped), bool(row.truncated), row.round,
            row.failed, statistics, row.first, bool(row.closed), *self._extremes(row), row.withdrawn, row.replaced,
        )  # fmt: skip
        record = BatchRecord(facts, row.made, row.reason, row.leased, row.last)
        if row.check != _seal_of(_batch_row(self._record.id, record)):
            raise self._damage(f"batch {row.id}")
        return record

    def _extremes(self, row: Row[Any]) -> tuple[Points, Statistics, int]:
        if not row.extremes:
            return (), Statistics(), 0
        try:
            points, rest, at = msgspec.json.decode(row.extremes, type=tuple[Points, tuple[float, ...], int])
            return points, Statistics(*rest), at
        except (msgspec.DecodeError, TypeError):
            raise self._damage(f"batch {row.id}") from None

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
            if seal != _seal_of(_study_row(record)):
                raise self._damage(f"study {record.name!r}")
        return record

    @contextmanager
    def _whole(self, what: str) -> Generator[None, None, None]:
        """A damaged row may hold anything: also what no code expects there."""
        try:
            yield
        except (TypeError, ValueError, OverflowError, AttributeError):
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
        self._connection.execute(insert(batches).values(**self._row(batch)))

    def change_batch(self, batch: BatchRecord) -> None:
        where = (batches.c.study == self._record.id, batches.c.id == batch.facts.id)
        self._connection.execute(update(batches).where(*where).values(**self._row(batch)))

    def change_table(self, data: bytes) -> None:
        seal = checksum(self._record.id, data)
        self._connection.execute(update(tables).where(tables.c.study == self._record.id).values(data=data, check=seal))

    def append(self, batch: int, start: int, told: Told) -> Entry:
        number, study, at = self._record.told + 1, self._record.id, self.now()
        self._connection.execute(
            insert(log).values(
                study=study,
                number=number,
                batch=batch,
                start=start,
                repeats=told.count,
                kind=int(told.kind),
                data=told.data,
                at=at,
                check=checksum_of_log(study, number, batch, start, told),
            )
        )
        self._record = replace(self._record, told=number)
        return Entry(number, batch, start, told, at)

    def revise(self, revision: Revision) -> Revision:
        kept = replace(revision, at=self.now())
        data = b"" if kept.value is None else np.array([kept.value], dtype="<f8").tobytes()
        row = {
            "study": self._record.id, "number": self._record.revised + 1, "measurement": kept.measurement,
            "row": kept.row, "place": kept.place, "batch": kept.batch, "data": data, "at": kept.at, "why": kept.why,
        }  # fmt: skip
        self._connection.execute(insert(revisions).values(**row, check=checksum(*row.values())))
        self._record = replace(self._record, revised=self._record.revised + 1)
        return kept

    def lease(self, lease: Lease) -> None:
        self.release(lease)
        self._connection.execute(
            insert(leases).values(
                study=self._record.id,
                batch=lease.batch,
                start=lease.start,
                repeats=lease.count,
                worker=lease.worker,
                until=lease.until,
                check=self._seal(lease),
            )
        )

    def release(self, lease: Lease) -> None:
        where = (leases.c.study == self._record.id, leases.c.batch == lease.batch, leases.c.start == lease.start)
        self._connection.execute(delete(leases).where(*where))

    def change(self, record: StudyRecord) -> None:
        row = _study_row(record)
        seal = _seal_of(row)
        self._connection.execute(update(studies).where(studies.c.id == record.id).values(**row, check=seal))
        self._record = record

    def _row(self, batch: BatchRecord) -> dict[str, Any]:
        row = _batch_row(self._record.id, batch)
        return {**row, "check": _seal_of(row)}


def _damaged(name: str, cause: str) -> str:
    return (
        f"{name} is damaged, or no storage of studies ({cause}): nothing was changed. `ostinato verify` says what is "
        "wrong, and `ostinato export --damaged` rescues what can be read; or restore a copy."
    )


def _study_row(record: StudyRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def _batch_row(study: int, record: BatchRecord) -> dict[str, Any]:
    facts, statistics = record.facts, record.facts.statistics
    return {
        "study": study, "id": facts.id, "candidate": facts.index, "repeats": facts.repeats, "wanted": facts.wanted,
        "capped": facts.capped, "truncated": facts.truncated, "round": facts.round, "made": record.made,
        "reason": record.reason, "leased": record.leased, "failed": facts.failed, "n": int(statistics.n),
        "mean": float(statistics.mean), "squares": float(statistics.squares), "known": float(statistics.known),
        "first": facts.first, "last": record.last, "closed": facts.closed,
        "extremes": _as_text(facts) if facts.at else "", "withdrawn": facts.withdrawn, "replaced": facts.replaced,
    }  # fmt: skip


def _as_text(facts: BatchFacts) -> str:
    rest = facts.rest
    numbers = [float(each) for each in (rest.n, rest.mean, rest.squares, rest.known)]
    return msgspec.json.encode((facts.points, numbers, facts.at)).decode()


def _seal_of(row: dict[str, Any]) -> int:
    """A checksum; of what came with later schemas, only what says anything: older rows keep theirs."""
    return checksum(*(value for name, value in row.items() if name not in LATER or value))


def _version(connection: Connection) -> str | None:
    """The schema that is there; None for none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _migrate(connection: Connection, name: str) -> None:
    """To the newest schema, within the transaction at hand; other processes wait for it."""
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    version = _version(connection)
    config = Config()
    config.set_main_option("script_location", "ostinato.storage:migrations")
    known = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    if version is not None and version not in known:
        raise InvalidSetting(
            f"{name} was made by a newer Ostinato (its schema is {version}; this one knows {', '.join(sorted(known))})"
            ": upgrade."
        )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
