"""What can still be read of a damaged study: every measurement whose own checksum, and that of its batch, is right."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from ostinato.errors import Damaged
from ostinato.storage import Entry, Reader, Source, Storage
from ostinato.study.candidates import table_of
from ostinato.study.origins import UNKNOWN
from ostinato.study.records import Measurement, by_place, measurements_of

T = TypeVar("T")
ROWS_AT_ONCE = 1_000  # rows read at once, where none of them is damaged


class Rescued:
    """The measurements of a damaged study; `lost` counts the rows of its log that could not be read, as it goes.

    The study's own row and its candidates must be whole: without them nothing can be told.
    """

    def __init__(self, storage: Storage, name: str) -> None:
        self._storage, self._name = storage, name
        self._told, self.table = self._read(lambda reader: (reader.record.told, table_of(reader)))
        self._revised = by_place(self._whole(lambda reader: reader.revisions()) or [])
        self.lost = 0

    def __iter__(self) -> Iterator[Measurement]:
        self.lost = 0
        rows: dict[int, int | None] = {}
        sources = {0: UNKNOWN}
        for number, entry in self._entries():
            if entry is not None and entry.batch not in rows:
                rows[entry.batch] = self._row(entry.batch)
            index = None if entry is None else rows[entry.batch]
            if entry is None or index is None or entry.number != number:
                self.lost += 1
            else:
                if entry.source not in sources:
                    sources[entry.source] = self._source(entry.source)
                revised = self._revised.get(entry.number)
                found = measurements_of(entry, index, sources[entry.source], revised=revised)
                yield from (each for each in found if each.value is not None)

    def _entries(self) -> Iterator[tuple[int, Entry | None]]:
        """Every row of the log with its number: many at a time, and one by one around those that are damaged."""
        for start in range(0, self._told, ROWS_AT_ONCE):
            numbers = range(start + 1, min(start + ROWS_AT_ONCE, self._told) + 1)
            found = self._whole(lambda reader, start=start: reader.log(after=start, most=ROWS_AT_ONCE))
            if found is not None and len(found) == len(numbers):
                yield from zip(numbers, found, strict=True)
                continue
            for number in numbers:
                one = self._whole(lambda reader, number=number: reader.log(after=number - 1, most=1))
                yield number, one[0] if one else None

    def _row(self, batch: int) -> int | None:
        """The candidate of a batch."""
        record = self._whole(lambda reader: reader.batch(batch))
        return None if record is None else record.facts.index

    def _source(self, number: int) -> Source:
        """Where values come from, as far as that can be read: they are worth having without."""
        found = self._whole(lambda reader: reader.sources([number])) or {}
        return found.get(number, UNKNOWN)

    def _whole(self, action: Callable[[Reader], T]) -> T | None:
        """What is read, or None where it is damaged."""
        try:
            return self._read(action)
        except Damaged:
            return None

    def _read(self, action: Callable[[Reader], T]) -> T:
        with self._storage.read(self._name) as reader:
            return action(reader)
