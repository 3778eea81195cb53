"""Single measurements of a study, the newest first: only the rows of the log that are shown are read."""

import msgspec

from ostinato.storage import Entry, Reader
from ostinato.study import Measurement, Study
from ostinato.study.origins import Sources
from ostinato.study.records import by_place, measurements_of
from ostinato.study.view import measurements_in

PAGE = 50


class Page(msgspec.Struct, frozen=True):
    """Measurements, the newest first. earlier: the number to go on from; 0 where that is all."""

    measurements: tuple[Measurement, ...]
    newest: int
    earlier: int


def page_before(study: Study, before: int | None) -> Page:
    """The measurements up to a number."""
    return study.reading(lambda reader: _page(reader, before))


def _page(reader: Reader, before: int | None) -> Page:
    newest = reader.record.numbered
    last = newest if before is None else min(max(before, 1), newest)
    at = reader.row_of(last) if newest else None
    if at is None:
        return Page((), newest, 0)
    row = at[0].number
    entries = reader.log(after=max(0, row - PAGE), most=min(PAGE, row))
    found = [each for each in _told(reader, entries[::-1], last) if each.number <= last]
    shown = sorted(found, key=lambda each: -each.number)[:PAGE]
    return Page(tuple(shown), newest, max(shown[-1].number - 1, 0) if shown else 0)


def _told(reader: Reader, newest_first: list[Entry], last: int) -> list[Measurement]:
    """As many as make a page, from the newest row of the log on."""
    firsts = reader.first_numbers([entry.number for entry in newest_first])
    batches = reader.batches_of({entry.batch for entry in newest_first})
    revised, sources = by_place(reader.revisions()), Sources().read(reader, newest_first)
    found = list[Measurement]()
    for entry in newest_first:
        own = batches[entry.batch].facts.index, sources[entry.source], firsts[entry.number], revised.get(entry.number)
        found += measurements_of(entry, *own)
        if sum(each.number <= last for each in found) >= PAGE:
            break
    return found


def of_candidate(study: Study, index: int, before: int | None) -> Page:
    """The measurements of one candidate that count."""

    def find(reader: Reader) -> Page:
        batches = [batch for batch in reader.batches() if batch.facts.index == index]
        told = [each for each in measurements_in(reader, batches) if before is None or each.number <= before]
        shown = told[::-1][:PAGE]
        earlier = shown[-1].number - 1 if len(told) > PAGE else 0
        return Page(tuple(shown), reader.record.numbered, earlier)

    return study.reading(find)


def of_repeats(study: Study, batch: int, repeats: range) -> list[Measurement]:
    """What was told of some repeats of a batch, what was taken back or skipped too, in their order."""

    def find(reader: Reader) -> list[Measurement]:
        record = reader.batch(batch)
        entries = reader.overlapping(batch, repeats.start, len(repeats)) if record is not None else []
        if record is None or not entries:
            return []
        firsts, revised = reader.first_numbers([entry.number for entry in entries]), by_place(reader.revisions(batch))
        sources, found = Sources().read(reader, entries), list[Measurement]()
        for entry in entries:
            own = sources[entry.source], firsts[entry.number], revised.get(entry.number)
            found += measurements_of(entry, record.facts.index, *own)
        return sorted((each for each in found if each.repeat in repeats), key=lambda each: each.repeat)

    return study.reading(find)


def one(study: Study, number: int) -> Measurement | None:
    """A measurement by its number."""
    found = page_before(study, number).measurements
    return next((each for each in found if each.number == number), None)
