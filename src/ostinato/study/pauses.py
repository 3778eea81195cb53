"""A run that measures nothing at the moment notes that in its study; what a killed one left behind is put right."""

from contextlib import suppress

from msgspec.structs import replace

from ostinato.errors import OstinatoError
from ostinato.running.pausing import Pause
from ostinato.storage import Writer
from ostinato.study.paused import Note, notes_of
from ostinato.study.revise import failures_of, revise
from ostinato.study.settings import with_pauses
from ostinato.study.stored import Stored

UNJUDGED = "a run was killed before it was known whether it was an outage"


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
        lost = [note for note in notes if note.is_lost(now, local=writer.local)]
        judged = {place for note in lost for place in note.judged}
        numbers = [n for batch, at in sorted(judged) for n in failures_of(writer, batch, range(at, at + 1))]
        revise(writer, dict.fromkeys(numbers), UNJUDGED, stored.outcome)
        _keep(writer, [note for note in notes if note not in lost and note.next_try is not None])

    if stored.read(notes_of):
        stored.write(change)


def _note(now: float, worker: str, pause: Pause, longest: float) -> Note:
    next_try = None if pause.next_try is None else now + pause.next_try
    judged = tuple((task.batch, task.start) for task in pause.judged)
    return Note(worker, now - pause.since, pause.failure, next_try, now + (pause.next_try or 0.0) + longest, judged)


def _keep(writer: Writer, notes: list[Note]) -> None:
    text = with_pauses(writer.record.settings, notes)
    if text != writer.record.settings:
        writer.change(replace(writer.record, settings=text))
