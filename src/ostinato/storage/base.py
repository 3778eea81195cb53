"""What a storage promises. Every storage passes the same tests (tests/storage), and a study relies on nothing else.

- **All or nothing.** What happens within `write` is kept when the block ends, and on disk before it has ended; or, if
  anything stops it, none of it happened.
- **One at a time.** Two `write` blocks on one study never overlap, in whatever processes or machines they run. `read`
  sees one moment, and no half of a `write`.
- **Values once.** Of one repeat of one batch there is one value, for ever.
- **Nothing silent.** What cannot be read, or does not fit its checksum, raises `Damaged`; a storage that does not
  answer is tried again for a while, and then raises `Unavailable`. Nothing was kept then, or all of it: telling the
  same again is safe.

Storages keep facts, and never see a posterior.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from ostinato.measurements.batches import BatchFacts
from ostinato.storage.patience import Patience
from ostinato.storage.values import StoredFeedback

SLACK = 1.5  # times its length: a lease that ends later than this from now was given by a clock that has jumped back
LONGEST = 31 * 86_400.0  # seconds of a lease that was given before lengths were stored


class StudyRecord(msgspec.Struct, frozen=True):
    """A study as it stands: settings, counters, and the state that the next decision rests on."""

    id: int
    name: str
    created: float
    settings: str
    digest: str
    budget: int | None
    state: bytes
    decided: int = 0
    asked: int = 0
    observed: int = 0
    closed: int = 0
    told: int = 0
    answered: int = 0
    failed: int = 0
    revised: int = 0
    withdrawn: int = 0
    retired: str = ""

    @property
    def numbered(self) -> int:
        """Measurements that were ever told: each has a number, for ever."""
        return self.answered + self.withdrawn


class BatchRecord(msgspec.Struct, frozen=True):
    """A batch: the facts, when and why it was asked, and how many of its repeats were handed out."""

    facts: BatchFacts
    made: float
    reason: str = ""
    leased: int = 0
    last: int = 0


class Lease(msgspec.Struct, frozen=True):
    """Repeats `start`, …, `start + count - 1` of a batch, assigned to a worker until then.

    It was given for so many seconds, at the moment `since` or when it was last renewed.
    """

    batch: int
    start: int
    count: int
    worker: str
    until: float
    seconds: float = 0.0
    since: float = 0.0

    @property
    def repeats(self) -> range:
        """Their numbers."""
        return range(self.start, self.start + self.count)

    def is_over(self, now: float) -> bool:
        """Whether its time is over: also where a clock that went back would have it last for a year."""
        longest = SLACK * self.seconds if self.seconds else LONGEST
        return not now < self.until <= now + longest


class Source(msgspec.Struct, frozen=True):
    """Where values come from: the program and its version, and on which host which worker had it. Nothing for unknown.

    token: the name of the token with which they were told over HTTP; nothing where the storage was opened directly.

    Many rows of the log share one. key: of one request, by which it is known that it was taken in before; content: a
    digest of what it said.
    """

    program: str = ""
    version: str = ""
    host: str = ""
    worker: str = ""
    key: str = ""
    content: str = ""
    token: str = ""


class LogRow(msgspec.Struct, frozen=True):
    """What is to be a row of the log: the batch, the first repeat, what was told, where it comes from, when begun."""

    batch: int
    start: int
    told: StoredFeedback
    source: Source | None = None
    began: float = 0.0


class Entry(msgspec.Struct, frozen=True):
    """A row of the log: told at this moment, begun at that one; 0 where the source or the beginning is not known."""

    number: int
    batch: int
    start: int
    told: StoredFeedback
    at: float
    source: int = 0
    began: float = 0.0

    @property
    def repeats(self) -> range:
        """The numbers of the repeats that it holds."""
        return range(self.start, self.start + self.told.count)


class Revision(msgspec.Struct, frozen=True):
    """A measurement, by its number, its row of the log and its place there, was taken back (None) or corrected."""

    measurement: int
    row: int
    place: int
    batch: int
    value: float | None
    at: float = 0.0
    why: str = ""


class TokenRecord(msgspec.Struct, frozen=True):
    """A token by which studies are reached over HTTP. Only a digest of its secret is stored.

    studies: those that it is limited to; none for all of them. expires, revoked: moments; None for never.
    """

    id: str
    name: str
    role: str
    studies: tuple[str, ...]
    digest: str
    created: float
    expires: float | None = None
    revoked: float | None = None


class Reader(ABC):
    """One moment of a study.

    record: the study as it stands. local: whether it is known to be on a disk that no other machine uses at the same
    time.
    """

    record: StudyRecord
    local: bool

    @abstractmethod
    def table(self) -> bytes:
        """Its candidates; of a large table, what its columns are."""

    @abstractmethod
    def block(self, number: int) -> bytes:
        """Some rows of a large table."""

    @abstractmethod
    def blocks(self) -> list[bytes]:
        """All its rows."""

    @abstractmethod
    def answer(self) -> bytes | None:
        """What was last answered, where the study still stands as it did then; else None."""

    @abstractmethod
    def batches(self, *, since: StudyRecord | None = None) -> list[BatchRecord]:
        """All batches, by number; or those that were asked for, or observed, since the study stood so."""

    @abstractmethod
    def batch(self, number: int) -> BatchRecord | None:
        """One batch."""

    @abstractmethod
    def batches_of(self, numbers: Collection[int]) -> dict[int, BatchRecord]:
        """Some batches, by number; those that are not there left out."""

    @abstractmethod
    def unfinished(self) -> list[BatchRecord]:
        """Batches of which repeats are still to come, by number."""

    @abstractmethod
    def with_room(self, candidates: Collection[int]) -> list[BatchRecord]:
        """Observations of some candidates that others may join."""

    @abstractmethod
    def log(self, after: int = 0, most: int = 1_000) -> list[Entry]:
        """Rows of the log after a number, in order."""

    @abstractmethod
    def first_numbers(self, rows: Sequence[int]) -> dict[int, int]:
        """The number of the first measurement in some rows of the log."""

    @abstractmethod
    def row_of(self, measurement: int) -> tuple[Entry, int] | None:
        """The row of the log that holds a measurement, by its number, and its place there."""

    @abstractmethod
    def revisions(self, batch: int | None = None) -> list[Revision]:
        """What was taken back or corrected, in the order it was."""

    @abstractmethod
    def last_revision(self) -> Revision | None:
        """The last of them."""

    @abstractmethod
    def overlapping(self, batch: int, start: int, count: int) -> list[Entry]:
        """Rows of the log that hold any of these repeats, by repeat."""

    @abstractmethod
    def sources(self, numbers: Collection[int]) -> dict[int, Source]:
        """Where values come from, by the numbers that rows of the log name; those that are not there left out."""

    def row(self, number: int) -> Entry | None:
        """One row of the log."""
        found = self.log(after=number - 1, most=1)
        return found[0] if found and found[0].number == number else None

    @abstractmethod
    def leases(self, batch: int | None = None) -> list[Lease]:
        """What is assigned to workers."""

    @abstractmethod
    def leases_of(self, batches: Collection[int]) -> list[Lease]:
        """What is assigned of some batches."""

    @abstractmethod
    def known_source(self, source: Source) -> Source | None:
        """The same source as it was stored before; one with a key is known by its worker and its key alone."""

    @abstractmethod
    def now(self) -> float:
        """Seconds since 1970, by the storage's clock: one clock for all workers."""


