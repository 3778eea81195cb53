"""Runs that measure nothing at the moment, as others see them: noted in the study while that lasts.

A run that is killed cannot take its note back. So a note says until when it will be heard of again, and which failures
were being judged: the next run takes these back.
"""

from contextlib import suppress

import msgspec
from msgspec.structs import replace

from ostinato.errors import OstinatoError
from ostinato.running.pausing import Pause
from ostinato.storage import Reader, Writer
from ostinato.study.records import PausedRun
from ostinato.study.revise import failures_of, revise
from ostinato.study.settings import pauses_in, with_pauses
from ostinato.study.stored import Stored
from ostinato.study.workers import is_gone

UNJUDGED = "a run was killed before it was known whether it was an outage"


class Note(msgspec.Struct, frozen=True):
    """Of a run; moments are seconds since 1970.

    next_try: None where it has given up. until: when it is heard of again, at the latest. judged: batches and repeats
    of failures that are to be taken back if it is not.
    """

    worker: str
    since: float
    failure: str
    next_try: float | None
    until: float
    judged: tuple[tuple[int, int], ...] = ()

    def is_lost(self, now: float) -> bool:
        """Whether its run has ended without a word."""
        return self.next_try is not None and (self.until <= now or is_gone(self.worker))


def keep(stored: Stored, worker: str, pause: Pause | None, longest: float) -> None:
    """Where a run stands, None when it goes on. longest: seconds that a try may take.

    Where the storage does not answer nothing is noted: measurements matter more.
    """

    def change(writer: Writer) -> None:
        others = [note for note in notes_of(writer) if note.worker != worker]
        _keep(writer, others if pause is None else [*others, _note(writer.now(), worker, pause, longest)])

    with suppress(OstinatoError):
        stored.write(change)


def recover(stored: Stored) -> None:
    """Before a run: what one that was killed had no time to judge is taken back, and what has ended is forgotten."""

    def change(writer: Writer) -> None:
        notes, now = notes_of(writer), writer.now()
        lost = [note for note in notes if note.is_lost(now)]
        judged = {place for note in lost for place in note.judged}
        numbers = [n for batch, at in sorted(judged) for n in failures_of(writer, batch, range(at, at + 1))]
        revise(writer, dict.fromkeys(numbers), UNJUDGED, stored.outcome)
        _keep(writer, [note for note in notes if note not in lost and note.next_try is not None])

    if stored.read(notes_of):
        stored.write(change)


def paused_runs(reader: Reader) -> tuple[PausedRun, ...]:
    """The runs that measure nothing, as they are told of."""
    now = reader.now()
    return tuple(PausedRun(note.since, note.failure, note.next_try, note.is_lost(now)) for note in notes_of(reader))


def notes_of(reader: Reader) -> list[Note]:
    """What runs have noted; nothing where that cannot be read."""
    try:
        return msgspec.convert(pauses_in(reader.record.settings), list[Note])
    except msgspec.ValidationError:
        return []


def _note(now: float, worker: str, pause: Pause, longest: float) -> Note:
    next_try = None if pause.next_try is None else now + pause.next_try
    judged = tuple((task.batch, task.start) for task in pause.judged)
    return Note(worker, now - pause.since, pause.failure, next_try, now + (pause.next_try or 0.0) + longest, judged)


def _keep(writer: Writer, notes: list[Note]) -> None:
    text = with_pauses(writer.record.settings, notes)
    if text != writer.record.settings:
        writer.change(replace(writer.record, settings=text))
