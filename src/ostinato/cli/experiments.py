"""`ostinato problems`, `reproduce` and `compare`: the experiments from the command line."""

import signal
from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ostinato.errors import InvalidSetting, MissingSetting
from ostinato.problems import catalogue
from ostinato.running.tables import show

Workers = Annotated[
    int | None, typer.Option(min=1, help="How many runs at a time, one core each. By default all cores.")
]
KEPT = "Where runs, tables, figures and the report go; finished runs there are kept."
GroupFolder = Annotated[
    Path | None,
    typer.Option(help=f"{KEPT} By default results/GROUP in the current folder (results/GROUP-quick with --quick)."),
]
ComparisonFolder = Annotated[
    Path,
    typer.Option(help=f"{KEPT} The default is in the current folder, and the next comparison uses it again."),
]


NAMES = (
    "mini-GP-UCB, mini-GP-EI, mini-GP-TS, GP-UCB, GP-EI, GP-TS, GP-BUCB, GP-BTS, BKB, BBKB, RS-OFUL, e-greedy, uniform"
)


class Group(StrEnum):
    """The groups of problems."""

    synthetic = "synthetic"
    coco = "coco"
    nas201 = "nas201"
    hpolib = "hpolib"
    hpobench = "hpobench"
    nas101 = "nas101"


def problems() -> None:
    """List the ready problems: how many candidates they have, of how many columns, and how measurements scatter.

    The truth of each is known, so that regret is exact. Real tables hold several trainings of each configuration: a
    measurement draws one of them at random, and the truth is their mean.
    """
    table = Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1), pad_edge=False)
    table.add_column("problem", no_wrap=True)
    for name in ("candidates", "columns"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("a measurement", no_wrap=True)
    missing: dict[str, None] = {}
    entries = catalogue()
    for entry, following in zip(entries, [*entries[1:], None], strict=True):
        size, columns = (f"{number:,}" if number else "?" for number in (entry.size, entry.columns))
        ends = following is None or following.group != entry.group
        table.add_row(entry.name, size, columns, entry.noise, end_section=ends)
        if entry.missing:
            missing[f"{entry.group}: {entry.missing}"] = None
    console = Console()
    show(console, table)
    for line in missing:
        console.print(line, markup=False, highlight=False)


def reproduce(
    group: Annotated[Group, typer.Argument(help="The problems: `ostinato problems` lists them.")],
    seeds: Annotated[int, typer.Option(min=1, help="Fresh seeds of each algorithm.")] = 40,
    horizon: Annotated[int, typer.Option(min=10, help="Measurements of each run.")] = 5000,
    quick: Annotated[
        bool, typer.Option("--quick", help="All of it in two minutes: few settings, 3 seeds, short runs, fewer tables.")
    ] = False,
    problem: Annotated[
        list[str] | None, typer.Option("--problem", "-p", help="Only this problem of the group (repeat it for more).")
    ] = None,
    algorithm: Annotated[
        list[str] | None, typer.Option("--algorithm", "-a", help=f"Only this algorithm (repeat it for more): {NAMES}.")
    ] = None,
    folder: GroupFolder = None,
    workers: Workers = None,
    nasbench: Annotated[
        Path | None, typer.Option(help="The official NAS-Bench-101 file, for nas101 (nasbench_only108.tfrecord).")
    ] = None,
) -> None:
    """Rerun the paper's experiments: every algorithm, its settings chosen on seeds of their own, then fresh seeds.

    Settings (length-scale, C, ε-greedy's a and b) are chosen by mean regret on three seeds of their own, at a fifth of
    the horizon and 500 measurements at most. Then come the fresh seeds, which all algorithms share; BKB, which is
    costly, gets a fifth of the horizon. Tables are printed; tidy results, figures (PNG) and one self-contained
    report.html are written into results/GROUP, or --folder. Ctrl-C keeps the finished runs, and the same command goes
    on from there.

    Example: [bold]ostinato reproduce synthetic --quick[/bold]
    """
    if nasbench is not None and group is not Group.nas101:
        raise InvalidSetting(f"--nasbench is for nas101, and this is {group.value}: leave it out.")
    options = {} if nasbench is None else {"path": nasbench}
    names, console = algorithm or [], Console()
    with _interruptible(console):
        from ostinato.experiments import reproduce as run

        run(
            group.value,
            seeds=seeds,
            horizon=horizon,
            fast=quick,
            only=problem or [],
            algorithms=names,
            folder=folder,
            workers=workers,
            console=console,
            **options,
        )


def compare(
    problem: Annotated[list[str], typer.Argument(help="Problems: `ostinato problems` lists them.")],
    algorithm: Annotated[
        list[str] | None, typer.Option("--algorithm", "-a", help=f"An algorithm (repeat it for more): {NAMES}.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds, shared by all algorithms.")] = 10,
    horizon: Annotated[int, typer.Option(min=10, help="Measurements of each run.")] = 1000,
    lengthscale: Annotated[
        float | None, typer.Option(help="The kernel's length-scale. By default the middle one of each problem's.")
    ] = None,
    choose: Annotated[
        bool, typer.Option("--choose", help="Choose settings first, on seeds of their own, as `reproduce` does.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(help="The algorithm that ratios are to. By default BBKB where it runs, else the first."),
    ] = None,
    folder: ComparisonFolder = Path("results/compare"),
    workers: Workers = None,
) -> None:
    """Compare chosen algorithms on chosen problems.

    Without --algorithm: mini-GP-UCB, mini-GP-EI, GP-UCB and BBKB. Uniform sampling always runs too, since regret is
    shown as a share of its. Simple regret is that of the candidate that would be recommended at the end, as a share
    of the mean regret of all candidates. Ratios are to BBKB where it runs, else to the first algorithm (--against names
    another); ratios.csv has all pairs. Seconds are processor time. Policies and problems of your own join from Python:
    ostinato.experiments.compare.

    Example: [bold]ostinato compare rosenbrock nas201-cifar10 -a mini-GP-UCB -a BBKB --seeds 5[/bold]
    """
    names = algorithm or ["mini-GP-UCB", "mini-GP-EI", "GP-UCB", "BBKB"]
    console = Console()
    with _interruptible(console):
        from ostinato.experiments import compare as run

        run(
            names,
            problem,
            seeds=seeds,
            horizon=horizon,
            lengthscale=lengthscale,
            choose=choose,
            against=against,
            folder=folder,
            workers=workers,
            console=console,
        )


@contextmanager
def _interruptible(console: Console) -> Generator[None, None, None]:
    """Ctrl-C ends with a word on how to go on; missing packages with one on how to get them."""
    try:
        yield
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends already
        console.print("\nInterrupted. Finished runs are kept: the same command goes on from here.", highlight=False)
        raise typer.Exit(130) from None
    except ImportError as error:
        raise MissingSetting(str(error)) from None
    except OSError as error:
        raise InvalidSetting(f"Results cannot be kept there: {error}. Give another --folder.") from None