class Writer(Reader):
    """The same, and the right to change it; alone."""

    @abstractmethod
    def add_batches(self, batches: Sequence[BatchRecord]) -> None: ...

    @abstractmethod
    def change_batches(self, batches: Sequence[BatchRecord]) -> None: ...

    def change_batch(self, batch: BatchRecord) -> None:
        self.change_batches([batch])

    @abstractmethod
    def change_table(self, data: bytes, blocks: Sequence[bytes] = (), after: int = 0) -> None:
        """Other candidates; the study's digest of them is `change`'s matter. The first `after` blocks stay."""

    @abstractmethod
    def keep_answer(self, data: bytes) -> None:
        """What is answered as the study stands now. It changes nothing else."""

    @abstractmethod
    def append_all(self, rows: Sequence[LogRow]) -> list[Entry]:
        """Rows of the log. Aggregates are others' matter."""

    def append(
        self, batch: int, start: int, told: StoredFeedback, source: Source | None = None, began: float = 0.0
    ) -> Entry:
        """A row of the log."""
        return self.append_all([LogRow(batch, start, told, source, began)])[0]

    @abstractmethod
    def revise(self, revision: Revision) -> Revision:
        """Take back or correct a measurement. Aggregates and counters are others' matter."""

    @abstractmethod
    def lease(self, lease: Lease) -> None:
        """Hand out repeats; a lease of the same start takes the place of an older one."""

    @abstractmethod
    def release(self, lease: Lease) -> None:
        """They are not assigned to a worker any more."""

    @abstractmethod
    def change_leases(self, gone: Sequence[Lease], new: Sequence[Lease]) -> None:
        """Release some, and hand out others, which do not begin where any that stays does."""

    @abstractmethod
    def change(self, record: StudyRecord) -> None:
        """Counters, budget and state."""


