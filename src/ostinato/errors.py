"""The one error tree. Every message names the value, the cause and the remedy.

OstinatoError
├── InvalidInput (also ValueError)
│   ├── InvalidSetting       a setting out of range: C, noise, cap, direction, …
│   ├── MissingSetting       a setting that has to be given and was not
│   ├── InvalidCandidates    an empty, non-finite or unreadable candidate set
│   ├── UnknownCandidate     a row or an index that is not among the candidates
│   ├── InvalidFeedback      measurements that cannot be true: infinite, too many, …
│   ├── UnknownBatch         feedback for a batch that was never asked, or is over
│   ├── InvalidKernel        a kernel that does not fit, or is not positive, here
│   ├── UnknownStudy         a study that is not in the storage
│   ├── StudyDiffers         a study that exists with other candidates or settings
│   └── Conflict             another value for a repeat that has one
├── Damaged                  stored facts that cannot be true: a file that was damaged
├── Unavailable              a storage that does not answer, or cannot write
├── Denied                   a server that refuses the token, or what it is used for
├── Failed                   raised by the user's function: this measurement failed
├── Outage                   raised by the user's function, or at the end of a run: nothing can be measured
├── NothingMeasured          a question that needs at least one measurement
└── NothingToAsk             every candidate has reached its cap on repeats

Warnings: OstinatoWarning ← DuplicateCandidates, IdentifierColumn, LimitedPrecision, ApproximateDraws, SlowKernel,
SurprisingMeasurements, SuspiciousMeasurement, LongMeasurements, LostWorkers, Paused, StorageAway,
FailedNotification, UnsavedValues, FewerSlots, MeasuredColumn, ConditionalParameters, PrunedTrials, DateColumn,
NumbersAsTexts, ImpossibleValue.
"""

import sys
from warnings import warn


class OstinatoError(Exception):
    """Base of all errors raised on purpose by this library. exit_code: with which a command ends."""

    exit_code = 2


class InvalidInput(OstinatoError, ValueError):
    """Something the caller gave cannot be used. Nothing was changed."""


class InvalidSetting(InvalidInput):
    """A setting is out of its range."""


class MissingSetting(InvalidInput):
    """A setting has to be given and was not."""


class InvalidCandidates(InvalidInput):
    """The candidate set is empty, not finite, or cannot be read."""


class UnknownCandidate(InvalidInput):
    """A row or an index is not among the candidates."""


class InvalidFeedback(InvalidInput):
    """Measurements were rejected. Nothing was changed."""


class UnknownBatch(InvalidInput):
    """Feedback came for a batch that was never asked, or is already over."""


class InvalidKernel(InvalidInput):
    """The kernel does not fit these candidates, or is not positive on them."""


class UnknownStudy(InvalidInput):
    """There is no study of that name in the storage."""


class StudyDiffers(InvalidInput):
    """The study exists, with other candidates or other settings."""


class Conflict(InvalidInput):
    """A repeat has a value, and another one was told. The first is kept."""


class Damaged(OstinatoError):
    """What is stored cannot be read, or does not fit its checksum."""


class Unavailable(OstinatoError):
    """The storage does not answer, or cannot write. Nothing that was acknowledged is lost.

    passing: whether it may go away by itself. busy: whether others are writing, and that is all.
    """

    def __init__(self, message: str = "", *, passing: bool = False, busy: bool = False) -> None:
        super().__init__(message)
        self.passing, self.busy = passing, busy


class Denied(OstinatoError):
    """The server refuses the token, or what it is used for."""


class Failed(OstinatoError):
    """For your own functions to raise: this measurement failed, go on without it."""


class Outage(OstinatoError):
    """For your own functions to raise: nothing can be measured at the moment, whatever the candidate."""


class NothingMeasured(OstinatoError):
    """The question needs at least one measurement."""


class NothingToAsk(OstinatoError):
    """Every candidate has reached its cap on repeats, or fails."""


class OstinatoWarning(UserWarning):
    """Base of all warnings of this library."""


class DuplicateCandidates(OstinatoWarning):
    """Identical candidate rows were merged into one."""


class FewerSlots(OstinatoWarning):
    """A plan has fewer measurements than were wanted, since there are no more."""


class IdentifierColumn(OstinatoWarning):
    """A column of the candidates probably names rows, and is taken as a setting."""


class DateColumn(OstinatoWarning):
    """A column of the candidates holds dates as texts, and is taken as a category."""


class NumbersAsTexts(OstinatoWarning):
    """A column of the candidates holds numbers among texts, and is taken as a category."""


class MeasuredColumn(OstinatoWarning):
    """A column of the candidates is called as what is measured, and is taken as a setting."""


class ConditionalParameters(OstinatoWarning):
    """An Optuna study has parameters that only some trials have, or whose range changes: they are not modelled."""


class PrunedTrials(OstinatoWarning):
    """An Optuna study has many trials that were pruned: what is recommended rests on the luckier ones."""


class ImpossibleValue(OstinatoWarning):
    """A program printed a number that its outcome does not have: it counts as a measurement that failed."""


class LimitedPrecision(OstinatoWarning):
    """Counts are so large, or noise so small, that float64 limits the answer."""


class ApproximateDraws(OstinatoWarning):
    """Posterior draws use random Fourier features, which approximate the prior."""


class SlowKernel(OstinatoWarning):
    """A kernel of the user's own takes NumPy arrays alone: a GPU waits for the processor to compute it."""


class SurprisingMeasurements(OstinatoWarning):
    """Measurements are far from anything that the prior mean and the kernel allow for."""


class SuspiciousMeasurement(OstinatoWarning):
    """A single value does not fit what all else says of its candidate."""


class LongMeasurements(OstinatoWarning):
    """A process did not run for longer than its measurements were assigned to it, and others made them too."""


class LostWorkers(OstinatoWarning):
    """Workers end while they measure."""


class Paused(OstinatoWarning):
    """Nothing can be measured: the run pauses, and tries again."""


class StorageAway(OstinatoWarning):
    """A storage does not answer, and is tried again."""


class UnsavedValues(OstinatoWarning):
    """Values could not be stored, and were put aside; or were, and are taken in now."""


class FailedNotification(OstinatoWarning):
    """The program that is to tell people of an event did not work."""


def installing(extra: str) -> str:
    """How to install what an extra adds, for the end of a message. It is on no package index."""
    return f"pip install '.[{extra}]' in a checkout, or 'WHEEL[{extra}]' with the name of the wheel's file"


def notify(message: str, category: type[OstinatoWarning]) -> None:
    """Warn, pointing at the caller's own line: the first frame outside this library."""
    level, frame = 2, sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warn(message, category, stacklevel=level)
