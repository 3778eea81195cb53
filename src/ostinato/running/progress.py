"""The live progress line: measurements, the time left, the best so far with its interval, candidates and switches."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import datetime
from time import monotonic
from typing import Any, TypeAlias

# Imported here and not when first needed: rich draws from Python's global `random` when it is imported, and would
# change the numbers of a user who has seeded it before calling optimize.
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from ostinato.checks import counted
from ostinato.optimizer import Optimizer

Reporter: TypeAlias = Callable[[int], None]
Draw: TypeAlias = Callable[[int, int, str], None]
AskOptimizer: TypeAlias = Callable[[Callable[[Optimizer], Any]], Any]
LINES = 60.0  # seconds between two lines where there is no terminal to draw on
EVERY = 0.1  # seconds between two updates, at the least
SHARE = 20  # times as long as an update took: where the best is costly to tell, it is told less often
Z95 = 1.96
FIRST = "looking at the candidates"  # shown until the first answer is there, which takes seconds for a million


@contextmanager
def reporter(looked: AskOptimizer, budget: int, show: bool | None = None) -> Generator[Reporter, None, None]:
    """A function to call with the number of measurements not yet told; it draws ten times a second at most.

    Where nobody looks it draws nothing; where it is to draw and there is no terminal, it writes a line a minute.
    looked: answers a question about the optimiser.
    """
    console = Console(stderr=True)
    if not (console.is_terminal if show is None else show):
        yield lambda _: None
        return
    with _bar(console, budget) if console.is_terminal else _lines(console) as draw:
        last, wait = 0.0, 0.0

        def report(measured: int) -> None:
            nonlocal last, wait
            start = monotonic()
            if start - last >= wait:
                done, total, words = looked(_where)
                draw(done + measured, total or budget, words)
                last = monotonic()
                wait = max(EVERY if console.is_terminal else LINES, SHARE * (last - start))

        report(0)
        yield report
        done, total, words = looked(_where)
        draw(done, total or budget, words)


@contextmanager
def _bar(console: Console, budget: int) -> Generator[Draw, None, None]:
    columns = (
        BarColumn(bar_width=16),
        TextColumn("{task.fields[made]}", table_column=Column(no_wrap=True, min_width=len(_made(budget, budget)))),
        TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True, min_width=5)),
        TextColumn("{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=console, refresh_per_second=10) as bar:
        task = bar.add_task(FIRST, total=budget or None, made="")

        def draw(done: int, total: int, words: str) -> None:
            rest = f"left{words}" if total else words
            bar.update(task, completed=done, total=total or None, made=_made(done, total), description=rest)

        yield draw


@contextmanager
def _lines(console: Console) -> Generator[Draw, None, None]:
    def draw(done: int, total: int, words: str) -> None:
        console.print(f"{datetime.now():%H:%M:%S}  {_made(done, total)}{words}", highlight=False, soft_wrap=True)

    yield draw


def _made(done: int, total: int) -> str:
    """How many of how many; a run may have another end than a budget (0)."""
    return f"{done:,}/{total:,}" if total else f"{done:,}"


def _where(optimizer: Optimizer) -> tuple[int, int | None, str]:
    """Measurements made, how many there will be, and the rest in words."""
    return optimizer.steps + optimizer.failures, optimizer.budget, describe(optimizer)


def describe(optimizer: Optimizer) -> str:
    """Where a run stands, in a line."""
    if optimizer.unique == 0:
        return ""
    if not optimizer.has_best:
        return ""
    _, mean, std = optimizer.leader()
    candidates = counted(optimizer.unique, "candidate")
    switches = counted(optimizer.switches, "switch", "switches")
    failed = f" · {optimizer.failures:,} failed" if optimizer.failures else ""
    return f" · best {mean:.4g} ± {Z95 * std:.2g} · {candidates} · {switches}{failed}"
