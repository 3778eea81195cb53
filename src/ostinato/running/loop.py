"""`optimize`: the whole loop in one call, with progress, and Ctrl-C that loses nothing."""

from collections.abc import Callable
from typing import Any

from ostinato.checks import counted, flag, whole
from ostinato.errors import InvalidFeedback, NothingToAsk
from ostinato.measurements.outcomes import outcome_of
from ostinato.optimizer import Optimizer
from ostinato.optimizer.settings import check_names
from ostinato.records import Batch
from ostinato.running.interrupts import Interrupts
from ostinato.running.measure import Measure, exceptions
from ostinato.running.progress import Reporter, reporter
from ostinato.running.result import Result, result_of
from ostinato.stopping import Rule, Spent, spending, watched

HOPELESS = 20  # failures in a row, with no success before them, at which a run ends


def optimize(
    f: Callable[..., Any],
    candidates: Any,
    *,
    budget: int,
    stop: Any = None,
    vectorized: bool = False,
    catch: type[Exception] | tuple[type[Exception], ...] = (),
    progress: bool | None = None,
    **settings: Any,
) -> Result:
    """Find the candidate with the highest true value of a noisy function. Nothing has to be tuned.

    f: called as f(candidate) and returns one measurement; with `vectorized=True`, called as f(candidate, repeats)
        and returns `repeats` of them. A measurement that failed is NaN or None, or raises `ostinato.errors.Failed`.
    budget: how many measurements may be made, those that fail included.
    stop: a rule of `ostinato.stopping`, or several, by which to stop before that.
    catch: other exceptions of f that mean that a measurement failed.
    progress: whether to show a progress line; by default where a person is looking.
    settings: everything `Optimizer` takes: goal, direction, seed, outcome, switch_cost, setup_std, kernel, …

    Ctrl-C ends the run with the result so far, the measurements of the unfinished batch included. An error raised
    by f is passed on, with the optimiser so far as its attribute `optimizer`.
    """
    budget, rules = whole("budget", budget), watched(stop)
    check_names(settings, Optimizer)
    outcome = outcome_of(settings.get("outcome", "real"))
    measure = Measure(f, flag("vectorized", vectorized), exceptions(catch), outcome)
    optimizer = Optimizer(candidates, budget=budget, **settings)
    with Interrupts() as interrupts:
        with reporter(lambda question: question(optimizer), budget, progress) as report:
            ended = _run(measure, optimizer, budget, rules, spending(stop), report, interrupts)
        return result_of(optimizer, ended)


def _run(
    measure: Measure,
    optimizer: Optimizer,
    budget: int,
    rules: list[tuple[str, Rule]],
    limits: list[Spent],
    report: Reporter,
    interrupts: Interrupts,
) -> str:
    """Ask, evaluate, tell, until the budget is spent or a rule holds; returns why it ended."""
    try:
        while (done := optimizer.steps + optimizer.failures) < budget:
            batch = optimizer.ask(limit=budget - done)
            left = [limit.affordable(optimizer, {batch.id: 0}) for limit in limits]
            if min(left, default=1) < 1:
                optimizer.close(batch)
                return repr(limits[left.index(min(left))])
            _measure(measure, optimizer, batch, min([batch.repeats, *left]), report, interrupts)
            report(0)
            _check_hopeless(optimizer)
            for name, rule in rules if optimizer.steps else ():
                if rule(optimizer):
                    return name
    except KeyboardInterrupt:
        if optimizer.steps == 0:
            raise
        return "interrupted"
    except NothingToAsk:
        if optimizer.steps == 0:
            raise
        return "exhausted"
    except Exception as error:
        error.optimizer = optimizer  # type: ignore[attr-defined]
        error.add_note(
            f"Raised after {counted(optimizer.steps, 'measurement')}, kept in this error's attribute `optimizer`."
        )
        raise
    return "budget"


def _measure(
    measure: Measure, optimizer: Optimizer, batch: Batch, repeats: int, report: Reporter, interrupts: Interrupts
) -> None:
    """Measure a batch, or some of its repeats; what was measured when something stops it is told all the same."""
    values: list[Any] = []
    try:
        with interrupts.released():
            measure(batch.candidate, repeats, values, report)
    finally:
        if values:
            optimizer.tell(batch, values)
    if repeats < batch.repeats:
        optimizer.close(batch)


def _check_hopeless(optimizer: Optimizer) -> None:
    if optimizer.steps == 0 and optimizer.failures >= HOPELESS:
        raise InvalidFeedback(
            f"The first {optimizer.failures} measurements all failed, of as many candidates: see that f "
            "returns a number for any candidate at all."
        )
