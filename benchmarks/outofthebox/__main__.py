"""`python -m benchmarks.outofthebox run | report | choose | coverage`: see the package's own words."""

from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import track

from benchmarks.outofthebox import __doc__ as about
from benchmarks.outofthebox.choose import choose as choices
from benchmarks.outofthebox.coverage import coverage as shares
from benchmarks.outofthebox.ours import OURS, ours
from benchmarks.outofthebox.problems import PROBLEMS, read_candidates
from benchmarks.outofthebox.report import write
from benchmarks.outofthebox.rivals import RIVALS
from benchmarks.outofthebox.trial import Asker, Outcome, trial
from ostinato.candidates import Candidates
from ostinato.problems import Problem, load

FOLDER = Path("results/outofthebox")
SHORT, LONG = (200, 10), (2_000, 20)  # measurements and seeds
BOTH = ("Ostinato find", "Ostinato earn")  # they know how many measurements there will be, so that the two are two runs
CHEAP = ("random", "TPE")  # whose long runs hold the short ones
app = typer.Typer(no_args_is_help=True)


@app.callback(help=about)
def outofthebox() -> None: ...


@app.command()
def run(
    only: Annotated[list[str] | None, typer.Option(help="Optimisers to run; all by default.")] = None,
    problem: Annotated[list[str] | None, typer.Option(help="Problems to run on; all by default.")] = None,
    first: Annotated[int, typer.Option(help="The first seed, to run several of these side by side.")] = 0,
    folder: Path = FOLDER,
) -> None:
    """Run what is not finished yet. Every finished run is kept at once."""
    folder.mkdir(parents=True, exist_ok=True)
    names = only or [*OURS, *RIVALS]
    jobs = [
        Outcome(problem=each, optimizer=name, seed=seed, horizon=horizon)
        for seed in range(first, LONG[1])
        for each in problem or PROBLEMS
        for name in names
        for horizon, seeds in lengths(name)
        if seed < seeds
    ]
    done = {key(outcome) for outcome in stored(folder)}
    todo = [job for job in jobs if key(job) not in done]
    loaded: dict[str, tuple[Problem, Candidates]] = {}
    for job in track(todo, "Running", console=Console(stderr=True)):
        if job.problem not in loaded:
            it = load(job.problem)
            loaded[job.problem] = it, read_candidates(it.candidates)
        made, table = loaded[job.problem]
        outcome = trial(made, asker(job, made, table), job)
        with (folder / f"{job.optimizer}.jsonl").open("ab") as file:
            file.write(msgspec.json.encode(outcome) + b"\n")


@app.command()
def report(folder: Path = FOLDER, out: Path = Path("docs/results/outofthebox")) -> None:
    """Tables and the figure, from the runs that are finished."""
    write(stored(folder), out)


@app.command()
def choose(seeds: int = 8, out: Path = Path("docs/results/outofthebox/choice.csv")) -> None:
    """How the goals' policies were chosen, on problems of their own."""
    for line in choices(seeds, out):
        print(line, flush=True)


@app.command()
def coverage(seeds: int = 10, out: Path = Path("docs/results/outofthebox/coverage.csv")) -> None:
    """How often 90% intervals hold what is true."""
    for line in shares(seeds, out):
        print(line, flush=True)


def lengths(name: str) -> list[tuple[int, int]]:
    """The lengths of an optimiser's runs, and how many of each."""
    return [SHORT, LONG] if name in BOTH else [LONG] if name in CHEAP else [SHORT]


def asker(job: Outcome, problem: Problem, table: Candidates) -> Asker:
    if job.optimizer in OURS:
        return ours(job.problem, job.optimizer, job.seed, job.horizon, problem)
    kind, repeats = RIVALS[job.optimizer]
    return kind(table, job.seed, repeats)


def stored(folder: Path = FOLDER) -> list[Outcome]:
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]
    return [msgspec.json.decode(line, type=Outcome) for line in lines]


def key(outcome: Outcome) -> tuple[str, str, int, int]:
    return outcome.problem, outcome.optimizer, outcome.seed, outcome.horizon


if __name__ == "__main__":
    app()
