"""The live progress line: measurements, the time left, the best so far with its interval, candidates and switches."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
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
Looked: TypeAlias = Callable[[Callable[[Optimizer], Any]], Any]
EVERY = 0.1  # seconds between two updates, at the least
SHARE = 20  # times as long as an update took: where the best is costly to tell, it is told less often
Z95 = 1.96


@contextmanager
def reporter(looked: Looked, budget: int, show: bool | None = None) -> Generator[Reporter, None, None]:
    """A function to call with the number of measurements not yet told; it draws ten times a second at most.

    Where nobody looks it draws nothing. looked: answers a question about the optimiser.
    """
    console = Console(stderr=True)
    if not (console.is_terminal if show is None else show):
        yield lambda _: None
        return
    columns = (
        BarColumn(bar_width=8),
        TextColumn(
            "{task.completed:,}/{task.total:,}",
            table_column=Column(no_wrap=True, min_width=2 * len(f"{budget:,}") + 1),
        ),
        TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True, min_width=5)),
        TextColumn("left{task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=console, refresh_per_second=10) as bar:
        task = bar.add_task("", total=budget)
        last = wait = 0.0

        def draw(measured: int) -> None:
            done, words = looked(lambda optimizer: (optimizer.steps + optimizer.failures, describe(optimizer)))
            bar.update(task, completed=done + measured, description=words)

        def report(measured: int) -> None:
            nonlocal last, wait
            start = monotonic()
            if start - last >= wait:
                draw(measured)
                last = monotonic()
                wait = max(EVERY, SHARE * (last - start))

        report(0)
        yield report
        draw(0)


def describe(optimizer: Optimizer) -> str:
    """Where a run stands, in a line."""
    if optimizer.unique == 0:
        return ""
    _, mean, std = optimizer.leader()
    candidates = counted(optimizer.unique, "candidate")
    switches = counted(optimizer.switches, "switch", "switches")
    failed = f" · {optimizer.failures:,} failed" if optimizer.failures else ""
    return f" · best {mean:.4g} ± {Z95 * std:.2g} · {candidates} · {switches}{failed}"
