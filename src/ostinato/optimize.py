"""`optimize`: the whole loop in one call, with progress, and Ctrl-C that loses nothing."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from types import FrameType
from typing import Any

import numpy as np

from ostinato.checks import number, whole
from ostinato.errors import InvalidFeedback
from ostinato.optimizer import Optimizer
from ostinato.progress import Reporter, reporter
from ostinato.records import Batch, Best, Certificate


@dataclass(frozen=True)
class Result:
    """What a run found, and what it took. `optimizer` answers further questions, and can go on."""

    best: Best
    steps: int
    epochs: int
    switches: int
    unique: int
    certificate: Certificate | None
    interrupted: bool
    optimizer: Optimizer

    def __str__(self) -> str:
        lines = [
            f"best        {self.best}",
            f"run         {self.steps:,} measurements of {self.unique:,} candidates, {self.switches:,} switches",
        ]
        if self.certificate is not None:
            lines.append(f"certificate {self.certificate}")
        if self.interrupted:
            lines.append("            interrupted: this is the result so far")
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
    with reporter(optimizer, budget, progress) as report:
        interrupted = _run(f, optimizer, budget, vectorized, report)
    return Result(
        best=optimizer.best(),
        steps=optimizer.steps,
        epochs=optimizer.epochs,
        switches=optimizer.switches,
        unique=optimizer.unique,
        certificate=optimizer.certificate,
        interrupted=interrupted,
        optimizer=optimizer,
    )


def _run(f: Callable[..., Any], optimizer: Optimizer, budget: int, vectorized: bool, report: Reporter) -> bool:
    """Ask, evaluate, tell, until the budget is spent; True when interrupted."""
    measure = _measure_at_once if vectorized else _measure_singly
    try:
        while optimizer.steps < budget:
            with interrupts_held():
                batch = optimizer.ask(limit=budget - optimizer.steps)
            values: list[Any] = []
            try:
                measure(f, batch, values)
            finally:
                if values:
                    with interrupts_held():
                        optimizer.tell(batch, values[0] if vectorized else values)
            report()
    except KeyboardInterrupt:
        if optimizer.steps == 0:
            raise
        return True
    except Exception as error:
        error.optimizer = optimizer  # type: ignore[attr-defined]
        error.add_note(
            f"Raised after {optimizer.steps:,} measurements, which are kept in this error's attribute `optimizer`."
        )
        raise
    return False


@contextmanager
def interrupts_held() -> Generator[None, None, None]:
    """Ctrl-C within waits for the end, so that a measurement is taken in whole or not at all."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[tuple[int, FrameType | None]] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))

    handler = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came and callable(handler):
            handler(*came[0])


def _measure_singly(f: Callable[..., Any], batch: Batch, values: list[Any]) -> None:
    for _ in range(batch.repeats):
        values.append(_one(f(batch.candidate), batch))  # noqa: PERF401  (what came before an error is kept)


def _measure_at_once(f: Callable[..., Any], batch: Batch, values: list[Any]) -> None:
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
