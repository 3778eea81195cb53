"""Records as rows of tables, each with the checksum that seals it: `…_row` makes a row, `…_of` reads it.

What reads a row raises an error of any kind where the row is damaged (`UNFIT`): it may hold anything.
"""

from collections.abc import Callable, Mapping, Sequence
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
from ostinato.storage.values import Kind, StoredFeedback

# Columns that the first schema did not have, those together that came together.
LATER = (
    ("extremes",),
    ("revised",),
    ("withdrawn",),
    ("replaced",),
    ("retired",),
    ("source", "began"),
    ("seconds", "since"),
)
LOG = ("study", "number", "batch", "start", "repeats", "kind", "source", "began")  # what is sealed of it, with its data
UNFIT = (TypeError, ValueError, OverflowError, AttributeError, msgspec.DecodeError)  # what damaged rows raise
_TOGETHER = {name: columns for columns in LATER for name in columns}
_BATCH = [column.name for column in batches.columns if column.name != "check"]


def seal_of(values: Mapping[Any, object], data: bytes = b"") -> int:
    """The checksum of a row: CRC-32 of what it says, in one canonical form, and of the many bytes that belong to it.

    Columns that came with later schemas count where any of them says anything: older rows keep their checksums.
    """
    said = [
        value
        for name, value in values.items()
        if name != "check" and (value or name not in _TOGETHER or any(values[each] for each in _TOGETHER[name]))
    ]
    facts = [each.hex() if isinstance(each, bytes) else each for each in said]
    return crc32(data, crc32(msgspec.json.encode(facts)))


def study_of(row: Row[Any]) -> StudyRecord:
    """The study that a row says."""
    values: dict[str, Any] = dict(row._mapping)
    if values.pop("check") != seal_of(values):
        raise ValueError(row.name)
    return StudyRecord(**values)


def moment_of(record: StudyRecord) -> str:
    """By which two moments of a study are known to be the same: all that its row says."""
    return sha256(msgspec.msgpack.encode(record)).hexdigest()


def block_of(row: Row[Any]) -> bytes:
    """The block of a large table that a row holds."""
    if row.check != seal_of({"study": row.study, "number": row.number}, row.data):
        raise ValueError(row.number)
    return row.data


def block_rows(study: int, blocks: Sequence[bytes], after: int = 0) -> list[dict[str, Any]]:
    """Rows of a large table, numbered from `after` on."""
    places = [{"study": study, "number": number} for number in range(after, after + len(blocks))]
    return [{**place, "data": data, "check": seal_of(place, data)} for place, data in zip(places, blocks, strict=True)]


def log_row(study: int, entry: Entry) -> dict[str, Any]:
    told = entry.told
    facts = {
        "study": study, "number": entry.number, "batch": entry.batch, "start": entry.start, "repeats": told.count,
        "kind": int(told.kind), "source": entry.source, "began": entry.began,
    }  # fmt: skip
    return {**facts, "data": told.data, "at": entry.at, "check": seal_of(facts, told.data)}


def entry_of(row: Row[Any]) -> Entry:
    """The row of the log that a row says."""
    if row.check != seal_of({name: getattr(row, name) for name in LOG}, row.data):
        raise ValueError(row.number)
    told = StoredFeedback(row.repeats, Kind(row.kind), row.data)
    return Entry(row.number, row.batch, row.start, told, row.at, row.source, row.began)


def revision_of(row: Row[Any]) -> Revision:
    """The revision that a row says."""
    if row.check != seal_of(row._mapping):
        raise ValueError(row.number)
    value = float(np.frombuffer(row.data, dtype="<f8")[0]) if row.data else None
    return Revision(row.measurement, row.row, row.place, row.batch, value, row.at, row.why)


def source_row(study: int, number: int, source: Source) -> dict[str, Any]:
    row = {"study": study, "number": number, "digest": digest_of(source), "data": _json(source)}
    return {**row, "check": seal_of(row)}


@lru_cache(4_096)
def digest_of(source: Source) -> str:
    """By which a source is found among others, however long its program is; a key, also from another machine."""
    looked = Source(worker=source.worker, key=source.key, token=source.token) if source.key else source
    return sha256(_json(looked).encode()).hexdigest()


def source_of(row: Row[Any]) -> tuple[int, Source]:
    """The source that a row says, by its number."""
    if row.check != seal_of(row._mapping):
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
    return {**row, "check": seal_of(row)}


def batch_of(row: Row[Any]) -> BatchRecord:
    """The batch that a row says."""
    if row.check != seal_of(dict(zip(_BATCH, row, strict=False))):
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
    row = {
        "study": study, "batch": lease.batch, "start": lease.start, "repeats": lease.count, "worker": lease.worker,
        "until": lease.until, "seconds": lease.seconds, "since": lease.since,
    }  # fmt: skip
    return {**row, "check": seal_of(row)}


def lease_of(row: Row[Any]) -> Lease | None:
    """The lease that a row says; None where it is damaged."""
    try:
        lease = Lease(row.batch, row.start, row.repeats, row.worker, row.until, row.seconds, row.since)
        return lease if row.check == seal_of(row._mapping) else None
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
