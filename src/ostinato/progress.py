"""The live progress line: steps, epochs, unique candidates, the best so far with its interval, and the time left."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TypeAlias

# Imported here and not when first needed: rich draws from Python's global `random` when it is imported, and would
# change the numbers of a user who has seeded it before calling optimize.
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from ostinato.checks import counted
from ostinato.optimizer import Optimizer

Reporter: TypeAlias = Callable[[int], None]
EVERY = 0.1  # seconds between two updates, at the least
SHARE = 20  # times as long as an update took: where the best is costly to tell, it is told less often
Z95 = 1.96


@contextmanager
def reporter(optimizer: Optimizer, budget: int, show: bool | None = None) -> Generator[Reporter, None, None]:
    """A function to call with the number of measurements not yet told; it draws ten times a second at most.

    Where nobody looks it draws nothing.
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

        def report(measured: int) -> None:
            nonlocal last, wait
            done, start = optimizer.steps + measured, monotonic()
            if start - last >= wait or done >= budget:
                bar.update(task, completed=done, description=describe(optimizer))
                last = monotonic()
                wait = max(EVERY, SHARE * (last - start))

        yield report


def describe(optimizer: Optimizer) -> str:
    """Where a run stands, in a line."""
    if optimizer.unique == 0:
        return ""
    _, mean, std = optimizer.leader()
    return f" · best {mean:.4g} ± {Z95 * std:.2g} · {counted(optimizer.epochs, 'epoch')} · {optimizer.unique:,} unique"
