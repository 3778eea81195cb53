"""Failures that other runs of a study have seen, at the end of its log: an outage that each sees a little of."""

from collections.abc import Iterator

import numpy as np

from ostinato.arrays import Vector
from ostinato.running.row import Row
from ostinato.running.task import Task
from ostinato.storage import Entry, Reader
from ostinato.study.origins import Sources
from ostinato.study.revise import changes_of, failed_places

ROWS = 100  # of the log, that are looked at: whoever saw more failures knows by itself what to think of them


def failed_elsewhere(reader: Reader, program: str, worker: str) -> Row:
    """The failures of other workers since anybody got a value, by the storage's clock; what was taken back left out.

    Of runs with the same program only: another one may be another instrument, and what people told by hand they have
    judged themselves. What was stored together with a value may have come before it.
    """
    entries = reader.log(after=max(0, reader.record.told - ROWS), most=ROWS)
    sources = Sources().read(reader, entries)
    alike = [entry for entry in entries if sources[entry.source].program == program]
    row = Row()
    for entry in alike:
        if not np.isnan(_values(entry)).all():
            row.work(entry.began or entry.at, entry.at)
    for entry in alike:
        if sources[entry.source].worker != worker and entry.at > row.begun:
            for task in _failed(reader, entry):
                row.fail(entry.at, task)
    return row


def _failed(reader: Reader, entry: Entry) -> Iterator[Task]:
    """The failures of a row of the log, one repeat each."""
    batch = reader.batch(entry.batch) if np.isnan(_values(entry)).any() else None
    if batch is not None:
        for place in failed_places(entry, changes_of(reader.revisions(entry.batch))):
            yield Task(reader.record.name, entry.batch, batch.facts.index, None, entry.start + place, 1)


def _values(entry: Entry) -> Vector:
    return entry.told.numbers()[: entry.told.count]
