"""`python -m benchmarks.continuous run | report | same`: see the package's own words."""

from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from time import process_time
from typing import Annotated, Any

import msgspec
import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from benchmarks.continuous import __doc__ as about
from benchmarks.continuous.contestants import CONTESTANTS, LEAN, OURS, SCATTERED
from benchmarks.continuous.problems import names, problem
from benchmarks.outofthebox.report import MEASURES, Row, Runs, difference, mean, problems_of, save

FOLDER = Path("docs/results/continuous/runs")
PAGE = Path("docs/results.md")
BUDGET, SHIFT, STRETCH = 300, 40.0, 7.0
LEAST = 0.1  # processor seconds of a run, of which ours are worth a percentage
NAMES = {
    OURS: "`find` on continuous ranges",
    SCATTERED: "`find` on 5,000 scattered points of the cube",
    "TPE": "Optuna TPE",
    "random": "random search",
}
HEAD = (
    "| | problems, runs | recommended | measured | switches | processor seconds | `find` in the same runs "
    "| behind `find` | `find`'s switches, of its | `find`'s seconds, of its |"
)
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
    lean: bool = False  # made by a lean arithmetic: the seconds are not the optimiser's


@app.callback(help=about)
def continuous() -> None: ...


@app.command()
def run(
    only: Annotated[list[str] | None, typer.Option(help="Optimisers to run; all by default.")] = None,
    on: Annotated[list[str] | None, typer.Option(help="Problems to run on; all by default.")] = None,
    seeds: int = 40,
    first: int = 0,
    jobs: int = 2,
    own_arithmetic: Annotated[bool, typer.Option(help="BoTorch by itself, slow, for its processor time.")] = False,
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
        futures = [pool.submit(finished, *job, lean=not own_arithmetic) for job in todo if job not in done]
        for future in track(as_completed(futures), "Running", len(futures), console=Console(stderr=True)):
            made = future.result()
            with (folder / f"{made.optimizer}.jsonl").open("ab") as file:
                file.write(msgspec.json.encode(made) + b"\n")


def finished(optimizer: str, name: str, seed: int, *, lean: bool = False) -> Done:
    """One run, to the end. Values are told in odd units. lean: by a lean arithmetic, if there is one."""
    made, lean = problem(name), lean and optimizer == LEAN
    rng = np.random.default_rng((seed, 0))
    asker = contestant(optimizer, lean=lean)(made.columns, seed, BUDGET)
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
    return Done(optimizer, name, seed, made.regret(asker.recommend()), regret / BUDGET, switches, seconds, lean)


def contestant(optimizer: str, *, lean: bool) -> type[Any]:
    if not lean:
        return CONTESTANTS[optimizer]
    from benchmarks.continuous.lean import LeanLogEI

    return LeanLogEI


@app.command()
def same(
    on: Annotated[list[str] | None, typer.Option(help="Problems to compare on; all by default.")] = None,
    measurements: int = BUDGET,
    seed: int = 0,
    control: Annotated[bool, typer.Option(help="BoTorch itself, its rows in reverse order, in place of lean.")] = False,
) -> None:
    """Ask the lean arithmetic beside BoTorch, at every step of a run that BoTorch decides: do they decide alike?"""
    from benchmarks.continuous.same import steps, summary

    for name in on or names():
        print(name, line(summary(list(steps(name, seed, measurements, control=control)))), sep=": ", flush=True)


@app.command()
def report(folder: Path = FOLDER, page: Path = PAGE) -> None:
    """The table, from the runs that are finished: printed, as a file beside them, and on the page between its marks.

    All means weigh problems equally. How far behind ours an optimiser is, and what ours took of its switches and
    processor time, is taken over shared runs (same problem and seed). Of BoTorch's seconds only runs by its own
    arithmetic know. low, high: the 95% interval of how far behind it
    is, by the bootstrap: problems are drawn anew, and within each that is drawn, seeds. One seed a problem is enough.
    """
    rows = standings(folder)
    save(folder.parent / "summary.csv", rows)
    page.write_text(with_table(page.read_text(encoding="utf-8"), rows), encoding="utf-8")
    for row in rows:
        print(line(row))


def line(row: Row) -> str:
    return ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())


def standings(folder: Path = FOLDER) -> list[Row]:
    """A row an optimiser, the best first."""
    table: dict[str, Runs] = {}
    for done in stored(folder):
        measures = {name: float(getattr(done, name)) for name in MEASURES}
        unknown = {"seconds": np.nan} if done.lean else {}
        table.setdefault(done.optimizer, {})[done.problem, done.seed] = measures | unknown
    rows = [standing(name, runs, table.get(OURS, {})) for name, runs in table.items()]
    return sorted(rows, key=lambda row: row["recommended"])


def with_table(text: str, rows: list[Row]) -> str:
    """A page with the table of the runs: `<!-- continuous -->`, the table, `<!-- end -->`."""
    start, _, rest = text.partition("<!-- continuous -->\n")
    _, end, after = rest.partition("<!-- end -->")
    lines = [HEAD, "|" + "---|" * HEAD[1:].count("|"), *map(_line, rows)]
    return "\n".join([f"{start}<!-- continuous -->", "", *lines, "", f"{end}{after}"])


def _line(row: Row) -> str:
    own = row["optimizer"] == OURS
    cells = [
        NAMES.get(row["optimizer"], row["optimizer"]),
        f"{row['problems']}, {row['runs']}",
        *(_short(row[measure]) for measure in MEASURES),
        "" if own else _short(row["ours_recommended"]),
        "" if own else f"{row['behind']:.1f} ({row['low']:.1f} to {row['high']:.1f})",
        "" if own else f"{_short(100 * row['ours_switches'])}%",
        "" if own or not row["seconds"] >= LEAST else f"{_short(100 * row['ours_seconds'])}%",
    ]
    return f"| {' | '.join(cells)} |"


def _short(number: float) -> str:
    if np.isnan(number):
        return ""
    return f"{number:.0f}" if number >= 10 else f"{number:.2g}"


def standing(optimizer: str, runs: Runs, ours: Runs) -> Row:
    """One optimiser by itself, and against ours."""
    gap, low, high = difference(runs, ours, "recommended", over_problems=True)
    timed = {key: run for key, run in runs.items() if not np.isnan(run["seconds"])}
    there, here = shared(runs, ours)
    timed_there, timed_here = shared(timed, ours)
    return {
        "optimizer": optimizer,
        "problems": len(problems_of(runs)),
        "runs": len(runs),
        **{measure: mean(timed if measure == "seconds" else runs, measure) for measure in MEASURES},
        "shared": len(here),
        "ours_recommended": mean(here, "recommended"),
        "behind": gap,
        "low": low,
        "high": high,
        "ours_switches": _over(mean(here, "switches"), mean(there, "switches")),
        "ours_seconds": _over(mean(timed_here, "seconds"), mean(timed_there, "seconds")),
    }


def shared(theirs: Runs, ours: Runs) -> tuple[Runs, Runs]:
    """Those of the same problems and seeds."""
    keys = theirs.keys() & ours.keys()
    return {key: theirs[key] for key in keys}, {key: ours[key] for key in keys}


def _over(ours: float, theirs: float) -> float:
    return ours / theirs if theirs else np.nan


def stored(folder: Path) -> list[Done]:
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]
    return [msgspec.json.decode(line, type=Done) for line in lines]


if __name__ == "__main__":
    app()
