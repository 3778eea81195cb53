"""A study: an optimiser whose facts are stored, so that it outlives crashes and is shared between processes."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import isnan
from threading import RLock
from typing import Any, TypeVar, cast, overload
from uuid import uuid4
from zlib import compress

import msgspec
import numpy as np
from msgspec.structs import replace

from ostinato.candidates import Candidates, extended, packed, read_candidates
from ostinato.checks import counted, flag, positive, shown, whole
from ostinato.errors import (
    Damaged,
    InvalidFeedback,
    InvalidSetting,
    MissingSetting,
    StudyDiffers,
    UnknownBatch,
    UnknownCandidate,
)
from ostinato.measurements.feedback import Given, read_many
from ostinato.measurements.outcomes import outcome_of
from ostinato.optimizer import Optimizer
from ostinato.optimizer.decide import Decision, Wish
from ostinato.optimizer.diagnosis import Diagnosis
from ostinato.optimizer.explanation import Explanation, explanation
from ostinato.optimizer.facts import BatchFacts
from ostinato.records import Batch, Best, Outlier, Reason
from ostinato.running.executors import Pool
from ostinato.running.interrupts import Interrupts
from ostinato.running.loop import Run
from ostinato.running.measure import Measure, exceptions
from ostinato.running.progress import reporter
from ostinato.running.result import Result, result_of
from ostinato.running.task import Task
from ostinato.stopping import watched
from ostinato.storage import BatchRecord, Reader, Storage, Writer, open_storage
from ostinato.storage.values import Told, told_summary
from ostinato.study import desk as at
from ostinato.study.create import create, digest_of, read_budget, table_of
from ostinato.study.described import restored
from ostinato.study.live import Live, retired_of
from ostinato.study.reading import read_one, read_trials, read_values
from ostinato.study.records import Measurement, Status, by_place, measurements_of
from ostinato.study.request import Request
from ostinato.study.revise import failures_since, forget, revise, skip, without_round
from ostinato.study.workers import this_worker

T = TypeVar("T")
LEASE = 600.0  # seconds for which repeats are handed out, by default
TRIES = 4  # to hand out what is there, or to decide; the last within the lock


class Study:
    """The same optimiser, persistent: opened from several processes at once, and after any crash.

    name: of the study within its storage. storage: sqlite:///lab.db (or simply a file), or postgresql://….
    candidates, settings: as for `Optimizer`, when the study is made. When it exists they can be left out; what is given
        must be the same.
    budget: how many measurements there will be in all; it can be raised later.
    stop: rules of `ostinato.stopping` by which runs end; another one may be given when it is opened.
    extend: whether candidates that are given after all those that the study has are added to it.
    lease: for how many seconds repeats are handed out; when that is over they are handed out again. It should be longer
        than a measurement takes.

    Whatever `tell` has returned from is on disk.
    """

    def __init__(
        self,
        name: str,
        storage: Any = "sqlite:///ostinato.db",
        candidates: Any = None,
        *,
        budget: int | None = None,
        lease: float = LEASE,
        patience: float = 60.0,
        extend: bool = False,
        **settings: Any,
    ) -> None:
        if not isinstance(cast("Any", name), str) or not name or not name.isprintable():
            raise InvalidSetting(f"name={name!r} is no name of a study: give a text that can be printed.")
        self.name, self.lease = name, positive("lease", lease)
        self.storage: Storage = open_storage(
            storage, create=candidates is not None, patience=positive("patience", patience)
        )
        self._lock = os.getpid(), RLock()
        self._live: Live | None = None
        if settings.get("seed", 0) is None:
            settings.pop("seed")
        missing = 0 if candidates is None else create(self.storage, name, candidates, budget, settings)
        problems = self.storage.patiently(self.storage.check)
        if problems:
            raise Damaged(
                f"{self.storage!r} is damaged: {problems[0]}. Restore a copy, or see what `ostinato verify` says."
            )
        record, table = self._read(lambda reader: (reader.record, reader.table()))
        self._table, self._made = table_of(table), record.created
        self._digest: str = record.digest
        stop = settings.pop("stop", None)
        self._settings = restored(record.settings, settings, name)
        kept = self._settings.pop("stop", None)
        self.stop = kept if stop is None else stop
        self.outcome = outcome_of(self._settings.get("outcome", "real"))
        if missing:
            self._take_missing(candidates, missing, add=extend)
        if budget is not None and budget != record.budget:
            self.allow(budget)

    def _take_missing(self, candidates: Any, missing: int, *, add: bool) -> None:
        """Rows that were given after all those that the study has."""
        given = read_candidates(candidates)
        rows = [given[row] for row in range(given.rows - missing, given.rows)]
        if not add:
            new = f"{counted(missing, 'row')} more, the first of them {shown(rows[0])}"
            raise StudyDiffers(
                f"The study {self.name!r} has {counted(self._table.rows, 'row')}, and the candidates that were given "
                f"{new}: give extend=True (on the command line --add) to add them, or begin a study of another name."
            )
        self.add(rows if given.named else np.asarray(rows), again=True)

    def __reduce__(self) -> Any:
        raise TypeError("A study is not sent to other processes: open it there, Study(name, storage).")

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.storage!r})"

    # The loop

    @overload
    def ask(self, limit: int | None = None, *, share: int = 1, worker: str | None = None) -> Task | None: ...

    @overload
    def ask(
        self, *, slots: int, distinct: bool = False, shared: Sequence[str | int] = (), worker: str | None = None
    ) -> list[Task]: ...

    @overload
    def ask(
        self, *, workers: int, distinct: bool = False, shared: Sequence[str | int] = (), worker: str | None = None
    ) -> list[Task]: ...

    def ask(
        self,
        limit: int | None = None,
        *,
        share: int = 1,
        slots: int | None = None,
        workers: int | None = None,
        distinct: bool = False,
        shared: Sequence[str | int] = (),
        worker: str | None = None,
    ) -> Task | list[Task] | None:
        """The next repeats to measure; None where there are none at the moment.

        Repeats whose time is over come first, then those of a batch that was decided before, then a new decision. There
        are none when the budget is spent (`finished`), or while the rest of it is in other hands.

        limit: the most repeats. share: how many workers there are among whom to share a batch's repeats. worker: a name
        for whoever measures; by default this process, whose tasks are for others as soon as it ends.

        slots, workers, distinct, shared: a plan instead, as for `Optimizer.ask`: a list of tasks to be measured at the
        same time, fewer than wanted (or none) where that is all there is. What waits from before comes first, unless
        candidates are to be distinct or to share a column.
        """
        most, among = None if limit is None else whole("limit", limit), whole("share", share)
        wish = None
        if slots is not None or workers is not None or distinct or shared:
            most_slots = slots if slots is None or most is None else min(slots, most)
            wish = Wish.of(most_slots, workers, distinct, shared)
        with self._alone():
            found = self._answer(Request(_key(worker), self.lease, most, among, wish))
        return found if wish is not None else found[0] if found else None

    def _answer(self, request: Request) -> list[Task]:
        """What is there to hand out, and what is decided besides.

        A decision is made outside the lock, so that nobody waits for its fit, and kept if nothing was told or asked in
        the meantime; if that happens again and again, within the lock.
        """
        found, missing = list[Task](), 0
        for tries in range(TRIES):
            last = tries == TRIES - 1
            decision: Decision | None = None
            if missing and not last:
                decision = self.storage.patiently(partial(self._decided, request.rest(missing)))
            found, missing = self.storage.patiently(partial(self._commit, request, decision, last=last))
            if not missing:
                return found
        return found

    def _decided(self, wish: Wish | None) -> Decision | None:
        """What this process would decide at the moment; nothing where nothing may be."""
        with self.storage.read(self.name) as reader:
            left, live = self._left(reader), self._synced(reader)
        return None if left == 0 else live.optimizer.decision(left, wish)

    def _commit(self, request: Request, decision: Decision | None, *, last: bool) -> tuple[list[Task], int]:
        """Tasks, and how many repeats are still to be decided on: the state may have moved since a decision."""
        try:
            with self.storage.write(self.name) as desk:
                self._refresh(desk)
                leases = request.take(desk)
                missing, left, live = request.missing(desk, leases), self._left(desk), self._live
                if missing > 0 and left != 0:
                    if last and decision is None:
                        live = self._synced(desk)
                        decision = live.optimizer.decision(left, request.rest(missing))
                    if decision is not None and live is not None and live.stands_at(desk.record):
                        new = self._store(desk, live, decision)
                        leases = request.take(desk, new)
                        missing = 0
                else:
                    missing = 0
                rows = [self._row_of(desk, lease.batch) for lease in leases]
        except BaseException:
            self._live = None  # it may have decided what was not kept
            raise
        both = zip(leases, rows, strict=True)
        tasks = [Task(self.name, e.batch, row, self._table[row], e.start, e.count, e.until) for e, row in both]
        return tasks, missing

    def _left(self, reader: Reader) -> int | None:
        """Measurements that may still be decided on; None for any number."""
        record = reader.record
        if record.budget is None:
            return None
        coming = sum(batch.facts.pending for batch in reader.unfinished())
        return max(0, record.budget - record.answered - coming)

    def _store(self, desk: Writer, live: Live, decision: Decision) -> list[int]:
        """Batches that were decided, with the state that the next decision rests on; returns their numbers."""
        batches, record = live.optimizer.take_up(decision), desk.record
        if batches[0].id != record.asked:
            raise Damaged(f"The study {self.name!r} is damaged: batch {batches[0].id} comes after {record.asked}.")
        for batch, each in zip(batches, decision.batches, strict=True):
            what = (batch.id, batch.index, batch.repeats, batch.wanted, batch.capped, batch.truncated, each.round)
            desk.add_batch(BatchRecord(BatchFacts(*what), desk.now(), _words(batch.reason)))
        state, asked = msgspec.json.encode(live.optimizer.mind), record.asked + len(batches)
        desk.change(replace(record, asked=asked, state=state, decided=record.decided + 1))
        live.decided(desk.record, {batch.id: batch.index for batch in batches})
        return [batch.id for batch in batches]

    def tell(
        self,
        task: Task,
        values: Any = None,
        *,
        stderr: Any = None,
        start: int | None = None,
        successes: int | None = None,
        trials: int | None = None,
    ) -> int:
        """The values of a task, in the order of its repeats; fewer are fine, and the rest later.

        Returns how many are new. successes, trials: of yes and no (outcome="binary"), in place of values.
        NaN and None are measurements that failed. The same values told again count once; other ones for the same
        repeats are refused. start: the number of the first repeat told, where it is not the task's first.
        """
        if not isinstance(cast("Any", task), Task) or task.study != self.name:
            raise UnknownBatch(f"{shown(task)} is no task of the study {self.name!r}: give what ask() returned.")
        first = task.start if start is None else whole("start", start, 0)
        if successes is None and trials is None:
            told = read_values(values, stderr, self.outcome)
        elif values is None:
            told = read_trials(successes, trials, self.outcome)
        else:
            raise InvalidFeedback("Both values and successes were given: give one of them.")
        last = task.start + task.repeats - 1
        if not task.start <= first <= last - told.count + 1:
            raise InvalidFeedback(
                f"Repeats {first} to {first + told.count - 1} were told, and the task has {task.start} to {last}: tell "
                "those, and use observe(candidate, values) for others."
            )
        new = [0]  # of every try: one that was kept and not heard of leaves nothing new for the next

        def take(desk: Writer) -> int:
            new.append(at.take(desk, task.batch, first, told))
            return max(new)

        return self._write(take)

    def observe_all(self, given: Sequence[tuple[Any, Mapping[str, Any]]]) -> int:
        """Measurements of many candidates, all of them or none: pairs of a candidate and what was measured of it.

        That is a `value`, with a `stderr` where it is known; or an average `value`, with the `count` and the `std` of
        what it averages; or `successes` and `trials`. Returns how many measurements that is.
        """
        told = [(self.index(candidate), read_one(**what, outcome=self.outcome)) for candidate, what in given]
        self._observe(told)
        return sum(each.count for _, each in told)

    def observe(
        self,
        candidate: Any,
        values: Any = None,
        *,
        stderr: Any = None,
        n: Any = None,
        mean: Any = None,
        std: Any = None,
        successes: Any = None,
        trials: Any = None,
    ) -> None:
        """Measurements that were not asked for: values of one candidate, or their count, mean and sample std.

        Or of many at once, a sequence of indices or a table of rows, with one value each (or successes and trials).
        """
        if self._is_many(candidate):
            self._observe_many(candidate, Given(values, stderr, n, mean, std, successes, trials))
            return
        index = self.index(candidate)
        summed = Given(values, stderr, n, mean, std, successes, trials).read(self.outcome).statistics
        told = told_summary(summed) if values is None else read_values(values, stderr, self.outcome)
        self._observe([(index, told)])

    def _is_many(self, candidate: Any) -> bool:
        try:
            named = self._table.named_by(candidate)
        except UnknownCandidate:
            return False  # `index` says so
        return not isinstance(named, int) and len(named) > 1

    def _observe_many(self, candidates: Any, given: Given) -> None:
        named = cast("list[int]", self._table.named_by(candidates))
        read_many(named, given, self.outcome)  # checked as a whole
        indices = [self._table.index_of(number) for number in named]
        if given.values is not None:
            told = [read_values([value], None, self.outcome) for value in given.values]
        else:
            trials = np.broadcast_to(given.trials, len(indices)).tolist()
            pairs = zip(list(given.successes), trials, strict=True)
            told = [told_summary(self.outcome.successes(successes, of)) for successes, of in pairs]
        self._observe(list(zip(indices, told, strict=True)))

    def _observe(self, told: Sequence[tuple[int, Told]]) -> None:
        """Once, also where the first try was kept and not heard of."""
        key, tries = uuid4().hex, 0

        def take(desk: Writer) -> None:
            nonlocal tries
            tries += 1
            if tries == 1 or not at.was_observed(desk, key):
                for index, each in told:
                    at.observe(desk, index, each, key)

        self._write(take)

    def close(self, batch: Task | int) -> None:
        """Give up the repeats of a batch that did not come; what came stays, and what comes late still counts."""
        number = batch.batch if isinstance(batch, Task) else int(batch)
        self._write(lambda desk: at.close(desk, number))

    def release(self, task: Task, *, keep: int = 0) -> None:
        """Hand a task back, or all but the first `keep` of its repeats; those without a value are handed out again."""

        def give_back(desk: Writer) -> None:
            for lease in desk.leases(task.batch):
                if lease.until == task.until and task.start <= lease.start < task.start + task.repeats:
                    at.give_back(desk, lease, task.start + keep)

        self._write(give_back)

    def retract(
        self,
        what: Any = None,
        *,
        value: float | None = None,
        number: int | Sequence[int] | None = None,
        failures: bool = False,
        since: float = 0.0,
        why: str = "",
        again: bool = True,
    ) -> int:
        """Take measurements back, as if they had never been told; returns how many. The study keeps what they were.

        what: a task, for all that was told of its batch; or a candidate, with the `value` that is wrong (the last such
        one). number: of measurements, as `history` and warnings name them. failures: all that failed are taken back,
        since a moment (in seconds since 1970). why: kept with it.

        again: whether repeats of a batch that still waits for others are asked for again; of one that is over they
        never are.
        """
        if failures:
            numbers = None
        elif isinstance(what, Task):
            numbers = self._told_of(what)
        elif number is not None:
            numbers = [whole("number", each) for each in ([number] if isinstance(number, int) else number)]
        elif what is not None and value is not None:
            numbers = [self._last(what, value)]
        else:
            raise InvalidFeedback("What is to be taken back? Give a task, a candidate with value=, or number=.")

        def change(desk: Writer) -> int:
            listed = failures_since(desk, since) if numbers is None else numbers
            return len(revise(desk, dict.fromkeys(listed), why, self.outcome, again=again))

        return self._write(change)

    def correct(
        self,
        what: Any = None,
        old: float | None = None,
        new: float | None = None,
        *,
        number: int | None = None,
        why: str = "",
    ) -> None:
        """Another value for a measurement, as if it had been told in the first place: correct(candidate, 125, 12.5).

        number: of the measurement, as `history` and warnings name it, in place of candidate and old value. NaN says
        that it failed.
        """
        if new is None or (number is None and (what is None or old is None)):
            raise InvalidFeedback("Give candidate, old and new value; or number= and new=.")
        (value,) = self.outcome.values([new])
        wrong = self._last(what, float(self.outcome.values([old])[0])) if number is None else whole("number", number)
        self._write(lambda desk: revise(desk, {wrong: float(value)}, why, self.outcome))

    def task(self, batch: int, start: int | None = None, repeats: int = 1) -> Task:
        """Repeats of a batch, by numbers, to be told: from `start` on, or the next ones that have no value."""

        def find(reader: Reader) -> tuple[BatchRecord, int]:
            found = reader.batch(batch)
            if found is None or batch < 0:
                raise UnknownBatch(f"Batch {batch} is none that was asked for in this study.")
            return found, at.next_of(reader, found) if start is None else start

        found, first = self._read(find)
        index = found.facts.index
        if not 0 <= first <= found.facts.places - repeats:
            places = counted(max(0, found.facts.places - first), "repeat")
            raise UnknownBatch(f"Batch {batch} has {places} from number {first} on, and {repeats} were told.")
        return Task(self.name, batch, index, self.candidate(index), first, repeats, 0.0)

    def skip(self, task: Task, repeat: int) -> None:
        """A repeat of a task, by its number, will not be made: it neither counts nor is asked for again."""
        if not task.start <= repeat < task.start + task.repeats:
            raise InvalidFeedback(
                f"The task has no repeat {repeat}: it has {task.start} to {task.start + task.repeats - 1}."
            )
        self._write(lambda desk: skip(desk, task.batch, repeat))

    @property
    def numbered(self) -> int:
        """The number of the measurement that was told last; each has one, in the order told, for ever."""
        return self._read(lambda reader: reader.record.numbered)

    def _last(self, candidate: Any, value: float) -> int:
        """The number of the last measurement of a candidate that gave this value."""
        index, last = self.index(candidate), list[float]()
        found: int | None = None
        for each in self.measurements():
            if each.index == index and each.count == 1 and each.value is not None:
                same = each.value == value or (isnan(value) and isnan(each.value))
                found, last = each.number if same else found, [*last[-4:], each.value]
        if found is None:
            words = f"Its last values are {', '.join(f'{each:g}' for each in last)}" if last else "It has none"
            raise InvalidFeedback(f"No measurement of {shown(candidate)} gave {value!r}. {words}.")
        return found

    def _told_of(self, task: Task) -> list[int]:
        """The numbers of all that was told of a task's batch."""
        found = [each.number for each in self.measurements() if each.batch == task.batch]
        if not found:
            raise UnknownBatch(f"Nothing was told of batch {task.batch}: there is nothing to take back.")
        return found

    def add(self, rows: Any, *, again: bool = False) -> list[int]:
        """More candidates from now on: a table or rows with the same columns. Returns their indices.

        again: whether rows that are there already are kept as rows of their own, and not left out.
        """

        def change(desk: Writer) -> list[int]:
            stored = table_of(desk.table())
            table = extended(stored, rows, again=again)
            if table.rows == stored.rows:
                return []
            Optimizer(table, **self._settings)  # settings may speak of rows
            data = packed(table)
            desk.change_table(compress(data))
            desk.change(replace(desk.record, digest=digest_of(data)))
            forget(desk)
            return list(range(stored.rows, table.rows))

        added = self._write(change)
        self._read(self._refresh)
        return added

    def retire(self, rows: Any) -> int:
        """Candidates that are not to be measured or recommended any more; returns how many rows that is.

        What was measured of them stays, and so do tasks under way.
        """
        return self._retire(rows, lambda kept, given: kept | given)

    def restore(self, rows: Any) -> int:
        """Retired candidates may be measured again; returns how many rows that is."""
        return self._retire(rows, lambda kept, given: kept - given)

    def _retire(self, rows: Any, join: Callable[[set[int], set[int]], set[int]]) -> int:
        def change(desk: Writer) -> int:
            self._refresh(desk)
            given = list(rows) if isinstance(rows, range) else rows
            named = [] if isinstance(given, list) and not given else self._table.named_by(given)
            numbers = {named} if isinstance(named, int) else set(named)
            before = set(retired_of(desk.record))
            after = join(before, {self._table.index_of(number) for number in numbers})
            text = msgspec.json.encode(sorted(after)).decode() if after else ""
            desk.change(replace(desk.record, retired=text))
            if after - before:
                without_round(desk)
                self._close_waiting(desk, numbers)
            return len(after ^ before)

        return self._write(change)

    def _close_waiting(self, desk: Writer, numbers: set[int]) -> None:
        """Batches of some candidates that are in nobody's hands will not be made."""
        for batch in desk.unfinished():
            if self._table.number_of(batch.facts.index) in numbers and not desk.leases(batch.facts.id):
                at.close(desk, batch.facts.id)

    @property
    def retired(self) -> list[int]:
        """The rows of candidates that were retired."""
        return self._read(lambda reader: retired_of(reader.record))

    def allow(self, budget: int) -> None:
        """Another budget; not less than was measured already."""
        most = read_budget(budget)

        def change(desk: Writer) -> None:
            if most < desk.record.answered:
                raise InvalidSetting(
                    f"budget={most:,} is below the {desk.record.answered:,} measurements that were made already: give "
                    "at least as many, or leave it out."
                )
            desk.change(replace(desk.record, budget=most))

        self._write(change)

    def run(
        self,
        f: Callable[..., Any],
        budget: int | None = None,
        *,
        executor: Any = None,
        workers: int | None = None,
        stop: Any = None,
        vectorized: bool = False,
        catch: type[Exception] | tuple[type[Exception], ...] = (),
        progress: bool | None = None,
    ) -> Result:
        """Measure with f until the budget is spent, here and wherever else the study runs at the same time.

        f: called as f(candidate), and returns one measurement; with `vectorized=True` as f(candidate, repeats).
        executor: "threads" (the default), "processes", any Executor of concurrent.futures, or a client of Dask.
        workers: how many measurements go on at once.
        stop, catch, progress: as for `optimize`; rules are looked at whenever values were stored.

        Every value is stored as it comes; quick ones together, about once a second. Ctrl-C waits for what is being
        measured, stores it, and ends the run with the result so far; a second one does not wait. The same call goes on.
        """
        most = self._read(lambda reader: reader.record.budget)
        if budget is not None and budget != most:
            self.allow(budget)
            most = budget
        stop = self.stop if stop is None else stop
        if most is None and stop is None:
            raise MissingSetting("A run needs an end: give budget=, or stop= with a rule of ostinato.stopping.")
        watched(stop)
        measure = Measure(f, flag("vectorized", vectorized), exceptions(catch), self.outcome)
        with Interrupts() as interrupts:
            with reporter(self.looked, most or 0, progress) as report:
                ended = Run(self, measure, Pool(executor, workers), stop, report).until_the_end(interrupts)
            return self.looked(lambda optimizer: result_of(optimizer, ended))

    # Answers

    @property
    def optimizer(self) -> Optimizer:
        """The optimiser that knows all that was told so far: ask it for answers (predict, diagnose, …).

        It is for looking, from one thread; ask and tell through the study.
        """
        with self._alone():
            return self._read(lambda reader: self._synced(reader).optimizer)

    @property
    def has_end(self) -> bool:
        """Whether a run would end by itself: there is a budget, or a rule."""
        return self.stop is not None or self._read(lambda reader: reader.record.budget) is not None

    @property
    def finished(self) -> bool:
        """Whether the budget is spent."""
        record = self._read(lambda reader: reader.record)
        return record.budget is not None and record.answered >= record.budget

    def best(self, level: float = 0.95) -> Best:
        """The measured candidate that is best by what is nearly sure of it."""
        return self.looked(lambda optimizer: optimizer.best(level))

    def top(self, k: int = 5, level: float = 0.95) -> list[Best]:
        """The k best measured candidates."""
        return self.looked(lambda optimizer: optimizer.top(k, level))

    def in_hand(self) -> Mapping[int, int]:
        """How many repeats of each batch, by its number, are in the hands of workers, anywhere."""
        return self._read(at.in_hand)

    def looked(self, question: Callable[[Optimizer], T]) -> T:
        """The answer of the optimiser to a question, from whatever thread it is asked."""
        with self._alone():
            return question(self.optimizer)

    def status(self) -> Status:
        """Where the study stands."""
        with self._alone():
            return self._status(self.optimizer)

    def _status(self, optimizer: Optimizer) -> Status:
        record, unfinished, in_hand = self._read(
            lambda reader: (reader.record, reader.unfinished(), at.in_hand(reader))
        )
        in_flight = sum(in_hand.values())
        return Status(
            name=self.name,
            created=record.created,
            candidates=optimizer.candidates,
            budget=record.budget,
            measurements=record.answered - record.failed,
            failures=record.failed,
            in_flight=in_flight,
            waiting=sum(batch.facts.pending for batch in unfinished) - in_flight,
            unique=optimizer.unique,
            batches=record.asked,
            switches=optimizer.switches,
            best=optimizer.best() if optimizer.has_best else None,
            outliers=tuple(optimizer.outliers) if optimizer.steps else (),
        )

    @property
    def outliers(self) -> list[Outlier]:
        """Single values that do not fit what all else says of their candidates."""
        return self.looked(lambda optimizer: optimizer.outliers)

    def diagnose(self) -> Diagnosis:
        """Whether the model fits what was measured, with a verdict in words."""
        return self.looked(lambda optimizer: optimizer.diagnose())

    def history(self) -> list[BatchRecord]:
        """All batches, in the order they were asked for, and what became of them; observations first."""
        return self._read(lambda reader: reader.batches())

    def explain(self, batch: int) -> Explanation:
        """Why a batch was asked for: this candidate, and this many repeats."""
        record = self._read(lambda reader: reader.batch(int(batch)))
        if record is None or record.facts.id < 0:
            raise UnknownBatch(f"Batch {batch} is none that was asked for in this study.")
        facts, reason = record.facts, msgspec.json.decode(record.reason, type=Reason)
        candidate = self._table[facts.index]
        asked = Batch(
            facts.id, facts.index, candidate, facts.repeats, facts.wanted, facts.capped, facts.truncated, reason
        )
        return explanation(asked)

    def index(self, candidate: Any) -> int:
        """The row of the table that a candidate is: an index, or a row as it was given."""
        try:
            named = self._table.named_by(candidate)
        except UnknownCandidate:
            if not self._has_grown():
                raise
            named = self._table.named_by(candidate)
        numbers = [named] if isinstance(named, int) else named
        if len(numbers) != 1:
            raise InvalidFeedback(f"{shown(candidate)} is more than one candidate: observe them one by one.")
        return self._table.index_of(int(numbers[0]))

    def candidate(self, index: int) -> Any:
        """A row of the table, as it was given."""
        if index >= self._table.rows:
            self._has_grown()
        return self._table[index]

    def _has_grown(self) -> bool:
        """Whether candidates were added elsewhere; they are known from now on."""
        before = self._digest
        self._read(self._refresh)
        return self._digest != before

    @property
    def table(self) -> Candidates:
        """The candidates."""
        return self._table

    def measurements(self, *, everything: bool = False) -> Iterator[Measurement]:
        """All that was told, in the order it came, as it counts now; with everything, what was taken back too."""
        rows = {batch.facts.id: batch.facts.index for batch in self.history()}
        revised = by_place(self._read(lambda reader: reader.revisions()))
        after, number = 0, 1
        while entries := self._read(lambda reader, start=after: reader.log(after=start)):
            for entry in entries:
                found = measurements_of(entry, rows[entry.batch], number, revised.get(entry.number))
                yield from (each for each in found if everything or each.value is not None)
                number += entry.told.count
            after = entries[-1].number

    # Inside

    def _alone(self) -> RLock:
        """One thread at a time; a process that was forked begins with a lock that nobody holds."""
        if self._lock[0] != os.getpid():
            self._lock, self._live = (os.getpid(), RLock()), None
        return self._lock[1]

    def _row_of(self, reader: Reader, number: int) -> int:
        batch = reader.batch(number)
        if batch is None:
            raise Damaged(f"The study {self.name!r} is damaged: batch {number} is missing.")
        return batch.facts.index

    def _synced(self, reader: Reader) -> Live:
        self._refresh(reader)
        live, self._live = self._live, None  # whatever stops it half-way, it is made anew
        if live is None or not live.follows(reader):
            live = Live(reader, self._table, self._settings)
        self._live = live
        return live

    def _refresh(self, reader: Reader) -> None:
        """The candidates as they are now: others may have added some."""
        if reader.record.created != self._made:
            raise StudyDiffers(f"The study {self.name!r} is not the one that was opened: open it again.")
        if reader.record.digest != self._digest:
            self._table, self._digest, self._live = table_of(reader.table()), reader.record.digest, None

    def _read(self, action: Callable[[Reader], T]) -> T:
        def once() -> T:
            with self.storage.read(self.name) as reader:
                return action(reader)

        return self.storage.patiently(once)

    def _write(self, action: Callable[[Writer], T]) -> T:
        def once() -> T:
            with self.storage.write(self.name) as desk:
                return action(desk)

        return self.storage.patiently(once)


def _key(worker: str | None) -> str:
    """A name for one request, by which its answer is found again where it was not heard."""
    if worker is not None and (not isinstance(cast("Any", worker), str) or not worker.isprintable() or "|" in worker):
        raise InvalidSetting(f"worker={worker!r} is no name: give a text that can be printed, without |.")
    return f"{worker or this_worker()}|{uuid4().hex}"


def _words(reason: Reason | None) -> str:
    return msgspec.json.encode(reason, enc_hook=lambda array: array.tolist()).decode()
