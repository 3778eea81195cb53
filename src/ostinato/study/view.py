"""What can be read of a study. Nothing here changes it; what took long to work out is stored beside it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from ostinato.candidates import Candidates
from ostinato.checks import integer
from ostinato.lazy import from_above
from ostinato.measurements.outcomes import Outcome
from ostinato.notebook import described
from ostinato.optimizer.explanation import Explanation, explanation
from ostinato.records import Best, Outlier, Quantity, Reason
from ostinato.storage import BatchRecord, Entry, Reader, Storage, StudyRecord
from ostinato.study.answer import Answer, answer_of, keep, last_answer
from ostinato.study.assigned import assigned
from ostinato.study.candidates import retired_of
from ostinato.study.leases import in_hand
from ostinato.study.origins import Sources
from ostinato.study.paused import paused_runs
from ostinato.study.records import Assigned, Measurement, PausedRun, Status, by_place, measurements_of
from ostinato.study.stored import StoredStudy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ostinato.optimizer import Optimizer
    from ostinato.optimizer.diagnosis import Diagnosis
    from ostinato.optimizer.frame import Library

T = TypeVar("T")
LEVEL = 0.95  # of intervals
STORE_ANSWER_AFTER = 0.5  # seconds of working out an answer, from which it is stored


class StudyView:
    """The answers of a study: `Study` is this, and what changes it."""

    def __init__(self, stored: StoredStudy) -> None:
        self._stored = stored
        self._other_stop: Any = None

    @property
    def name(self) -> str:
        return self._stored.name

    @property
    def storage(self) -> Storage:
        return self._stored.storage

    @property
    def created(self) -> float:
        """When it was made (seconds since 1970): another study of the same name has another moment."""
        return self._stored.created

    @property
    def outcome(self) -> Outcome:
        """What kind of number a measurement is."""
        return self._stored.outcome

    @property
    def quantity(self) -> Quantity:
        """What the measured number is called, and its unit."""
        return self._stored.quantity

    # Where it stands

    @property
    def optimizer(self) -> "Optimizer":
        """The optimiser that knows all that was told so far: ask it for answers (predict, diagnose, …).

        It is for looking, from one thread; ask and tell through the study.
        """
        with self._stored.lock:
            return self._stored.read(lambda reader: self._stored.synced(reader).optimizer)

    def looked(self, question: "Callable[[Optimizer], T]") -> T:
        """The answer of the optimiser to a question, from whatever thread it is asked."""
        with self._stored.lock:
            return question(self.optimizer)

    def reading(self, action: Callable[[Reader], T]) -> T:
        """What is read of one moment of the study."""
        return self._stored.read(action)

    def status(self) -> Status:
        """Where the study stands; without the best candidate where that takes code that was not given."""
        with self._stored.lock:
            return _status(self._stored, *self._answer(_progress))

    def _answer(self, also: Callable[[Reader], T]) -> tuple[Answer, T]:
        """The last answer, where it still holds; else another one, stored for the next who asks if that took long.

        also: what else is read of the same moment.
        """
        stored, start = self._stored, monotonic()

        def find(reader: Reader) -> "tuple[StudyRecord, T, Answer | Optimizer]":
            return reader.record, also(reader), last_answer(stored, reader) or stored.counting(reader)

        record, read, found = stored.read(find)
        if isinstance(found, Answer):
            return found, read
        answer = answer_of(found, counts_only=bool(stored.missing))
        if stored.head.blocks or monotonic() - start > STORE_ANSWER_AFTER:
            keep(stored, record, answer)
        return answer, read

    def counts(self) -> dict[int, int]:
        """How often each candidate was measured, by its index; those never measured left out."""
        with self._stored.lock:
            return self._stored.read(self._stored.counting).counts()

    @property
    def stop(self) -> Any:
        """The rules of `ostinato.stopping` by which runs end; None for none."""
        return self._stored.stop if self._other_stop is None else self._other_stop

    @property
    def has_end(self) -> bool:
        """Whether a run would end by itself: there is a budget, or a rule."""
        return self.stop is not None or self._stored.read(lambda reader: reader.record.budget) is not None

    @property
    def finished(self) -> bool:
        """Whether the budget is spent."""
        record = self._stored.read(lambda reader: reader.record)
        return record.budget is not None and record.answered >= record.budget

    @property
    def stopped(self) -> str | None:
        """The rule of `stop` that is met now, if one is.

        Rules that count from the beginning of a run (`NoImprovement`) can be met within a run only.
        """
        from ostinato.stopping import met, watched

        rules = watched(self.stop)
        return self.looked(lambda optimizer: met(rules, optimizer)) if rules else None

    @property
    def affordable(self) -> int | None:
        """Measurements that `Spent` among the rules of `stop` still pays for, after those assigned; None without it."""
        from ostinato.stopping import spending

        limits, in_hand = spending(self.stop), self.in_hand()
        if not limits:
            return None
        return max(0, self.looked(lambda optimizer: min(limit.affordable(optimizer, in_hand) for limit in limits)))

    def in_hand(self) -> Mapping[int, int]:
        """How many repeats of each batch, by its number, are assigned to workers, anywhere."""
        return self._stored.read(in_hand)

    def leases(self) -> list[Assigned]:
        """What is assigned to whom, since when and until when, and whether that is over; by batch and repeat."""
        return assigned(self._stored)

    @property
    def numbered(self) -> int:
        """The number of the measurement that was told last; each has one, in the order told, for ever."""
        return self._stored.read(lambda reader: reader.record.numbered)

    def counters(self) -> tuple[StudyRecord, int]:
        """The study's own row, and how many repeats are assigned to workers: soon read, however large it is."""
        return self._stored.read(lambda reader: (reader.record, sum(lease.count for lease in reader.leases())))

    def moment(self) -> object:
        """Equal to another one as long as nothing was asked, told, changed or handed out in between."""
        return self._stored.read(
            lambda reader: (reader.record, [(lease.batch, lease.start, lease.count) for lease in reader.leases()])
        )

    # What is known

    def best(self, level: float = LEVEL) -> Best:
        """The measured candidate of the best lower bound (mean less a standard deviation)."""
        if level == LEVEL and not self._stored.missing:
            with self._stored.lock:
                found = self._answer(lambda _: None)[0].best
            if found is not None:
                return found
        return self.looked(lambda optimizer: optimizer.best(level))

    def top(self, k: int = 5, level: float = LEVEL) -> list[Best]:
        """The k best measured candidates."""
        return self.looked(lambda optimizer: optimizer.top(k, level))

    @property
    def outliers(self) -> list[Outlier]:
        """Single values that do not fit what all else says of their candidates."""
        return self.looked(lambda optimizer: optimizer.outliers)

    def diagnose(self) -> "Diagnosis":
        """Whether the model fits what was measured, with a verdict in words."""
        return self.looked(lambda optimizer: optimizer.diagnose())

    # Looking

    def plot(self, name: str = "measurements", *, columns: Sequence[str | int] = ()) -> "Figure":
        """A matplotlib figure: "measurements" by candidate, "progress", "posterior", "parallel", "batches", "noise" or
        "calibration". Needs matplotlib (the extra `plots`).

        columns: for "posterior", the column along which it is drawn, or two.
        """
        return from_above("ostinato.plots.figures", "plot")(self, name, columns=columns)

    def to_frame(self, library: "Library | None" = None) -> Any:
        """All measurements as a data frame: one row each, with the candidate's columns; NaN for one that failed.

        library: "pandas", "polars" or "pyarrow"; by default that of the candidates, else the first that is installed.
        """
        from ostinato.optimizer.frame import frame_of

        told = self.measurements()
        return frame_of(self.table, told, library)

    def _repr_html_(self) -> str:
        return described(f"Study {self.name}", str(self.status()))

    # What was asked and told

    def history(self) -> list[BatchRecord]:
        """All batches, in the order they were asked for, and what became of them; observations first."""
        return self._stored.seen(lambda reader: reader.batches())

    def numbers(self, batch: int, repeats: range) -> list[int]:
        """The numbers of the measurements that some repeats of a batch are."""
        return self._stored.read(lambda reader: numbers_of_repeats(reader, batch, repeats))

    def measurements(self, *, everything: bool = False) -> Iterator[Measurement]:
        """All that was told, in the order it came, as it counts now; with everything, what was taken back too."""
        return measurements(self._stored, everything=everything)

    def last_measurements(self, most: int = 10) -> list[Measurement]:
        """The last that were told, what was taken back included; the newest last."""
        return self._stored.seen(lambda reader: last_measurements(reader, most))

    def measurements_from(self, number: int, most: int) -> list[Measurement]:
        """Up to so many measurements from a number on, what was taken back included; soon read, however many came."""
        return self._stored.seen(lambda reader: measurements_from(reader, number, most))

    def explain(self, batch: int) -> Explanation:
        """Why a batch was asked for: this candidate, and this many repeats."""
        number = integer("batch", batch)
        record = self._stored.read(lambda reader: self._stored.batch(reader, number))
        asked, reason = record.facts.batch, msgspec.json.decode(record.reason, type=Reason)
        return explanation(replace(asked, candidate=self._stored.candidate(asked.index), reason=reason))

    # Candidates

    @property
    def table(self) -> Candidates:
        """The candidates, at least as new as what was read last."""
        return self._stored.table

    def index(self, candidate: Any) -> int:
        """The row of the table that a candidate is: an index, or a row as it was given."""
        return self._stored.index(candidate)

    def candidate(self, index: int) -> Any:
        """A row of the table, as it was given."""
        return self._stored.candidate(integer("index", index))

    @property
    def retired(self) -> list[int]:
        """The rows of candidates that were retired."""
        return self._stored.read(lambda reader: retired_of(reader.record))


