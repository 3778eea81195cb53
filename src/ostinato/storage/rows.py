"""Records as rows of tables, each with the checksum that seals it: `…_row` makes a row, `…_of` reads it.

What reads a row raises an error of any kind where the row is damaged (`UNFIT`): it may hold anything.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any
from zlib import crc32

import msgspec
import numpy as np
from sqlalchemy import Row

from ostinato.measurements.batches import BatchFacts
from ostinato.measurements.history import Measured, Points
from ostinato.measurements.tally import Statistics
from ostinato.records import Batch
from ostinato.storage.base import BatchRecord, Entry, Lease, Revision, Source, StudyRecord
from ostinato.storage.schema import batches
from ostinato.storage.values import Kind, Told, checksum, checksum_of_log

LATER = ("extremes", "revised", "withdrawn", "replaced", "retired")  # columns that the first schema did not have
UNFIT = (TypeError, ValueError, OverflowError, AttributeError, msgspec.DecodeError)  # what damaged rows raise
_BATCH = [column.name for column in batches.columns if column.name != "check"]


def seal_of(columns: Iterable[tuple[str, object]]) -> int:
    """A checksum; of what came with later schemas, only what says anything: older rows keep theirs."""
    return checksum(*(value for name, value in columns if name not in LATER or value))


def study_of(row: Row[Any]) -> StudyRecord:
    """The study that a row says."""
    values: dict[str, Any] = dict(row._mapping)
    if values.pop("check") != seal_of(values.items()):
        raise ValueError(row.name)
    return StudyRecord(**values)


def moment_of(record: StudyRecord) -> str:
    """By which two moments of a study are known to be the same: all that its row says."""
    return sha256(msgspec.msgpack.encode(record)).hexdigest()


def seal_of_bytes(data: bytes, *facts: object) -> int:
    """A checksum of many bytes, and of where they belong."""
    return crc32(data, checksum(*facts))


def block_of(row: Row[Any]) -> bytes:
    """The block of a large table that a row holds."""
    if row.check != seal_of_bytes(row.data, row.study, row.number):
        raise ValueError(row.number)
    return row.data


def block_rows(study: int, blocks: Sequence[bytes], after: int = 0) -> list[dict[str, Any]]:
    """Rows of a large table, numbered from `after` on."""
    return [
        {"study": study, "number": number, "data": data, "check": seal_of_bytes(data, study, number)}
        for number, data in enumerate(blocks, after)
    ]


def log_row(study: int, entry: Entry) -> dict[str, Any]:
    told = entry.told
    return {
        "study": study, "number": entry.number, "batch": entry.batch, "start": entry.start, "repeats": told.count,
        "kind": int(told.kind), "data": told.data, "at": entry.at, "source": entry.source, "began": entry.began,
        "check": checksum_of_log((study, entry.number, entry.batch, entry.start), told, entry.source, entry.began),
    }  # fmt: skip


def entry_of(row: Row[Any]) -> Entry:
    """The row of the log that a row says."""
    told = Told(row.repeats, Kind(row.kind), row.data)
    place = (row.study, row.number, row.batch, row.start)
    if row.check != checksum_of_log(place, told, row.source, row.began):
        raise ValueError(row.number)
    return Entry(row.number, row.batch, row.start, told, row.at, row.source, row.began)


def revision_of(row: Row[Any]) -> Revision:
    """The revision that a row says."""
    values: dict[str, Any] = dict(row._mapping)
    if values.pop("check") != checksum(*values.values()):
        raise ValueError(row.number)
    value = float(np.frombuffer(row.data, dtype="<f8")[0]) if row.data else None
    return Revision(row.measurement, row.row, row.place, row.batch, value, row.at, row.why)


def source_row(study: int, number: int, source: Source) -> dict[str, Any]:
    row = {"study": study, "number": number, "digest": digest_of(source), "data": _json(source)}
    return {**row, "check": checksum(*row.values())}


@lru_cache(4_096)
def digest_of(source: Source) -> str:
    """By which a source is found among others, however long its program is; a key, also from another machine."""
    looked = Source(worker=source.worker, key=source.key, token=source.token) if source.key else source
    return sha256(_json(looked).encode()).hexdigest()


def source_of(row: Row[Any]) -> tuple[int, Source]:
    """The source that a row says, by its number."""
    if row.check != checksum(row.study, row.number, row.digest, row.data):
        raise ValueError(row.number)
    return row.number, msgspec.json.decode(row.data, type=Source)


def _json(source: Source) -> str:
    """Without a key or a token where there is none: so are those of before they were stored."""
    facts = msgspec.structs.asdict(source)
    facts = {name: value for name, value in facts.items() if name not in ("key", "content", "token") or value}
    return msgspec.json.encode(facts).decode()


def batch_row(study: int, record: BatchRecord) -> dict[str, Any]:
    facts, batch, told = record.facts, record.facts.batch, record.facts.told
    row = {
        "study": study, "id": batch.id, "candidate": batch.index, "repeats": batch.repeats, "wanted": batch.wanted,
        "capped": batch.capped, "truncated": batch.truncated, "round": batch.round, "made": record.made,
        "reason": record.reason, "leased": record.leased, "failed": facts.failed, "n": int(told.statistics.n),
        "mean": float(told.statistics.mean), "squares": float(told.statistics.squares),
        "known": float(told.statistics.known), "first": facts.first, "last": record.last, "closed": facts.closed,
        "extremes": "", "withdrawn": facts.withdrawn, "replaced": facts.replaced,
    }  # fmt: skip
    if told.at:
        rest = [float(each) for each in msgspec.structs.astuple(told.rest)]
        row["extremes"] = msgspec.json.encode((told.points, rest, told.at)).decode()
    return {**row, "check": seal_of(row.items())}


def batch_of(row: Row[Any]) -> BatchRecord:
    """The batch that a row says."""
    if row.check != seal_of(zip(_BATCH, row, strict=False)):
        raise ValueError(row.id)
    told = Measured(Statistics(row.n, row.mean, row.squares, row.known))
    if row.extremes:
        points, rest, at = msgspec.json.decode(row.extremes, type=tuple[Points, tuple[float, ...], int])
        told = Measured(told.statistics, points, Statistics(*rest), at)
    how = (row.repeats, row.wanted, bool(row.capped), bool(row.truncated))
    facts = BatchFacts(
        Batch(row.id, row.candidate, None, *how, round=row.round),
        told,
        failed=row.failed,
        first=row.first,
        closed=bool(row.closed),
        withdrawn=row.withdrawn,
        replaced=row.replaced,
    )
    return BatchRecord(facts, row.made, row.reason, row.leased, row.last)


def lease_row(study: int, lease: Lease) -> dict[str, Any]:
    facts = (lease.batch, lease.start, lease.count, lease.worker, lease.until)
    length = (lease.seconds, lease.since) if lease.seconds else ()  # those of before had none, and keep their checksums
    return {
        "study": study, "batch": lease.batch, "start": lease.start, "repeats": lease.count, "worker": lease.worker,
        "until": lease.until, "seconds": lease.seconds, "since": lease.since,
        "check": checksum(study, *facts, *length),
    }  # fmt: skip


def lease_of(row: Row[Any]) -> Lease | None:
    """The lease that a row says; None where it is damaged."""
    try:
        lease = Lease(row.batch, row.start, row.repeats, row.worker, row.until, row.seconds, row.since)
        return lease if row.check == lease_row(row.study, lease)["check"] else None
    except (TypeError, ValueError):
        return None


WORDS: dict[Callable[[Row[Any]], object], str] = {  # what a row is called that does not fit its checksum
    study_of: "study {0.name!r}",
    block_of: "block {0.number} of its candidates",
    batch_of: "batch {0.id}",
    entry_of: "row {0.number} of the log (batch {0.batch})",
    revision_of: "revision {0.number}",
    source_of: "source {0.number} of its values",
}
