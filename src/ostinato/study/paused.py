"""Runs that measure nothing at the moment, as others see them: noted in the study while that lasts.

A run that is killed cannot take its note back. So a note says until when it will be heard of again, and which failures
were being judged: the next run takes these back.
"""

import msgspec

from ostinato.storage import Lease, Reader, StudyRecord
from ostinato.study.records import PausedRun
from ostinato.study.settings import pauses_in
from ostinato.study.workers import is_gone


class Note(msgspec.Struct, frozen=True):
    """Of a run; moments are seconds since 1970.

    next_try: None where it has given up. until: when it is heard of again, at the latest, which is seconds from when
    the note was last renewed. judged: batches and repeats of failures that are to be taken back if it is not.
    paused: False while it still measures.
    """

    worker: str
    since: float
    failure: str
    next_try: float | None
    until: float
    judged: tuple[tuple[int, int], ...] = ()
    seconds: float = 0.0
    paused: bool = True

    def is_lost(self, now: float, *, local: bool) -> bool:
        """Whether its run has ended without a word. local: whether the study is on this machine's own disk."""
        over = Lease(0, 0, 0, self.worker, self.until, self.seconds).is_over(now)
        return self.next_try is not None and (over or is_gone(self.worker, local=local))


def paused_runs(reader: Reader) -> tuple[PausedRun, ...]:
    """The runs that measure nothing, as they are told of."""
    now, local = reader.now(), reader.local
    return tuple(
        PausedRun(note.since, note.failure, note.next_try, note.is_lost(now, local=local))
        for note in notes_of(reader)
        if note.paused
    )


def notes_of(reader: Reader) -> list[Note]:
    """What runs have noted."""
    return notes_in(reader.record)


def notes_in(record: StudyRecord) -> list[Note]:
    """The same; nothing where that cannot be read."""
    try:
        return msgspec.convert(pauses_in(record.settings), list[Note])
    except msgspec.ValidationError:
        return []