def numbers_of_repeats(reader: Reader, batch: int, repeats: range) -> list[int]:
    """The numbers of the measurements that some repeats of a batch are."""
    entries = reader.overlapping(batch, repeats.start, len(repeats))
    firsts = reader.first_numbers([entry.number for entry in entries])
    each = [(repeat, firsts[entry.number] + place) for entry in entries for place, repeat in enumerate(entry.repeats)]
    return [number for repeat, number in sorted(each) if repeat in repeats]


def measurements_in(reader: Reader, batches: Sequence[BatchRecord]) -> list[Measurement]:
    """All that was told of some batches and counts, in the order it came, without reading the log of others."""
    entries = [entry for batch in batches for entry in reader.overlapping(batch.facts.id, 0, batch.facts.places)]
    firsts, revised = reader.first_numbers([entry.number for entry in entries]), by_place(reader.revisions())
    rows, found = {batch.facts.id: batch.facts.index for batch in batches}, list[Measurement]()
    sources = Sources().read(reader, entries)
    for entry in sorted(entries, key=lambda entry: entry.number):
        own = rows[entry.batch], sources[entry.source], firsts[entry.number], revised.get(entry.number)
        found += measurements_of(entry, *own)
    return [each for each in found if each.value is not None]


def measurements(stored: StoredStudy, *, everything: bool = False) -> Iterator[Measurement]:
    """All that was told until now, in the order it came."""
    facts = stored.seen(lambda reader: (reader.batches(), reader.revisions(), reader.record.told))
    return _measurements(stored, *facts, everything=everything)


