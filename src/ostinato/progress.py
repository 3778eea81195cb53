"""The live progress line: steps, epochs, unique candidates, the best so far with its interval, and the time left."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TypeAlias

from ostinato.optimizer import Optimizer

Reporter: TypeAlias = Callable[[], None]
EVERY = 0.1  # seconds between two updates
Z95 = 1.96


@contextmanager
def reporter(optimizer: Optimizer, budget: int, show: bool | None = None) -> Generator[Reporter, None, None]:
    """A function to call after every batch; it draws at most ten times a second, and not at all where nobody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    from rich.table import Column

    console = Console(stderr=True)
    if not (console.is_terminal if show is None else show):
        yield lambda: None
        return
    columns = (
        BarColumn(bar_width=8),
        TextColumn(
            "{task.completed:,}/{task.total:,}", table_column=Column(no_wrap=True, min_width=2 * len(f"{budget:,}") + 1)
        ),
        TimeRemainingColumn(compact=True, table_column=Column(no_wrap=True, min_width=5)),
        TextColumn("left · {task.description}", table_column=Column(no_wrap=True, overflow="ellipsis")),
    )
    with Progress(*columns, console=console, refresh_per_second=10) as bar:
        task = bar.add_task("", total=budget)
        last = 0.0

        def report() -> None:
            nonlocal last
            if monotonic() - last >= EVERY or optimizer.steps >= budget:
                bar.update(task, completed=optimizer.steps, description=describe(optimizer))
                last = monotonic()

        yield report


def describe(optimizer: Optimizer) -> str:
    """Where a run stands, in a line."""
    _, mean, std = optimizer.leader()
    return (
        f"best {mean:.4g} [dim]({mean - Z95 * std:.4g} to {mean + Z95 * std:.4g})[/dim] · "
        f"{optimizer.epochs:,} epochs · {optimizer.unique:,} candidates"
    )