class Storage(ABC):
    """Studies by name.

    patiently: called with something to do, does it again while the storage does not answer, for a while: one for all
    who wait.
    """

    patiently: Patience

    @property
    @abstractmethod
    def address(self) -> str:
        """What a person types to mean it, without a password."""

    @abstractmethod
    def names(self) -> list[str]: ...

    @abstractmethod
    def create(self, record: StudyRecord, table: bytes, blocks: Sequence[bytes] = ()) -> bool:
        """A new study; False where there is one of that name."""

    @abstractmethod
    def delete(self, name: str) -> None: ...

    @abstractmethod
    def read(self, name: str) -> AbstractContextManager[Reader]: ...

    @abstractmethod
    def write(self, name: str, *, wait: bool = True) -> AbstractContextManager[Writer]:
        """wait=False: where others hold the lock it raises `Unavailable` at once."""

    @abstractmethod
    def renew(self, name: str, workers: Collection[str], seconds: float | None = None) -> list[Lease]:
        """Leases of these workers, as `Lease.worker` says, begin anew, for their own length or another; in one write.

        It is no `write`: it need not wait for one, may leave out what one is changing, and may be lost in a power cut.
        """

    @abstractmethod
    def tokens(self) -> list[TokenRecord]:
        """All tokens, those that were revoked or have expired included; the oldest first."""

    @abstractmethod
    def keep_token(self, token: TokenRecord) -> None:
        """A new token, or another state of one that has the same id."""

    def hurry(self) -> None:
        """The thread that calls this waits for nothing any more. The handler of a signal may call it."""
        self.patiently.hurry()

    def calm(self) -> None:
        """Be patient again, in the thread that calls this."""
        self.patiently.calm()

    @property
    @abstractmethod
    def file(self) -> Path | None:
        """The file that it is; None for a server."""

    @property
    @abstractmethod
    def folder(self) -> Path:
        """Where files that belong to its studies go: beside it, or for a server where this process is."""

    @abstractmethod
    def copy(self, name: str, target: "Storage", progress: Callable[[int], object] = int) -> None:
        """One moment of a study, as a study of another storage. progress: called with the rows copied so far."""

    @abstractmethod
    def check(self, *, everything: bool = True) -> Sequence[str]:
        """What is wrong with the storage itself, in words; without everything, of a large one all but its log."""

    @abstractmethod
    def close(self) -> None: ...