def _measurements(
    stored: StoredStudy, batches: Sequence[BatchRecord], revisions: Sequence[Any], told: int, *, everything: bool
) -> Iterator[Measurement]:
    rows, revised = {batch.facts.id: batch.facts.index for batch in batches}, by_place(revisions)
    after, number, sources = 0, 1, Sources()

    def some(reader: Reader) -> list[Entry]:
        entries = reader.log(after=after)
        sources.read(reader, entries)
        return entries

    while entries := stored.read(some):
        for entry in entries:
            if entry.number > told:
                return  # it came since
            own = rows[entry.batch], sources[entry.source], number, revised.get(entry.number)
            found = measurements_of(entry, *own)
            yield from (each for each in found if everything or each.value is not None)
            number += entry.told.count
        after = entries[-1].number


def last_measurements(reader: Reader, most: int) -> list[Measurement]:
    """The last that were told, from the last rows of the log."""
    entries = reader.log(after=max(0, reader.record.told - most), most=most)
    number, revised = (
        reader.record.numbered - sum(entry.told.count for entry in entries) + 1,
        by_place(reader.revisions()),
    )
    found, sources = list[Measurement](), Sources().read(reader, entries)
    for entry in entries:
        batch = reader.batch(entry.batch)
        if batch is not None:
            own = batch.facts.index, sources[entry.source], number, revised.get(entry.number)
            found += measurements_of(entry, *own)
        number += entry.told.count
    return found[-most:]


def measurements_from(reader: Reader, number: int, most: int) -> list[Measurement]:
    """Some measurements from a number on."""
    at = reader.row_of(max(1, number))
    if at is None:
        return []
    entries, revised = reader.log(after=at[0].number - 1, most=most), by_place(reader.revisions())
    batches, sources = reader.batches_of({entry.batch for entry in entries}), Sources().read(reader, entries)
    first, found = max(1, number) - at[1], list[Measurement]()
    for entry in entries:
        own = batches[entry.batch].facts.index, sources[entry.source], first, revised.get(entry.number)
        found += measurements_of(entry, *own)
        first += entry.told.count
    return [each for each in found if each.number >= number or each.count > 1][:most]


class Progress(NamedTuple):
    """What was asked and told by some moment of a study. paused: runs that measure nothing then."""

    record: StudyRecord
    pending: int
    in_flight: int
    paused: tuple[PausedRun, ...]


def _progress(reader: Reader) -> Progress:
    pending = sum(batch.facts.pending for batch in reader.unfinished())
    return Progress(reader.record, pending, sum(in_hand(reader).values()), paused_runs(reader))


def _status(stored: StoredStudy, answer: Answer, progress: Progress) -> Status:
    """Where a study stands at the moment that both speak of."""
    record, in_flight = progress.record, progress.in_flight
    return Status(
        name=stored.name,
        created=record.created,
        candidates=answer.candidates,
        retired=answer.retired,
        budget=record.budget,
        measurements=record.answered - record.failed,
        failures=record.failed,
        in_flight=in_flight,
        waiting=progress.pending - in_flight,
        unique=answer.unique,
        batches=record.asked,
        switches=answer.switches,
        best=answer.best,
        outliers=answer.outliers,
        repeats_never_differ=answer.repeats_never_differ,
        missing=stored.missing,
        paused=progress.paused,
        quantity=stored.quantity,
    )
