"""A study: an optimiser whose facts are stored, so that it outlives crashes and is shared between processes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, cast, overload

from msgspec import UNSET
from msgspec.structs import replace

from ostinato.candidates import ShardedTable, read_candidates
from ostinato.checks import flag, integer, line, positive, whole
from ostinato.errors import (
    FewerSlots,
    InvalidFeedback,
    InvalidSetting,
    MissingSetting,
    OstinatoError,
    Unavailable,
    notify,
)
from ostinato.measurements.feedback import FeedbackInput
from ostinato.optimizer import Optimizer
from ostinato.optimizer.memory import read_limit
from ostinato.optimizer.plan import Wish
from ostinato.optimizer.revise import check_named
from ostinato.optimizer.settings import check_names
from ostinato.posterior.device import read_device
from ostinato.records import Best
from ostinato.running.events import Events, Listener, callbacks
from ostinato.running.executors import Pool
from ostinato.running.interrupts import Interrupts
from ostinato.running.loop import Run
from ostinato.running.measure import Measure, exceptions
from ostinato.running.on_failure import GIVE_UP_AFTER, RETRY_EVERY, OnFailure
from ostinato.running.program import program_of as measured_with
from ostinato.running.progress import reporter
from ostinato.running.result import Result, result_of
from ostinato.running.task import Task
from ostinato.stopping import watched
from ostinato.storage import Reader, StudyRecord, Writer, open_storage
from ostinato.study import changing, log, pauses, telling
from ostinato.study.answer import answer_of, keep, last_answer
from ostinato.study.asking import key_of, shortage, tasks_for
from ostinato.study.backup import backup
from ostinato.study.create import create, read_budget
from ostinato.study.group import GroupWriter
from ostinato.study.leases import free, is_of
from ostinato.study.measuring import RunTasks
from ostinato.study.origins import key_digest, this_machine
from ostinato.study.reading import read_answer, read_pair, read_values
from ostinato.study.request import Request
from ostinato.study.retracting import MeasurementSelection, last_of
from ostinato.study.revise import revise
from ostinato.study.settings import program_of, with_program
from ostinato.study.stored import StoredStudy
from ostinato.study.view import StudyView
from ostinato.study.workers import check_worker, token_of

LEASE = 600.0  # seconds for which repeats are handed out to whoever asks, by default
RUN_LEASE = 10.0  # seconds for which a run holds them, renewed every third of that while its process lives


class Study(StudyView):
    """The same optimiser, persistent: opened from several processes at once, and after any crash.

    name: of the study within its storage. storage: sqlite:///lab.db (or simply a file), or postgresql://….
    candidates, settings: as for `Optimizer`, when the study is made. When it exists they can be left out; what is given
        must be the same.
    budget: how many measurements there will be in all; it can be raised later.
    stop: rules of `ostinato.stopping` by which runs end; another one may be given when it is opened.
    memory_limit: as for `Optimizer`; another one may be given when it is opened, as on another machine.
    device, precision: as for `Optimizer`; they are not stored, since another machine may have no GPU.
    extend: whether candidates that are given after all those that the study has are added to it.
    lease: for how many seconds `ask` hands repeats out; when that is over they are handed out again. Give more than a
        measurement takes, or renew it in time (`renew`). Runs renew theirs by themselves.

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
            raise InvalidSetting(f"name={name!r} is not a name for a study: give a text that can be printed.")
        if settings:
            check_names(settings, Optimizer, ("budget", "stop"))
        self.lease = positive("lease", lease)
        if settings.get("seed", 0) is None:
            settings.pop("seed")
        here = {key: settings.pop(key) for key in ("device", "precision") if key in settings}
        given, patience = None if candidates is None else read_candidates(candidates), positive("patience", patience)
        elsewhere = isinstance(given, ShardedTable)
        read_device(here.get("device"), here.get("precision", "single"), here=not elsewhere)
        if given is None:
            store, pack, missing = open_storage(storage, create=False, patience=patience), None, 0
        else:
            store, pack, missing = create(storage, name, given, budget, settings, patience)
        stop, memory = settings.pop("stop", None), settings.pop("memory_limit", None)
        super().__init__(StoredStudy(name, store, settings, candidates=given, digest=pack.digest if pack else ""))
        self._stored.here = here
        if given is not None:
            self._stored.check_code()  # whoever gives candidates is to measure
        if stop is not None:
            self._keep_stop(stop)
        if memory is not None:
            read_limit(memory)
            self._stored.keep_setting("memory_limit", memory)
        if missing:
            changing.take_missing(self._stored, given, missing, settings.get("noise_std"), extend=extend)
        if budget is not None:
            self.allow(budget)

    def _keep_stop(self, stop: Any) -> None:
        """Other rules to stop by, for whoever opens the study from now on."""
        self._other_stop = stop
        self._stored.keep_setting("stop", stop)

    def __reduce__(self) -> Any:
        raise TypeError("A study is not sent to other processes: open it there, Study(name, storage).")

    def __repr__(self) -> str:
        return f"Study({self.name!r}, {self.storage!r})"

    # The loop

    @overload
    def ask(
        self,
        limit: int | None = None,
        *,
        share: int = 1,
        worker: str | None = None,
        lease: float | None = None,
        key: str | None = None,
    ) -> Task | None: ...

    @overload
    def ask(
        self,
        *,
        slots: int,
        distinct: bool = False,
        shared: Sequence[str | int] = (),
        worker: str | None = None,
        lease: float | None = None,
        key: str | None = None,
    ) -> list[Task]: ...

    @overload
    def ask(
        self,
        *,
        workers: int,
        distinct: bool = False,
        shared: Sequence[str | int] = (),
        worker: str | None = None,
        lease: float | None = None,
        key: str | None = None,
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
        lease: float | None = None,
        key: str | None = None,
    ) -> Task | list[Task] | None:
        """The next repeats to measure; None where there are none at the moment.

        Repeats whose time is over come first, then those of a batch that was decided before, then a new decision. There
        are none when the budget is spent (`finished`), or while the rest of it is assigned to other workers. The rules
        of `stop` end runs; whoever asks goes on beyond them, and `stopped` says whether one is met.

        limit: the most repeats. share: how many workers there are among whom to share a batch's repeats. worker: a name
        for whoever measures; by default this process, whose tasks are for others as soon as it ends. lease: for how
        many seconds, where that is not the study's. key: a name for this one question: asked again with the same key
        and worker, while the task is held, the answer is the same task.

        slots, workers, distinct, shared: a plan instead, as for `Optimizer.ask`: a list of tasks to be measured at the
        same time, fewer than wanted where that is all there is (a warning says why), or none. What waits from before
        comes first, unless candidates are to be distinct or to share a column.
        """
        most, among = None if limit is None else whole("limit", limit), whole("share", share)
        wish = Wish.of(slots, workers, distinct, shared, most)
        seconds = self.lease if lease is None else positive("lease", lease)
        request = Request(key_of(worker, key), seconds, most, among, wish)
        found = tasks_for(self._stored, request)
        if wish is None:
            return found[0] if found else None
        if found and (why := self.shortage(request, found)):
            notify(f"{why[0].upper()}{why[1:]}.", FewerSlots)
        return found

    def hand_out(self, request: Request) -> list[Task]:
        """What `ask` gives, for a request that was read already."""
        return tasks_for(self._stored, request)

    def shortage(self, request: Request, found: Sequence[Task]) -> str:
        """Why there is nothing to measure at the moment, or a plan has fewer measurements than wanted; else nothing."""
        return self._stored.read(lambda reader: shortage(reader, request, sum(task.repeats for task in found)))

    def tell(
        self,
        task: Task,
        values: Any = UNSET,
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
        self._stored.check_task(task)
        told = read_answer(values, stderr, successes, trials, self._stored.outcome)
        first = task.start if start is None else whole("start", start, 0)
        return telling.tell_all(self._stored, [(task, told, first)])

    def tell_all(self, told: Sequence[tuple[Task, Any, int]]) -> int:
        """The values of several tasks, each with the number of the first repeat told: all of them or none.

        They are stored together, in the time that one `tell` takes. Returns how many are new.
        """
        read = [(task, read_values(values, None, self.outcome), first) for task, values, first in told]
        return telling.tell_all(self._stored, read) if read else 0

    def teller(self) -> GroupWriter:
        """For whoever takes in the answers of many clients: they are stored together, each accepted by itself."""
        return GroupWriter(self._stored)

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
        key: str | None = None,
    ) -> None:
        """Measurements that were not asked for: values of one candidate, or their count, mean and sample std.

        Or of many at once, a sequence of indices or a table of rows, with one value each (or successes and trials);
        of no candidates there is nothing to take in.
        key: a name for this one call: called again with the same key, it counts once; with other values, it is refused.
        """
        given = FeedbackInput(values, stderr, n, mean, std, successes, trials)
        telling.observe(
            self._stored, candidate, given, None if key is None else replace(this_machine(), key=key_digest(key))
        )

    def observe_all(
        self,
        given: Sequence[tuple[Any, Mapping[str, Any]]],
        *,
        key: str | None = None,
        worker: str = "",
        token: str = "",
    ) -> int:
        """Measurements of many candidates, all of them or none: pairs of a candidate and what was measured of it.

        That is a `value`, with a `stderr` where it is known; or an average `value`, with the `count` and the `std` of
        what it averages; or `successes` and `trials`. Returns how many measurements are new. key: as for `observe`.
        worker: who measured it. token: the name of the token with which it was told over HTTP. Keys of another worker
        or token are others.
        """
        read = [read_pair(each, self.outcome) for each in given]
        rows: list[Any] = [candidate for candidate, _ in read if isinstance(candidate, Mapping)]
        if rows:
            self._stored.hold(rows)
        told = [(self.index(candidate), each) for candidate, each in read]
        source = replace(
            this_machine(), worker=check_worker(worker), token=token, key="" if key is None else key_digest(key)
        )
        return telling.observe_all(self._stored, told, source)

    def task(self, batch: int, start: int | None = None, repeats: int = 1) -> Task:
        """Repeats of a batch, by numbers, to be told: from `start` on, or the next ones that have no value."""
        first = None if start is None else whole("start", start, 0)
        return telling.task_of(self._stored, integer("batch", batch), first, whole("repeats", repeats))

    def close(self, batch: Task | int) -> None:
        """Give up the repeats of a batch that did not come; what came stays, and what comes late still counts."""
        if isinstance(batch, Task):
            self._stored.check_task(batch)
        number = batch.batch if isinstance(batch, Task) else integer("batch", batch)
        self._stored.write(lambda writer: log.close(writer, number))

    def release(self, task: Task, *, keep: int = 0) -> None:
        """Hand a task back, or all but the first `keep` of its repeats; those without a value are handed out again."""
        self._stored.check_task(task)
        telling.release(self._stored, task, whole("keep", keep, 0))

    def release_all(self, *, worker: str | None = None, batch: int | None = None, token: str | None = None) -> int:
        """Hand back all that is assigned to anybody, or to a worker, or of a batch; returns how many measurements.

        Nothing is lost: they are handed out again, and a value that is told by who had them still counts, if it comes
        first. `leases` lists them. token: only what was asked for with that token, over HTTP.
        """
        number = None if batch is None else whole("batch", batch, 0)
        worker = None if worker is None else check_worker(worker)
        freed = [0]  # of every try: one that was kept and not heard of leaves nothing for the next

        def change(writer: Writer) -> int:
            freed.append(free(writer, worker, number, token))
            return max(freed)

        return self._stored.write(change)

    def renew(self, what: Task | str, lease: float | None = None) -> int:
        """A task, or all that a worker holds, is assigned anew from now on; returns how many measurements that is.

        None of them where others have got them by now. lease: for how many seconds; by default as long as before.
        """
        if isinstance(what, Task):
            self._stored.check_task(what)
            return self.renew_held(what.key, None, lease)
        return self.renew_held(None, check_worker(what), lease)

    def renew_held(
        self, key: str | None, worker: str | None, lease: float | None = None, token: str | None = None
    ) -> int:
        """The same, of a task that is known by its key alone, or of a worker. token: as for `release_all`."""
        if key is None:
            held = self._stored.read(lambda reader: reader.leases())
            keys = {each.worker for each in held if is_of(each, worker or "", token)}
        else:
            keys = {key} if token in (None, token_of(key)) else set[str]()
        seconds, storage = None if lease is None else positive("lease", lease), self.storage
        found = storage.patiently(lambda: storage.renew(self.name, keys - {""}, seconds))
        return sum(each.count for each in found)

    def skip(self, task: Task, repeat: int) -> None:
        """A repeat of a task, by its number, will not be made: it neither counts nor is asked for again."""
        self._stored.check_task(task)
        telling.skip(self._stored, task, integer("repeat", repeat))

    # Putting right

    def retract(
        self,
        what: Any = None,
        *,
        value: float | None = None,
        number: int | Sequence[int] | None = None,
        batch: int | None = None,
        failures: bool = False,
        since: float | datetime = 0.0,
        why: str = "",
        again: bool = True,
    ) -> int:
        """Take measurements back, as if they had never been told; returns how many. The study keeps what they were.

        what: a task, for what was told of its own repeats; a batch, for all of it; or a candidate, with the `value`
        that is wrong (the last such one). number: of measurements, as `history` and warnings name them. batch: its
        number, for all that was told of it. failures: all that failed are taken back, or those of the candidate, the
        task or the tasks `what`; since a moment (a datetime, or seconds since 1970). why: kept with it. A batch below
        0 holds observations of one candidate, up to some hundreds: all of them are taken back.

        again: whether repeats of a batch that still waits for others are asked for again; of one that is over they
        never are.
        """
        words, listed = (
            line("why", why),
            MeasurementSelection(what, value, number, batch, failures, since).listed(self._stored),
        )
        return self._stored.write_once(
            lambda writer: len(revise(writer, dict.fromkeys(listed(writer)), words, self.outcome, again=again))
        )

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
        check_named(("number=", number is not None), ("candidate and old value", what is not None or old is not None))
        value, words = self.outcome.single(new), line("why", why)
        if number is None:
            number = last_of(self._stored, what, old)
        changes = {whole("number", number): value}
        self._stored.write_once(lambda writer: revise(writer, changes, words, self.outcome))

    def add(self, rows: Any, *, noise_std: Any = None, again: bool = False) -> list[int]:
        """More candidates from now on: a table or rows with the same columns. Returns their indices.

        noise_std: of the new rows, one number or one for each, where it was given one a row.
        again: whether rows that are there already are kept as rows of their own, and not left out.
        """
        return changing.add(self._stored, rows, noise_std, again=again)

    def retire(self, rows: Any) -> int:
        """Candidates that are not to be measured or recommended any more; returns how many rows that is.

        What was measured of them stays, and so do tasks under way.
        """
        return changing.retire(self._stored, rows)

    def restore(self, rows: Any) -> int:
        """Retired candidates may be measured again; returns how many rows that is."""
        return changing.restore(self._stored, rows)

    def allow(self, budget: int) -> None:
        """Another budget; not less than was measured already."""
        most = read_budget(budget)

        def change(writer: Writer) -> None:
            if most < writer.record.answered:
                raise InvalidSetting(
                    f"budget={most:,} is below the {writer.record.answered:,} measurements that were made already: "
                    "give at least as many, or leave it out."
                )
            writer.change(replace(writer.record, budget=most))

        if most != self._stored.read(lambda reader: reader.record.budget):
            self._stored.write(change)

    def backup(self, to: Any, *, replace: bool = False) -> None:
        """A copy of the study at this moment, while others go on with it; `to` is a file, or another storage's address.

        The copy is a study like any other: every row of it was checked. replace: whether to replace an older copy that
        is there; it stays until the new one is whole.
        """
        backup(self.storage, self.name, to, replace=flag("replace", replace))

    def note_program(self, program: str, version: str = "") -> str | None:
        """Keep in what way measurements are made now; returns in what way they were made before, if in another.

        The same program in another version is another way, where both versions are known.
        """

        def change(writer: Writer) -> str | None:
            kept, before = program_of(writer.record.settings)
            if (kept, before) == (program, version):
                return None
            writer.change(replace(writer.record, settings=with_program(writer.record.settings, program, version)))
            return kept if kept != program else f"{kept} (version {before})" if before and version else None

        return self._stored.write(change)

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
        on_failure: str = "pause",
        retry_every: float = RETRY_EVERY,
        give_up_after: float = GIVE_UP_AFTER,
        progress: bool | None = None,
        lease: float = RUN_LEASE,
        on_tell: Callable[[Task, list[float]], object] | None = None,
        on_best: Callable[[Best], object] | None = None,
        on_stop: Callable[[str], object] | None = None,
        listeners: Sequence[Listener] = (),
    ) -> Result:
        """Measure with f until the budget is spent, here and wherever else the study runs at the same time.

        f: called as f(candidate), and returns one measurement; with `vectorized=True` as f(candidate, repeats).
        executor: "threads" (the default), "processes", any Executor of concurrent.futures, or a client of Dask.
        workers: how many measurements go on at once.
        stop, catch, on_failure, retry_every, give_up_after, progress: as for `optimize`; rules are looked at whenever
        values were stored. While the run pauses, `status` says so.
        lease: seconds after the end of this process (a crash, a power cut) at which others are given what it was
        measuring. While it lives that is renewed, however long a measurement takes.
        on_tell, on_best, on_stop: as for `optimize`. listeners: called with every event of the run
        (`ostinato.running.events`).

        Every value is stored as it comes; quick ones together, up to five times a second. Ctrl-C waits for what is
        being measured, stores it, and ends the run with the result so far; a second one does not wait. The same call
        goes on.
        """
        if budget is not None:
            self.allow(budget)
        most, stop = self._stored.read(lambda reader: reader.record.budget), self.stop if stop is None else stop
        if most is None and stop is None:
            raise MissingSetting("A run needs an end: give budget=, or stop= with a rule of ostinato.stopping.")
        watched(stop)  # a rule that is none is refused before anything else is done
        how = OnFailure.of(on_failure, retry_every, give_up_after)
        measure = Measure(f, flag("vectorized", vectorized), exceptions(catch), self.outcome, how)
        events = Events(self.name, [*callbacks(on_tell, on_best, on_stop), *listeners])
        pauses.recover(self._stored)
        tasks = RunTasks(self, self._stored, positive("lease", lease), measured_with(f), judges=how.pauses)
        with Interrupts(tasks.hurry) as interrupts:
            try:
                with reporter(self.looked, most or 0, progress) as report, tasks:
                    ended = Run(tasks, measure, Pool(executor, workers), stop, report, events).until_the_end(interrupts)
                result = self.looked(lambda optimizer: result_of(optimizer, ended, self))
            except Unavailable:
                if interrupts.hurried:
                    raise KeyboardInterrupt from None  # what was asked for; why nothing can be said is clear
                raise
            finally:
                self.storage.calm()
            self.keep_answer()
            return result

    def keep_answer(self) -> None:
        """Store what `best` and `status` say of a large table: they are answered at once until something changes.

        `run` does so at its end, and when everybody measures. Where the storage does not answer, nothing is stored.
        """
        if not (self._stored.head.blocks or self._stored.head.shards):
            return  # it is soon worked out, from facts that are checked
        with suppress(OstinatoError), self._stored.lock:

            def find(reader: Reader) -> tuple[StudyRecord, Optimizer | None]:
                there = self._stored.has_code or last_answer(self._stored, reader) is not None
                return reader.record, None if there else self._stored.synced(reader).optimizer

            record, optimizer = self._stored.read(find)
            if optimizer is not None:
                keep(self._stored, record, answer_of(optimizer))
