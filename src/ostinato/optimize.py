"""`optimize`: the whole loop in one call, with progress, and Ctrl-C that loses nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from inspect import signature
from math import isfinite, nan
from typing import Any, cast

import numpy as np

from ostinato.checks import counted, flag, number, whole
from ostinato.errors import Failed, InvalidFeedback, InvalidSetting, NothingToAsk
from ostinato.interrupts import Interrupts
from ostinato.optimizer import Optimizer
from ostinato.progress import Reporter, reporter
from ostinato.records import Batch, Best, Certificate, Costs, Learned
from ostinato.stopping import Rule, Spent, spending, watched

HOPELESS = 20  # failures in a row, with no success before them, at which a run ends


@dataclass(frozen=True)
class Result:
    """What a run found, and what it took. `optimizer` answers further questions, and can go on.

    ended: "budget" when it was spent, "interrupted" by Ctrl-C, "exhausted" when every candidate reached its cap or
    failed, or the stopping rule that held.
    """

    best: Best
    steps: int
    failures: int
    epochs: int
    switches: int
    unique: int
    costs: Costs
    learned: Learned
    certificate: Certificate | None
    misfit: str  # the diagnosis where the model does not fit the data, else nothing
    ended: str
    optimizer: Optimizer

    @property
    def interrupted(self) -> bool:
        return self.ended == "interrupted"

    def __str__(self) -> str:
        failed = f", {self.failures:,} more failed" if self.failures else ""
        lines = [
            f"best        {self.best}",
            f"run         {counted(self.steps, 'measurement')} of {counted(self.unique, 'candidate')}, "
            f"{counted(self.switches, 'switch', 'switches')}{failed}",
        ]
        if self.costs.switch_cost:
            lines.append(f"cost        {self.costs}")
        if self.optimizer.keeps_setups:
            lines.append(f"set-ups     {self.epochs:,}, one a batch")
        if self.misfit:
            lines.append(f"doubt       {self.misfit}")
        if not self.learned.guaranteed:
            lines.append(f"learned     {self.learned}")
            lines.append(
                "            (learned from the same measurements: the regret guarantee does not hold as proved)"
            )
        if self.certificate is not None:
            lines.append(f"certificate {self.certificate}")
        if self.ended not in ("budget", "exhausted", "interrupted"):
            lines.append(f"            stopped by {self.ended}")
        if self.ended == "interrupted":
            lines.append("            interrupted: this is the result so far")
        if self.ended == "exhausted":
            lines.append(
                "            no candidate was left to measure (caps on repeats, failures) before the budget was spent"
            )
        return "\n".join(lines)


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
    settings: everything `Optimizer` takes: goal, direction, seed, switch_cost, setup_std, kernel, noise_std, …

    Ctrl-C ends the run with the result so far, the measurements of the unfinished batch included. An error raised
    by f is passed on, with the optimiser so far as its attribute `optimizer`.
    """
    budget, rules = whole("budget", budget), watched(stop)
    _check_names(settings)
    measure = _Measure(f, flag("vectorized", vectorized), _exceptions(catch))
    optimizer = Optimizer(candidates, budget=budget, **settings)
    with Interrupts() as interrupts:
        with reporter(optimizer, budget, progress) as report:
            ended = _run(measure, optimizer, budget, rules, spending(stop), report, interrupts)
        return Result(
            best=optimizer.best(),
            steps=optimizer.steps,
            failures=optimizer.failures,
            epochs=optimizer.epochs,
            switches=optimizer.switches,
            unique=optimizer.unique,
            costs=optimizer.costs,
            learned=optimizer.learned,
            certificate=optimizer.certificate,
            misfit=_misfit(optimizer),
            ended=ended,
            optimizer=optimizer,
        )


def _misfit(optimizer: Optimizer) -> str:
    diagnosis = optimizer.diagnose()
    return diagnosis.verdict if diagnosis.fits is False else ""


def _run(
    measure: "_Measure",
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
            left = [limit.affordable(optimizer, batch) for limit in limits]
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
    measure: "_Measure", optimizer: Optimizer, batch: Batch, repeats: int, report: Reporter, interrupts: Interrupts
) -> None:
    """Measure a batch, or some of its repeats; what was measured when something stops it is told all the same."""
    values: list[Any] = []
    try:
        with interrupts.released():
            measure(batch, repeats, values, report)
    finally:
        if values:
            optimizer.tell(batch, values)
    if repeats < batch.repeats:
        optimizer.close(batch)


def _check_names(settings: dict[str, Any]) -> None:
    """A misspelt setting, with the name that may have been meant."""
    known = [name for name in signature(Optimizer).parameters if name not in ("candidates", "budget")]
    for name in settings:
        if name not in known:
            near = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"Did you mean {near[0]}? " if near else ""
            raise InvalidSetting(f"There is no setting {name!r}. {hint}The settings are {', '.join(known)}.")


def _exceptions(catch: Any) -> tuple[type[Exception], ...]:
    given: tuple[Any, ...] = tuple(cast("list[Any]", catch)) if isinstance(catch, (list, tuple)) else (catch,)
    if not all(isinstance(each, type) and issubclass(each, Exception) for each in given):
        raise InvalidSetting(f"catch={catch!r} names no exceptions: give classes, as in catch=(TimeoutError, OSError).")
    return given


def _check_hopeless(optimizer: Optimizer) -> None:
    if optimizer.steps == 0 and optimizer.failures >= HOPELESS:
        raise InvalidFeedback(
            f"The first {optimizer.failures} measurements all failed, of as many candidates: see that f "
            "returns a number for any candidate at all."
        )


@dataclass(frozen=True)
class _Measure:
    """Calls the user's function for a batch, and appends what comes to `values`; failures as NaN."""

    f: Callable[..., Any]
    vectorized: bool
    catch: tuple[type[Exception], ...]

    def __call__(self, batch: Batch, repeats: int, values: list[Any], report: Reporter) -> None:
        if self.vectorized:
            values.extend(self._all(batch, repeats))
            return
        for _ in range(repeats):
            values.append(self._one(batch))
            report(len(values))

    def _one(self, batch: Batch) -> float:
        try:
            value = self.f(batch.candidate)
        except (Failed, *self.catch):
            return nan
        result = nan if value is None else number(value)
        if not isfinite(result) and not _is_nan(value):
            raise InvalidFeedback(
                f"f returned {value!r} for {batch.candidate}: it must return one finite number a call, or NaN or None "
                "where the measurement failed."
            )
        return result

    def _all(self, batch: Batch, repeats: int) -> Any:
        try:
            answer = np.asarray(self.f(batch.candidate, repeats))
        except (Failed, *self.catch):
            return [nan] * repeats
        if answer.shape != (repeats,):
            raise InvalidFeedback(
                f"f returned shape {answer.shape} for {repeats} repeats of {batch.candidate}: with "
                f"vectorized=True it must return {repeats} numbers."
            )
        return answer.tolist()


def _is_nan(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and value != value)
