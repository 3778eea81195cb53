"""Reads all that is stored of a study, and checks it against itself."""

from collections.abc import Iterator
from math import isclose, sqrt

from ostinato.candidates import head_of
from ostinato.errors import Damaged, OstinatoError
from ostinato.measurements.history import Measured
from ostinato.measurements.tally import Statistics
from ostinato.storage import Reader, Storage
from ostinato.study.revise import CountedRows, changes_of

ROUNDING = 1e-12  # sums of the same values differ by less, between processors


def verify(storage: Storage, name: str) -> list[str]:
    """What is wrong, in words; nothing where all is well."""
    problems = list(storage.patiently(storage.check))
    try:
        with storage.read(name) as reader:
            problems += _checked(reader)
    except Damaged as error:
        problems.append(str(error))
    except OstinatoError as error:
        if not problems:
            raise
        problems.append(str(error))
    return problems


def _checked(reader: Reader) -> Iterator[str]:
    """The log against the aggregates, and both against the counters."""
    yield from _checked_candidates(reader)
    record = reader.record
    batches = {batch.facts.id: batch for batch in reader.batches()}
    sums, changes = dict.fromkeys(batches, CountedRows()), changes_of(reader.revisions())
    held: dict[int, list[tuple[int, int]]] = {number: [] for number in batches}
    numbered, rows, sources = 0, 0, set[int]()
    while entries := reader.log(after=rows):
        for entry in entries:
            if entry.number != rows + 1:
                yield f"rows {rows + 1} to {entry.number - 1} of the log are missing"
            rows = entry.number
            if entry.batch not in batches:
                yield f"row {entry.number} of the log is of batch {entry.batch}, which is missing"
                continue
            sums[entry.batch] = sums[entry.batch].plus(entry, numbered + 1, changes.get(entry.number, {}))
            held[entry.batch].append((entry.start, entry.start + entry.told.count))
            numbered += entry.told.count
            sources.add(entry.source)
    yield from _checked_sources(reader, sources - {0})
    for number, batch in batches.items():
        found, facts = sums[number], batch.facts
        measured = found.measured
        counts = (found.failed, found.withdrawn) == (facts.failed, facts.withdrawn)
        if not (counts and _same(measured.statistics, facts.statistics)):
            yield f"batch {number} says {batch.facts.statistics}, and its log {measured.statistics}"
        if batch.facts.told.at and not _same_values(measured, batch.facts.measured):
            yield f"batch {number} says that its values lie between others than its log does"
        if any(
            stop > start for (_, stop), (start, _) in zip(sorted(held[number]), sorted(held[number])[1:], strict=False)
        ):
            yield f"batch {number} has a repeat with two values"
    seen = (sum(number >= 0 for number in batches), sum(number < 0 for number in batches), rows, numbered)
    counted = (record.asked, record.observed, record.told, record.numbered)
    if seen != counted:
        yield f"the study counts {counted}, and {seen} are there"


def _same(one: Statistics, other: Statistics) -> bool:
    """Whether two sums are of the same values, but for rounding."""
    spread = one.squares + one.n * one.mean**2
    return (
        one.n == other.n
        and isclose(one.mean, other.mean, rel_tol=ROUNDING, abs_tol=ROUNDING * sqrt(spread))
        and isclose(one.squares, other.squares, rel_tol=ROUNDING, abs_tol=ROUNDING * spread)
        and isclose(one.known, other.known, rel_tol=ROUNDING)
    )


def _same_values(one: Measured, other: Measured) -> bool:
    """Whether two records have the same extremes, and the same of the rest."""
    return (one.points, one.at) == (other.points, other.at) and _same(one.rest, other.rest)


def _checked_sources(reader: Reader, named: set[int]) -> Iterator[str]:
    """Whether all are there that the log names; checksums are looked at as they are read."""
    missing = sorted(named - reader.sources(named).keys())
    if missing:
        yield f"the log names sources of values that are missing: {', '.join(map(str, missing))}"


def _checked_candidates(reader: Reader) -> Iterator[str]:
    """Whether all rows are there; checksums are looked at as they are read."""
    told, there = len(head_of(reader.table()).blocks), len(reader.blocks())
    if told != there:
        yield f"its candidates are in {told} blocks, and {there} are there"
