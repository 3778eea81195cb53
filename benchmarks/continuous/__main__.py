"""`python -m benchmarks.continuous run | report`: see the package's own words."""

from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from time import process_time
from typing import Annotated

import msgspec
import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from benchmarks.continuous import __doc__ as about
from benchmarks.continuous.contestants import CONTESTANTS, OURS
from benchmarks.continuous.problems import names, problem
from benchmarks.outofthebox.report import Row, Runs, difference, save

FOLDER = Path("docs/results/continuous/runs")
BUDGET, SHIFT, STRETCH = 300, 40.0, 7.0
app = typer.Typer(no_args_is_help=True)


class Done(msgspec.Struct, frozen=True):
    """A finished run: what it recommends and measured, in % of a random point's regret; switches, processor time."""

    optimizer: str
    problem: str
    seed: int
    recommended: float = 0.0
    measured: float = 0.0
    switches: int = 0
    seconds: float = 0.0


@app.callback(help=about)
def continuous() -> None: ...


@app.command()
def run(
    only: Annotated[list[str] | None, typer.Option(help="Optimisers to run; all by default.")] = None,
    on: Annotated[list[str] | None, typer.Option(help="Problems to run on; all by default.")] = None,
    seeds: int = 40,
    first: int = 0,
    jobs: int = 2,
    folder: Path = FOLDER,
) -> None:
    """Run what is not finished yet. Every finished run is kept at once."""
    folder.mkdir(parents=True, exist_ok=True)
    todo = [
        (name, each, seed)
        for seed in range(first, first + seeds)
        for each in on or names()
        for name in only or CONTESTANTS
    ]
    done = {(run.optimizer, run.problem, run.seed) for run in stored(folder)}
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(finished, *job) for job in todo if job not in done]
        for future in track(as_completed(futures), "Running", len(futures), console=Console(stderr=True)):
            made = future.result()
            with (folder / f"{made.optimizer}.jsonl").open("ab") as file:
                file.write(msgspec.json.encode(made) + b"\n")


def finished(optimizer: str, name: str, seed: int) -> Done:
    """One run, to the end. Values are told in odd units."""
    made = problem(name)
    rng = np.random.default_rng((seed, 0))
    asker = CONTESTANTS[optimizer](made.columns, seed, BUDGET)
    t, regret, switches, seconds, last = 0, 0.0, 0, 0.0, None
    while t < BUDGET:
        start = process_time()
        point, repeats = asker.ask()
        seconds += process_time() - start
        repeats = min(repeats, BUDGET - t)
        values = SHIFT + STRETCH * (made(point) + made.noise * rng.standard_normal(repeats))
        start = process_time()
        asker.tell(values)
        seconds += process_time() - start
        switches += last is not None and not np.array_equal(last, point)
        last = point
        t += repeats
        regret += repeats * made.regret(point)
    return Done(optimizer, name, seed, made.regret(asker.recommend()), regret / BUDGET, switches, seconds)


@app.command()
def report(folder: Path = FOLDER, out: Path = FOLDER.parent) -> None:
    """The table, from the runs that are finished."""
    table: dict[str, Runs] = {}
    for done in stored(folder):
        measures = {name: float(getattr(done, name)) for name in ("recommended", "measured", "switches", "seconds")}
        table.setdefault(done.optimizer, {})[done.problem, done.seed] = measures
    rows: list[Row] = []
    for optimizer, runs in table.items():
        means = {name: float(np.mean([each[name] for each in runs.values()])) for name in next(iter(runs.values()))}
        gap, low, high = difference(runs, table.get(OURS, {}), "recommended")
        rows.append({"optimizer": optimizer, "runs": len(runs)} | means | {"behind": gap, "low": low, "high": high})
    rows.sort(key=lambda row: row["recommended"])
    save(out / "summary.csv", rows)
    for row in rows:
        print(", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))


def stored(folder: Path) -> list[Done]:
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]
    return [msgspec.json.decode(line, type=Done) for line in lines]


if __name__ == "__main__":
    app()
