"""`optimize`: the whole loop in one call, in memory, with progress, and Ctrl-C that loses nothing."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from ostinato.checks import counted, flag, whole
from ostinato.measurements.outcomes import outcome_of
from ostinato.optimizer import Optimizer
from ostinato.optimizer.settings import check_names
from ostinato.records import Batch, Best
from ostinato.running.events import Events, callbacks
from ostinato.running.executors import CallingThread
from ostinato.running.interrupts import Interrupts
from ostinato.running.loop import Run
from ostinato.running.measure import Measure, exceptions
from ostinato.running.on_failure import GIVE_UP_AFTER, RETRY_EVERY, OnFailure
from ostinato.running.pausing import Pause
from ostinato.running.progress import reporter
from ostinato.running.result import Result, result_of
from ostinato.running.task import Place, Task
from ostinato.stopping import watched

T = TypeVar("T")


def optimize(
    f: Callable[..., Any],
    candidates: Any,
    *,
    budget: int,
    stop: Any = None,
    vectorized: bool = False,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    on_failure: str = "pause",
    retry_every: float = RETRY_EVERY,
    give_up_after: float = GIVE_UP_AFTER,
    progress: bool | None = None,
    on_tell: Callable[[Task, list[float]], object] | None = None,
    on_best: Callable[[Best], object] | None = None,
    on_stop: Callable[[str], object] | None = None,
    **settings: Any,
) -> Result:
    """Find the candidate with the highest true value of a noisy function. Nothing has to be tuned.

    f: called as f(candidate) and returns one measurement; with `vectorized=True`, called as f(candidate, repeats)
        and returns `repeats` of them. A measurement that failed is NaN or None, or raises `ostinato.errors.Failed`.
    budget: how many measurements may be made, those that fail included.
    stop: a rule of `ostinato.stopping`, or several, by which to stop before that.
    catch: other exceptions of f that mean that a measurement failed.
    on_failure: "pause" while nothing can be measured whatever the candidate, and count other failures; "count" every
        failure; or "stop" at the first.
    retry_every, give_up_after: seconds of the first pause, the next ones being longer, and of an outage that ends the
        run. Failures of an outage do not count.
    progress: whether to show a progress line; by default where a person is looking.
    on_tell: called as on_tell(task, values) when values were taken in. on_best: as on_best(best) when another candidate
        is recommended. on_stop: as on_stop(why) at the end. What they raise ends the run.
    settings: everything `Optimizer` takes: goal, direction, seed, outcome, switch_cost, setup_std, kernel, …

    f is called in the thread that calls `optimize`. Ctrl-C ends the run with the result so far, the measurements of the
    unfinished batch included. An error raised by f is passed on, with the optimiser so far as its attribute
    `optimizer`.
    """
    budget = whole("budget", budget)
    watched(stop)  # a rule that is none is refused before anything else is done
    check_names(settings, Optimizer, ("budget", "stop"))
    outcome = outcome_of(settings.get("outcome", "real"))
    how = OnFailure.of(on_failure, retry_every, give_up_after)
    measure = Measure(f, flag("vectorized", vectorized), exceptions(catch), outcome, how)
    optimizer = Optimizer(candidates, budget=budget, **settings)
    tasks, events = InMemory(optimizer, budget), Events("", callbacks(on_tell, on_best, on_stop))
    with Interrupts() as interrupts:
        with reporter(tasks.looked, budget, progress) as report:
            try:
                ended = Run(tasks, measure, CallingThread(report), stop, report, events).until_the_end(interrupts)
            except Exception as error:
                error.optimizer = optimizer  # type: ignore[attr-defined]
                measured = counted(optimizer.steps, "measurement")
                error.add_note(f"Raised after {measured}, kept in this error's attribute `optimizer`.")
                raise
        return result_of(optimizer, ended)


class InMemory:
    """The tasks of a run that nobody else works on: each is a whole batch of an optimiser, and told once."""

    def __init__(self, optimizer: Optimizer, budget: int) -> None:
        self._optimizer, self._budget = optimizer, budget
        self._batch: Batch | None = None  # the one that is being measured

    def ask(self, limit: int | None = None, *, share: int = 1) -> Task | None:
        """The next batch, as one task."""
        left = self._budget - self._done
        if left == 0:
            return None
        self._batch = batch = self._optimizer.ask(left if limit is None else min(left, limit))
        return Task("", batch.id, batch.index, batch.candidate, 0, batch.repeats)

    def tell(self, task: Task, values: Any, *, start: int | None = None) -> int:
        """The values of the batch at hand; what is missing will not come."""
        batch, self._batch = self._batch, None
        if batch is None:
            return 0
        try:
            self._optimizer.tell(batch, values)
        finally:
            self._close(batch)
        return len(values)

    def tell_all(self, told: Sequence[tuple[Task, Any, int]]) -> int:
        """There is one task at a time."""
        return sum(self.tell(task, values) for task, values, _ in told)

    def release(self, task: Task, *, keep: int = 0) -> None:
        """A batch that is not measured is given up, so that whoever goes on with the optimiser decides anew."""
        if keep == 0 and self._batch is not None:
            self._close(self._batch)
            self._batch = None

    def _close(self, batch: Batch) -> None:
        if self._optimizer.core.waits_for(batch.id):
            self._optimizer.close(batch)

    def in_hand(self) -> Mapping[int, int]:
        """How many repeats of each batch, by its number, are assigned."""
        return {} if self._batch is None else {self._batch.id: self._batch.repeats}

    def waiting(self) -> str | None:
        """Nobody else works on it."""

    @property
    def finished(self) -> bool:
        return self._done >= self._budget

    @property
    def _done(self) -> int:
        return self._optimizer.steps + self._optimizer.failures

    def looked(self, question: Callable[[Optimizer], T]) -> T:
        return question(self._optimizer)

    def failed_in_rows(self) -> list[list[Task]]:
        """There are no other runs."""
        return [[]]

    def take_back_rest(self, *, over: bool) -> Collection[Place]:
        """There are no other runs."""
        return ()

    def observe_probe(self, task: Task, values: list[float], seconds: float) -> None:
        """A measurement that was not asked for."""
        self._optimizer.observe(task.index, values)

    def retract(self, what: Any = None, *, failures: bool = False, why: str = "") -> int:
        """Take the failures among the repeats of some tasks back."""
        return self._optimizer.core.retract_failures({(task.batch, task.start) for task in what})

    def keep_answer(self) -> None:
        """Nobody else looks at it."""

    def keep_pause(self, pause: Pause | None) -> None:
        """Nobody else looks at it."""

    def put_aside(self, told: Sequence[tuple[Task, Sequence[float]]]) -> None:
        """What an optimiser in memory does not take, nobody does."""

    def take_in_again(self) -> None:
        """Nothing is ever put aside."""

    def hurry(self) -> None:
        """Nothing is ever waited for."""
