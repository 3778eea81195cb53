"""A run that measures nothing at the moment notes that in its study; what a killed one left behind is put right."""

from contextlib import suppress
from time import monotonic
from types import TracebackType
from uuid import uuid4

from msgspec.structs import replace

from ostinato.errors import OstinatoError
from ostinato.running.pausing import Pause
from ostinato.storage import Reader, Writer
from ostinato.study.heartbeat import Heartbeat
from ostinato.study.paused import Note, notes_of
from ostinato.study.revise import failures_of, revise
from ostinato.study.settings import with_pauses
from ostinato.study.stored import StoredStudy
from ostinato.study.workers import this_worker

UNJUDGED = "a run was killed before it was known whether it was an outage"


class PauseNote:
    """The note of one run: it says where the run stands, for so many seconds, and a thread renews it in time.

    So others know soon that the run has ended without a word, also on machines from where its process is not seen.
    """

    def __init__(self, stored: StoredStudy, lease: float) -> None:
        self._stored, self._lease, self._run = stored, lease, f"{this_worker()}|{uuid4().hex}"
        self._heart = Heartbeat(lambda _: self._store(patient=False), lease)
        self._kept: tuple[float, Pause] | None = None  # what it says, and when that was said

    def __enter__(self) -> "PauseNote":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._heart.__exit__(kind, error, trace)

    def keep(self, pause: Pause | None) -> None:
        """Where the run stands; None when it goes on.

        Where the storage does not answer nothing is noted: measurements matter more.
        """
        self._kept = None if pause is None else (monotonic(), pause)
        if pause is None or pause.next_try is None:
            self._heart.let_go(self._run)  # it goes on, or has given up, which is to be read for ever
        with suppress(OstinatoError):
            self._store()
        if pause is not None and pause.next_try is not None:
            self._heart.hold(self._run)

    def _store(self, *, patient: bool = True) -> None:
        def change(writer: Writer) -> None:
            others, kept = [note for note in notes_of(writer) if note.worker != self._run], self._kept
            own = [] if kept is None else [self._note(writer.now(), monotonic() - kept[0], kept[1])]
            _keep(writer, [*others, *own])

        if patient:
            self._stored.write(change)
        else:
            with self._stored.storage.write(self._stored.name) as writer:
                change(writer)

    def _note(self, now: float, ago: float, pause: Pause) -> Note:
        """As it is to be read now; it was said some seconds ago."""
        next_try = None if pause.next_try is None else now + pause.next_try - ago
        judged = tuple((task.batch, task.start) for task in pause.judged)
        since, until = now - pause.since - ago, now + self._lease
        return Note(self._run, since, pause.failure, next_try, until, judged, self._lease, pause.paused)


class Recovery:
    """What runs that were killed had no time to judge is taken back: before a run, and now and then while it lasts.

    Later, because a run on another machine is known to be lost only when its note is over. seconds: between two looks.
    """

    def __init__(self, stored: StoredStudy, seconds: float) -> None:
        self._stored, self._seconds = stored, seconds
        self._next = monotonic() + seconds

    def looked(self) -> bool:
        """See whether there is anything to take back, when it is time for that; returns whether it was."""
        if monotonic() < self._next:
            return False
        self._next = monotonic() + self._seconds
        recover(self._stored, forget=False)
        return True


def recover(stored: StoredStudy, *, forget: bool = True) -> None:
    """Take back what a run that was killed had no time to judge. forget: also that others have given up."""

    def lost_of(reader: Reader) -> list[Note]:
        now, local = reader.now(), reader.local
        return [note for note in notes_of(reader) if note.is_lost(now, local=local)]

    def change(writer: Writer) -> None:
        lost = lost_of(writer)
        judged = {place for note in lost for place in note.judged}
        numbers = [n for batch, at in sorted(judged) for n in failures_of(writer, batch, range(at, at + 1))]
        revise(writer, dict.fromkeys(numbers), UNJUDGED, stored.outcome)
        left = [note for note in notes_of(writer) if note not in lost]
        _keep(writer, [note for note in left if note.next_try is not None or not forget])

    if stored.read(notes_of if forget else lost_of):
        stored.write(change)


def _keep(writer: Writer, notes: list[Note]) -> None:
    """Notes change nothing of what is answered: the last answer holds as it did."""
    text = with_pauses(writer.record.settings, notes)
    if text != writer.record.settings:
        answer = writer.answer()
        writer.change(replace(writer.record, settings=text))
        if answer is not None:
            writer.keep_answer(answer)
