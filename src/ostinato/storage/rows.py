"""Records as rows of tables, each with the checksum that seals it."""

from typing import Any

import msgspec
from sqlalchemy import Row

from ostinato.measurements.history import Points
from ostinato.measurements.tally import Statistics
from ostinato.optimizer.facts import BatchFacts
from ostinato.storage.base import BatchRecord, StudyRecord
from ostinato.storage.values import checksum

LATER = ("extremes", "revised", "withdrawn", "replaced", "retired")  # columns that the first schema did not have


def study_row(record: StudyRecord) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__struct_fields__}


def batch_row(study: int, record: BatchRecord) -> dict[str, Any]:
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


def seal_of(row: dict[str, Any]) -> int:
    """A checksum; of what came with later schemas, only what says anything: older rows keep theirs."""
    return checksum(*(value for name, value in row.items() if name not in LATER or value))


def batch_of(row: Row[Any]) -> BatchRecord:
    """The batch that a row says; errors of any kind where it is damaged."""
    points, rest, at = _extremes(row.extremes)
    facts = BatchFacts(
        id=row.id,
        index=row.candidate,
        repeats=row.repeats,
        wanted=row.wanted,
        capped=bool(row.capped),
        truncated=bool(row.truncated),
        round=row.round,
        failed=row.failed,
        statistics=Statistics(row.n, row.mean, row.squares, row.known),
        first=row.first,
        closed=bool(row.closed),
        points=points,
        rest=rest,
        at=at,
        withdrawn=row.withdrawn,
        replaced=row.replaced,
    )
    return BatchRecord(facts, row.made, row.reason, row.leased, row.last)


def _extremes(text: str) -> tuple[Points, Statistics, int]:
    if not text:
        return (), Statistics(), 0
    points, rest, at = msgspec.json.decode(text, type=tuple[Points, tuple[float, ...], int])
    return points, Statistics(*rest), at
