"""`python -m benchmarks.outofthebox run | report`: see the package's own words."""

import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console
from rich.progress import track

from benchmarks.outofthebox import __doc__ as about
from benchmarks.outofthebox.ours import NAMED, OURS, Ours, ours
from benchmarks.outofthebox.problems import SETS, names, problem
from benchmarks.outofthebox.report import write
from benchmarks.outofthebox.rivals import RIVALS
from benchmarks.outofthebox.trial import Asker, Outcome, trial
from ostinato.candidates import read_candidates
from ostinato.errors import MissingSetting

FOLDER = Path("docs/results/outofthebox/runs")
GOALS = (
    "Ostinato find",
    "Ostinato earn",
    *NAMED,
)  # they know how many measurements there will be: every length is another run
CHEAP = ("random", "TPE", *NAMED, *OURS)  # that also run 2,000 measurements
app = typer.Typer(no_args_is_help=True)


@app.callback(help=about)
def outofthebox() -> None: ...


@app.command()
def run(
    which: Annotated[str, typer.Argument(help="development or report")],
    only: Annotated[list[str] | None, typer.Option(help="Optimisers to run; all by default.")] = None,
    on: Annotated[list[str] | None, typer.Option(help="Problems to run on; all by default.")] = None,
    seeds: int = 10,
    first: Annotated[int, typer.Option(help="The first seed.")] = 0,
    budget: Annotated[list[int] | None, typer.Option(help="Measurements; 60, 300 and 2,000 by default.")] = None,
    jobs: int = 2,
    claims: Annotated[bool, typer.Option(help="Also ask ours how sure it is, which takes longer than the run.")] = True,
    folder: Path = FOLDER,
) -> None:
    """Run what is not finished yet. Every finished run is kept at once."""
    folder.mkdir(parents=True, exist_ok=True)
    todo = [
        Outcome(problem=each, optimizer=name, seed=seed, horizon=horizon)
        for seed in range(first, first + seeds)
        for each in on or names(SETS[which])
        for name in only or [*OURS, *RIVALS]
        for horizon in lengths(name, budget or [60, 300, 2_000])
    ]
    done = {key(outcome) for outcome in stored(folder) if outcome.claims or not claims or outcome.optimizer not in OURS}
    todo = [job for job in todo if key(job) not in done]
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(finished, job, claims) for job in todo]
        for future in track(as_completed(futures), "Running", len(futures), console=Console(stderr=True)):
            outcome = future.result()
            with (folder / f"{outcome.optimizer}.jsonl").open("ab") as file:
                file.write(msgspec.json.encode(outcome) + b"\n")


@app.command()
def report(
    which: Annotated[str, typer.Argument(help="development or report")],
    folder: Path = FOLDER,
    out: Path = FOLDER.parent,
) -> None:
    """Tables, from the runs that are finished."""
    for line in write(stored(folder), which, out):
        print(line)


def lengths(name: str, budgets: list[int]) -> Iterator[int]:
    """Who does not know its budget is run once, and looked at on the way."""
    able = [budget for budget in budgets if budget <= 300 or name in CHEAP]
    yield from able if name in GOALS else [max(able)] if able else []


def finished(job: Outcome, claims: bool) -> Outcome:
    made = problem(job.problem)
    contestant = asker(job)
    outcome = trial(made, contestant, job)
    if claims and isinstance(contestant, Ours):
        outcome.claims = contestant.claims(made)
    return outcome


def asker(job: Outcome) -> Asker:
    made = problem(job.problem)
    if job.optimizer in (*NAMED, *OURS):
        return ours(job.optimizer, job.seed, job.horizon, made)
    kind, repeats = RIVALS[job.optimizer]
    return kind(read_candidates(made.candidates), job.seed, repeats)


def stored(folder: Path = FOLDER) -> list[Outcome]:
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]
    return [msgspec.json.decode(line, type=Outcome) for line in lines]


def key(outcome: Outcome) -> tuple[str, str, int, int]:
    return outcome.problem, outcome.optimizer, outcome.seed, outcome.horizon


if __name__ == "__main__":
    try:
        app()
    except MissingSetting as lacking:  # data that not everybody has
        sys.exit(f"{lacking}")
