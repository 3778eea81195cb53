"""Records as rows of tables, each with the checksum that seals it."""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any
from zlib import crc32

import msgspec
from sqlalchemy import Row

from ostinato.measurements.batches import BatchFacts
from ostinato.measurements.history import Measured, Points
from ostinato.measurements.tally import Statistics
from ostinato.records import Batch
from ostinato.storage.base import BatchRecord, Entry, Lease, Source, StudyRecord
from ostinato.storage.schema import batches
from ostinato.storage.values import checksum, checksum_of_log

LATER = ("extremes", "revised", "withdrawn", "replaced", "retired")  # columns that the first schema did not have


_BATCH = [column.name for column in batches.columns if column.name != "check"]


def study_row(record: StudyRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def moment_of(record: StudyRecord) -> str:
    """By which two moments of a study are known to be the same: all that its row says."""
    return sha256(msgspec.msgpack.encode(record)).hexdigest()


def seal_of_bytes(data: bytes, *facts: object) -> int:
    """A checksum of many bytes, and of where they belong."""
    return crc32(data, checksum(*facts))


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


def source_row(study: int, number: int, source: Source) -> dict[str, Any]:
    row = {"study": study, "number": number, "digest": digest_of(source), "data": _json(source)}
    return {**row, "check": checksum(*row.values())}


@lru_cache(4_096)
def digest_of(source: Source) -> str:
    """By which a source is found among others, however long its program is; a key, also from another machine."""
    looked = Source(worker=source.worker, key=source.key, token=source.token) if source.key else source
    return sha256(_json(looked).encode()).hexdigest()


def source_of(row: Row[Any]) -> Source:
    """The source that a row says; errors of any kind where it is damaged."""
    if row.check != checksum(row.study, row.number, row.digest, row.data):
        raise ValueError(row.number)
    return msgspec.json.decode(row.data, type=Source)


def _json(source: Source) -> str:
    """Without a key or a token where there is none: so are those of before they were stored."""
    facts = msgspec.structs.asdict(source)
    facts = {name: value for name, value in facts.items() if name not in ("key", "content", "token") or value}
    return msgspec.json.encode(facts).decode()


def batch_row(study: int, record: BatchRecord) -> dict[str, Any]:
    facts, batch, statistics = record.facts, record.facts.batch, record.facts.statistics
    return {
        "study": study, "id": facts.id, "candidate": facts.index, "repeats": facts.repeats, "wanted": batch.wanted,
        "capped": batch.capped, "truncated": batch.truncated, "round": batch.round, "made": record.made,
        "reason": record.reason, "leased": record.leased, "failed": facts.failed, "n": int(statistics.n),
        "mean": float(statistics.mean), "squares": float(statistics.squares), "known": float(statistics.known),
        "first": facts.first, "last": record.last, "closed": facts.closed,
        "extremes": _as_text(facts.told) if facts.told.at else "",
        "withdrawn": facts.withdrawn, "replaced": facts.replaced,
    }  # fmt: skip


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


def _as_text(told: Measured) -> str:
    rest = told.rest
    numbers = [float(each) for each in (rest.n, rest.mean, rest.squares, rest.known)]
    return msgspec.json.encode((told.points, numbers, told.at)).decode()


def seal_of(row: dict[str, Any]) -> int:
    """A checksum; of what came with later schemas, only what says anything: older rows keep theirs."""
    return checksum(*(value for name, value in row.items() if name not in LATER or value))


def seal_of_stored(row: Row[Any]) -> int:
    """The same of a batch as it is stored, column by column."""
    return checksum(*(value for name, value in zip(_BATCH, row, strict=False) if name not in LATER or value))


def batch_of(row: Row[Any]) -> BatchRecord:
    """The batch that a row says; errors of any kind where it is damaged."""
    how = (row.repeats, row.wanted, bool(row.capped), bool(row.truncated))
    facts = BatchFacts(
        Batch(row.id, row.candidate, None, *how, round=row.round),
        Measured(Statistics(row.n, row.mean, row.squares, row.known), *_extremes(row.extremes)),
        failed=row.failed,
        first=row.first,
        closed=bool(row.closed),
        withdrawn=row.withdrawn,
        replaced=row.replaced,
    )
    return BatchRecord(facts, row.made, row.reason, row.leased, row.last)


def _extremes(text: str) -> tuple[Points, Statistics, int]:
    if not text:
        return (), Statistics(), 0
    points, rest, at = msgspec.json.decode(text, type=tuple[Points, tuple[float, ...], int])
    return points, Statistics(*rest), at
