"""What a study last answered, stored with it: it is shown as long as nothing was asked, told or changed since.

Making it takes a model of all candidates, which is seconds for a million of them; reading it takes none. Where the
study has moved on it is as good as none, and made anew.
"""

import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from ostinato.errors import OstinatoError
from ostinato.records import Best, Outlier
from ostinato.storage import Reader, StudyRecord
from ostinato.study.stored import StoredStudy

if TYPE_CHECKING:
    from ostinato.optimizer import Optimizer


class Answer(msgspec.Struct, frozen=True):
    """What takes an optimiser to say where a study stands; `version` is that of the library that said it."""

    version: str
    candidates: int | None
    retired: int
    unique: int
    switches: int
    best: Best | None = None
    outliers: tuple[Outlier, ...] = ()
    repeats_never_differ: bool = False


def answer_of(optimizer: "Optimizer", *, counts_only: bool = False) -> Answer:
    """What an optimiser says now. counts_only: where it lacks code that its answers rest on."""
    retired, total = len(optimizer.retired), optimizer.candidates
    return Answer(
        version=_version(),
        candidates=None if total is None else total - retired,
        retired=retired,
        unique=optimizer.unique,
        switches=optimizer.switches,
        best=optimizer.best() if optimizer.has_best and not counts_only else None,
        outliers=tuple(optimizer.outliers) if optimizer.steps and not counts_only else (),
        repeats_never_differ=bool(optimizer.steps and not counts_only and optimizer.core.answers.repeats_never_differ),
    )


def last_answer(stored: StoredStudy, reader: Reader) -> Answer | None:
    """What was stored, if it holds at the reader's moment; code is not stored, so that what it says may not hold."""
    data = None if stored.has_code else reader.answer()
    if data is None or not _is_ours(data):
        return None
    answer = msgspec.msgpack.decode(data, type=Answer)
    best = answer.best and replace(answer.best, candidate=stored.row(reader, answer.best.index))
    outliers = [replace(each, candidate=stored.row(reader, each.index)) for each in answer.outliers]
    return replace(answer, best=best, outliers=tuple(outliers))


def keep(stored: StoredStudy, record: StudyRecord, answer: Answer) -> None:
    """Store what was answered at a moment of the study.

    Whoever looks does not wait for those who write: where it is locked, has moved on, or cannot be written to, nothing
    is stored.
    """
    if stored.has_code:
        return
    best = answer.best and replace(answer.best, candidate=None)
    outliers = tuple(replace(each, candidate=None) for each in answer.outliers)
    data = msgspec.msgpack.encode(replace(answer, best=best, outliers=outliers))
    with suppress(OstinatoError), stored.storage.write(stored.name, wait=False) as writer:
        if writer.record == record:
            writer.keep_answer(data)


class _Version(msgspec.Struct, frozen=True):
    """Of an answer, who said it."""

    version: str


def _is_ours(data: bytes) -> bool:
    """Whether this version of the library said it: another's answers may have other fields."""
    try:
        return msgspec.msgpack.decode(data, type=_Version).version == _version()
    except msgspec.DecodeError:
        return False


def _version() -> str:
    return sys.modules["ostinato"].__version__  # the package imports higher layers, which this one must not
