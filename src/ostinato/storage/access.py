"""One moment of a study in an SQL database, to be read or changed within a transaction."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
from msgspec.structs import asdict, replace
from sqlalchemy import Connection, Engine, Result, Row, delete, insert, select, update
from sqlalchemy.exc import DBAPIError

from ostinato.errors import Damaged, UnknownStudy
from ostinato.storage import schema, statements
from ostinato.storage.base import BatchRecord, Entry, Lease, LogRow, Reader, Revision, Source, StudyRecord, Writer
from ostinato.storage.rows import (
    UNFIT,
    WORDS,
    batch_of,
    batch_row,
    block_of,
    block_rows,
    digest_of,
    entry_of,
    lease_of,
    lease_row,
    log_row,
    moment_of,
    revision_of,
    seal_of,
    source_of,
    source_row,
    study_of,
)
from ostinato.storage.schema import answers, revisions, studies, tables

T = TypeVar("T")
Key = TypeVar("Key", int, str)
NUMBERS = 2**63  # of batches: databases know no larger ones
AT_ONCE = 500  # candidates, or sources, in one query: databases limit how many values one has


class Backend(Protocol):
    """What differs between databases."""

    name: str  # for messages: a file, or a host and a database, never a password
    local: bool  # whether it is known to be on a disk that no other machine uses at the same time

    @property
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
        self._connection, self._backend, self.local = connection, backend, backend.local
        self._own: dict[str, Any] = {"called": name}  # how statements find the study's rows
        found = self._read(study_of, statements.STUDY_LOCKED if self.locked else statements.STUDY)
        if not found:
            raise self._unknown(name)
        self.record = found[0]
        self._own = {"in_study": self.record.id}

    def _unknown(self, name: str) -> Damaged | UnknownStudy:
        known = self._connection.execute(select(studies.c.name).order_by(studies.c.id)).scalars().all()
        if name in known:
            return Damaged(damage_in(self._backend.name, f"the index of studies does not find {name!r}"))
        listed = f"it holds {', '.join(map(repr, known))}" if known else "it holds none"
        return UnknownStudy(f"There is no study {name!r} in {self._backend.name}: {listed}.")

    def table(self) -> bytes:
        row = self._connection.execute(select(tables).where(tables.c.study == self.record.id)).first()
        try:
            fits = row is not None and row.check == seal_of(row._mapping)
        except UNFIT:
            fits = False
        if row is None or not fits:
            raise self._damage("its candidates")
        return row.data

    def block(self, number: int) -> bytes:
        found = self._read(block_of, statements.BLOCK, number=number)
        if not found:
            raise self._damage(f"block {number} of its candidates")
        return found[0]

    def blocks(self) -> list[bytes]:
        return self._read(block_of, statements.BLOCKS)

    def answer(self) -> bytes | None:
        moment = moment_of(self.record)
        row = self._connection.execute(select(answers).where(answers.c.study == self.record.id)).first()
        try:
            fits = row is not None and row.check == seal_of({"study": row.study, "moment": row.moment}, row.data)
        except (TypeError, ValueError):
            return None
        return row.data if row is not None and fits and row.moment == moment else None

    def batches(self, *, since: StudyRecord | None = None) -> list[BatchRecord]:
        if since is None:
            return self._read(batch_of, statements.ALL_BATCHES)
        observed = self._read(batch_of, statements.OBSERVED_SINCE, below=-since.observed)
        return observed + self._read(batch_of, statements.ASKED_SINCE, from_id=since.asked)

    def batch(self, number: int) -> BatchRecord | None:
        found = self._read(batch_of, statements.BATCH, in_batch=number) if abs(number) < NUMBERS else []
        return found[0] if found else None

    def batches_of(self, numbers: Collection[int]) -> dict[int, BatchRecord]:
        possible = [number for number in numbers if abs(number) < NUMBERS]
        found = (self._read(batch_of, statements.BATCHES, numbers=part) for part in _parts(possible))
        return {batch.facts.batch.id: batch for part in found for batch in part}

    def unfinished(self) -> list[BatchRecord]:
        return self._read(batch_of, statements.UNFINISHED)

    def with_room(self, candidates: Collection[int]) -> list[BatchRecord]:
        found = (self._read(batch_of, statements.WITH_ROOM, candidates=part) for part in _parts(candidates))
        return [batch for part in found for batch in part]

    def log(self, after: int = 0, most: int = 1_000) -> list[Entry]:
        return self._read(entry_of, statements.LOG, after=after, most=most)

    def first_numbers(self, rows: Sequence[int]) -> dict[int, int]:
        if not rows or self.record.told == self.record.numbered:  # every row holds one
            return {row: row for row in rows}
        wanted, before, found = set(rows), self._told_before(min(rows)), dict[int, int]()
        for row in self._rows(statements.REPEATS, low=min(rows), high=max(rows)):
            if row.number in wanted:
                found[row.number] = before + 1
            before += row.repeats
        return found

    def row_of(self, measurement: int) -> tuple[Entry, int] | None:
        record = self.record
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
        record = self.record
        if record.told == record.numbered or row > record.told:
            return min(row - 1, record.numbered)
        if row <= record.told // 2:
            return int(self._rows(statements.TOLD_BETWEEN, low=1, high=row - 1).scalar() or 0)
        return record.numbered - int(self._rows(statements.TOLD_BETWEEN, low=row, high=record.told).scalar() or 0)

    def revisions(self, batch: int | None = None) -> list[Revision]:
        if batch is None:
            return self._read(revision_of, statements.REVISIONS)
        return self._read(revision_of, statements.REVISIONS_OF_BATCH, in_batch=batch)

    def last_revision(self) -> Revision | None:
        found = self._read(revision_of, statements.LAST_REVISION, from_number=self.record.revised)
        return found[-1] if found else None

    def sources(self, numbers: Collection[int]) -> dict[int, Source]:
        found = (self._read(source_of, statements.SOURCES, numbers=part) for part in _parts(numbers))
        return dict(source for part in found for source in part)

    def overlapping(self, batch: int, start: int, count: int) -> list[Entry]:
        before = self._read(entry_of, statements.LAST_UP_TO, in_batch=batch, low=start)
        within = self._read(entry_of, statements.BETWEEN, in_batch=batch, low=start, high=start + count)
        return [*(entry for entry in before if entry.start + entry.told.count > start), *within]

    def leases(self, batch: int | None = None) -> list[Lease]:
        if batch is None:
            return self._read(lease_of, statements.LEASES)
        return self._read(lease_of, statements.LEASES_OF_BATCH, in_batch=batch)

    def leases_of(self, batches: Collection[int]) -> list[Lease]:
        found = (self._read(lease_of, statements.LEASES_OF_BATCHES, numbers=part) for part in _parts(batches))
        return [lease for part in found for lease in part]

    def known_source(self, source: Source) -> Source | None:
        number = self._rows(statements.SOURCE, digest=digest_of(source)).scalar()
        return None if number is None else self.sources([number])[number]

    def now(self) -> float:
        return self._backend.now(self._connection)

    def _rows(self, statement: Any, **values: Any) -> Result[Any]:
        return self._connection.execute(statement, self._own | values)

    def _read(self, record_of: Callable[[Row[Any]], T | None], statement: Any, **values: Any) -> list[T]:
        """What rows say, each of which has to fit its checksum; those that say nothing are left out."""
        found = list[T]()
        for row in self._connection.execute(statement, self._own | values):
            try:
                record = record_of(row)
            except UNFIT:
                raise self._damage(WORDS.get(record_of, "a row").format(row)) from None
            if record is not None:
                found.append(record)
        return found

    def _damage(self, what: str) -> Damaged:
        return Damaged(
            f"{self._backend.name} is damaged: {what} does not fit its checksum. Nothing was changed; `ostinato export "
            "--damaged` rescues the rest, or restore a copy."
        )


class SQLWriter(SQLReader, Writer):
    """The same, with the study's row locked."""

    locked = True

    def add_batches(self, batches: Sequence[BatchRecord]) -> None:
        self._connection.execute(statements.ADD_BATCH, [batch_row(self.record.id, each) for each in batches])

    def change_batches(self, batches: Sequence[BatchRecord]) -> None:
        rows = [batch_row(self.record.id, each) for each in batches]
        changes = [{**row, "in_study": row.pop("study"), "in_batch": row.pop("id")} for row in rows]
        self._connection.execute(statements.CHANGE_BATCH, changes)

    def change_table(self, data: bytes, blocks: Sequence[bytes] = (), after: int = 0) -> None:
        study, stored = self.record.id, schema.blocks
        seal = seal_of({"study": study, "data": data})
        self._connection.execute(update(tables).where(tables.c.study == study).values(data=data, check=seal))
        self._connection.execute(delete(stored).where(stored.c.study == study, stored.c.number >= after))
        if blocks:
            self._connection.execute(insert(stored), block_rows(study, blocks, after))

    def keep_answer(self, data: bytes) -> None:
        place = {"study": self.record.id, "moment": moment_of(self.record)}
        self._connection.execute(delete(answers).where(answers.c.study == self.record.id))
        self._connection.execute(insert(answers), {**place, "data": data, "check": seal_of(place, data)})

    def append_all(self, rows: Sequence[LogRow]) -> list[Entry]:
        first, at = self.record.told + 1, self.now()
        numbers = self._numbers_of({row.source for row in rows if row.source is not None} - {Source()})
        entries = [
            Entry(number, row.batch, row.start, row.told, at, numbers.get(row.source, 0), row.began)
            for number, row in enumerate(rows, first)
        ]
        self._connection.execute(statements.APPEND, [log_row(self.record.id, entry) for entry in entries])
        self.record = replace(self.record, told=self.record.told + len(entries))
        return entries

    def _numbers_of(self, sources: Collection[Source]) -> Mapping[Source | None, int]:
        """The numbers of sources, which are stored where they are new: all of them in a query or two."""
        digests = {source: digest_of(source) for source in sources}
        found = dict[str, int]()
        for part in _parts(digests.values()):
            for number, digest in self._read(tuple[int, str], statements.SOURCE_NUMBERS, digests=part):
                found.setdefault(digest, number)
        new = {digest: source for source, digest in digests.items() if digest not in found}
        if new:
            first, study = int(self._rows(statements.LAST_SOURCE).scalar() or 0) + 1, self.record.id
            found |= {digest: number for number, digest in enumerate(new, first)}
            rows = [source_row(study, found[digest], source) for digest, source in new.items()]
            self._connection.execute(statements.ADD_SOURCE, rows)
        return {source: found[digest] for source, digest in digests.items()}

    def revise(self, revision: Revision) -> Revision:
        kept = replace(revision, at=self.now())
        data = b"" if kept.value is None else np.array([kept.value], dtype="<f8").tobytes()
        row = {
            "study": self.record.id, "number": self.record.revised + 1, "measurement": kept.measurement,
            "row": kept.row, "place": kept.place, "batch": kept.batch, "data": data, "at": kept.at, "why": kept.why,
        }  # fmt: skip
        self._connection.execute(insert(revisions), {**row, "check": seal_of(row)})
        self.record = replace(self.record, revised=self.record.revised + 1)
        return kept

    def lease(self, lease: Lease) -> None:
        self.change_leases([lease], [lease])

    def release(self, lease: Lease) -> None:
        self.change_leases([lease], [])

    def change_leases(self, gone: Sequence[Lease], new: Sequence[Lease]) -> None:
        study = self.record.id
        if gone:
            which = [{"in_study": study, "in_batch": each.batch, "low": each.start} for each in gone]
            self._connection.execute(statements.RELEASE, which)
        if new:
            self._connection.execute(statements.ADD_LEASE, [lease_row(study, each) for each in new])

    def change(self, record: StudyRecord) -> None:
        row = asdict(record)
        seal = seal_of(row)
        row.pop("id")  # a key that is set, to whatever, makes SQLite look through all rows that refer to it
        self._connection.execute(statements.CHANGE_STUDY, {**row, "check": seal, "in_study": record.id})
        self.record = record


def _parts(given: Iterable[Key]) -> list[list[Key]]:
    """As many at a time as one query takes."""
    wanted = sorted(set(given))
    return [wanted[start : start + AT_ONCE] for start in range(0, len(wanted), AT_ONCE)]


def damage_in(name: str, cause: str) -> str:
    """The words for a storage that cannot be read."""
    return (
        f"{name} is damaged, or no storage of studies ({cause}): nothing was changed. `ostinato verify` says what is "
        "wrong, and `ostinato export --damaged` rescues what can be read; or restore a copy."
    )
