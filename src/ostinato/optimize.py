"""`optimize`: the whole loop in one call, with progress, and Ctrl-C that loses nothing."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

import numpy as np

from ostinato.checks import counted, number, whole
from ostinato.errors import InvalidFeedback, NothingToAsk
from ostinato.interrupts import Interrupts
from ostinato.optimizer import Optimizer
from ostinato.progress import Reporter, reporter
from ostinato.records import Batch, Best, Certificate


@dataclass(frozen=True)
class Result:
    """What a run found, and what it took. `optimizer` answers further questions, and can go on.

    ended: "budget" when it was spent, "interrupted" by Ctrl-C, or "exhausted" when every candidate reached its cap.
    """

    best: Best
    steps: int
    epochs: int
    switches: int
    unique: int
    certificate: Certificate | None
    ended: Literal["budget", "interrupted", "exhausted"]
    optimizer: Optimizer

    @property
    def interrupted(self) -> bool:
        return self.ended == "interrupted"

    def __str__(self) -> str:
        lines = [
            f"best        {self.best}",
            f"run         {counted(self.steps, 'measurement')} of {counted(self.unique, 'candidate')}, "
            f"{counted(self.switches, 'switch', 'switches')}",
        ]
        if self.certificate is not None:
            lines.append(f"certificate {self.certificate}")
        if self.ended == "interrupted":
            lines.append("            interrupted: this is the result so far")
        if self.ended == "exhausted":
            lines.append("            every candidate reached its cap on repeats before the budget was spent")
        return "\n".join(lines)


def optimize(
    f: Callable[..., Any],
    candidates: Any,
    *,
    budget: int,
    vectorized: bool = False,
    progress: bool | None = None,
    **settings: Any,
) -> Result:
    """Find the candidate with the highest true value of a noisy function.

    f: called as f(candidate) and returns one measurement; with `vectorized=True`, called as f(candidate, repeats)
        and returns `repeats` of them.
    budget: how many measurements may be made.
    progress: whether to show a progress line; by default where a person is looking.
    settings: everything `Optimizer` takes: kernel, noise_std, policy, mean, direction, seed, …

    Ctrl-C ends the run with the result so far, the measurements of the unfinished batch included. An error raised
    by f is passed on, with the optimiser so far as its attribute `optimizer`.
    """
    budget = whole("budget", budget)
    optimizer = Optimizer(candidates, **settings)
    with Interrupts() as interrupts:
        with reporter(optimizer, budget, progress) as report:
            ended = _run(f, optimizer, budget, vectorized, report, interrupts)
        return Result(
            best=optimizer.best(),
            steps=optimizer.steps,
            epochs=optimizer.epochs,
            switches=optimizer.switches,
            unique=optimizer.unique,
            certificate=optimizer.certificate,
            ended=ended,
            optimizer=optimizer,
        )


def _run(
    f: Callable[..., Any],
    optimizer: Optimizer,
    budget: int,
    vectorized: bool,
    report: Reporter,
    interrupts: Interrupts,
) -> Literal["budget", "interrupted", "exhausted"]:
    """Ask, evaluate, tell, until the budget is spent; returns why it ended."""
    measure = _measure_at_once if vectorized else _measure_singly
    try:
        while optimizer.steps < budget:
            batch = optimizer.ask(limit=budget - optimizer.steps)
            values: list[Any] = []
            try:
                with interrupts.released():
                    measure(f, batch, values, report)
            finally:
                if values:
                    optimizer.tell(batch, values[0] if vectorized else values)
            report(0)
    except KeyboardInterrupt:
        if optimizer.steps == 0:
            raise
        return "interrupted"
    except NothingToAsk:
        return "exhausted"
    except Exception as error:
        error.optimizer = optimizer  # type: ignore[attr-defined]
        error.add_note(
            f"Raised after {counted(optimizer.steps, 'measurement')}, kept in this error's attribute `optimizer`."
        )
        raise
    return "budget"


def _measure_singly(f: Callable[..., Any], batch: Batch, values: list[Any], report: Reporter) -> None:
    for _ in range(batch.repeats):
        values.append(_one(f(batch.candidate), batch))
        report(len(values))


def _measure_at_once(f: Callable[..., Any], batch: Batch, values: list[Any], report: Reporter) -> None:
    answer = np.asarray(f(batch.candidate, batch.repeats))
    if answer.shape != (batch.repeats,):
        raise InvalidFeedback(
            f"f returned shape {answer.shape} for {batch.repeats} repeats of {batch.candidate}: with vectorized=True "
            f"it must return {batch.repeats} numbers."
        )
    values.append(answer)


def _one(value: Any, batch: Batch) -> float:
    """One finite number, or an error that names the candidate."""
    result = number(value)
    if not isfinite(result):
        raise InvalidFeedback(f"f returned {value!r} for {batch.candidate}: it must return one finite number a call.")
    return result
