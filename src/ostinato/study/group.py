"""Many answers in one write: of all who tell at the same time, each taken in or refused by itself."""

from collections.abc import Sequence

from ostinato.errors import OstinatoError
from ostinato.storage import Entry, Writer
from ostinato.study.intake import Intake, Report
from ostinato.study.stored import StoredStudy

LAST_ROWS_KEPT = 100_000  # batches whose last row is known


class GroupWriter:
    """Takes in groups of answers for one study. It remembers the last rows that it wrote, which need no check."""

    def __init__(self, stored: StoredStudy) -> None:
        self._stored = stored
        self._last: dict[int, int] = {}

    def take(self, requests: Sequence[Sequence[Report]]) -> list[int | OstinatoError]:
        """How many repeats of each request are new, or why it is refused: all of a request, or nothing of it.

        When this returns, all that was not refused is on disk.
        """
        tried = list[tuple[Entry, list[int | OstinatoError]]]()  # the first row of every try, and its answers

        def once(writer: Writer) -> list[int | OstinatoError]:
            self._stored.look(writer)
            for first, answers in tried:
                if writer.row(first.number) == first:  # that try was kept, though its answer was lost
                    return answers
            reports = [report for request in requests for report in request]
            intake = Intake(writer, reports, self._last, lambda row: self._stored.row(writer, row))
            found = [intake.request(request) for request in requests]
            tried.extend((first, found) for first in intake.write()[:1])
            return found

        found = self._stored.write(once)
        if len(self._last) > LAST_ROWS_KEPT:
            self._last.clear()
        return found
