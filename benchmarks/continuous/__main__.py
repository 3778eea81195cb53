"""`python -m benchmarks.continuous run | report | same`: see the package's own words."""

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
from benchmarks.continuous.contestants import CONTESTANTS, OURS, SCATTERED
from benchmarks.continuous.lean import lean_contestant
from benchmarks.continuous.lean.same import COMPARISONS, CONTROLLED, compared
from benchmarks.continuous.problems import names, problem
from benchmarks.outofthebox.report import MEASURES, Row, Runs, difference, mean, problems_of, save

FOLDER = Path("docs/results/continuous/runs")
TIMED = Path("docs/results/continuous/seconds")
PAGE = Path("docs/results.md")
BUDGET = 300
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
    lean: bool = False  # by a lean arithmetic: the seconds are not those of the library


@app.callback(help=about)
def continuous() -> None: ...


@app.command()
def run(
    only: Annotated[list[str] | None, typer.Option(help="Optimisers to run; all by default.")] = None,
    on: Annotated[list[str] | None, typer.Option(help="Problems to run on; all by default.")] = None,
    seeds: int = 40,
    first: int = 0,
    jobs: int = 2,
    own_arithmetic: Annotated[bool, typer.Option(help="BoTorch and Optuna by themselves: slow.")] = False,
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
    """One run, to the end. lean: by a lean arithmetic, if there is one."""
    made, rng = problem(name), np.random.default_rng((seed, 0))
    stand_in = lean_contestant(optimizer) if lean else None
    asker = (stand_in or CONTESTANTS[optimizer])(made.columns, seed, BUDGET)
    t, regret, switches, seconds, last = 0, 0.0, 0, 0.0, None
    while t < BUDGET:
        start = process_time()
        point, repeats = asker.ask()
        seconds += process_time() - start
        repeats = min(repeats, BUDGET - t)
        values = made.measured(point, rng, repeats)
        start = process_time()
        asker.tell(values)
        seconds += process_time() - start
        switches += last is not None and not np.array_equal(last, point)
        last = point
        t += repeats
        regret += repeats * made.regret(point)
    recommended = made.regret(asker.recommend())
    return Done(optimizer, name, seed, recommended, regret / BUDGET, switches, seconds, stand_in is not None)


@app.command()
def same(
    only: Annotated[list[str] | None, typer.Option(help=f"Of {' and '.join(COMPARISONS)}; both by default.")] = None,
    on: Annotated[list[str] | None, typer.Option(help="Problems to compare on; all by default.")] = None,
    measurements: int = BUDGET,
    seed: int = 0,
    control: Annotated[bool, typer.Option(help="BoTorch itself, its rows in reverse order, in place of lean.")] = False,
) -> None:
    """Ask the lean arithmetic at every step of runs that BoTorch and Optuna decide: would it decide as they do?"""
    if control and only and only != [CONTROLLED]:
        raise typer.BadParameter(f"--control is for {CONTROLLED} alone: leave --only out.")
    for name in [CONTROLLED] if control else only or COMPARISONS:
        for each in on or names():
            print(f"{name}, {each}", line(compared(name, each, seed, measurements, control=control)), sep=": ")


@app.command()
def report(folder: Path = FOLDER, timed: Path = TIMED, page: Path = PAGE) -> None:
    """The table, from the runs that are finished: printed, as a file beside them, and on the page between its marks.

    All means weigh problems equally. How far behind ours an optimiser is, and what ours took of its switches, is taken
    over shared runs (same problem and seed). low, high: the 95% interval of how far behind it is, by the bootstrap:
    problems are drawn anew, and within each that is drawn, seeds. One seed a problem is enough. timed: the folder of
    the runs by which seconds are known, made one at a time on one machine, each library by its own arithmetic.
    """
    rows = standings(folder, timed)
    save(folder.parent / "summary.csv", rows)
    page.write_text(with_table(page.read_text(encoding="utf-8"), rows), encoding="utf-8")
    for row in rows:
        print(line(row))


def line(row: Row) -> str:
    return ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())


def standings(folder: Path = FOLDER, timed: Path = TIMED) -> list[Row]:
    """A row an optimiser, the best first."""
    table, seconds = measured(folder), measured(timed)
    ours = table.get(OURS, {}), seconds.get(OURS, {})
    rows = [standing(name, runs, seconds.get(name, {}), *ours) for name, runs in table.items()]
    return sorted(rows, key=lambda row: row["recommended"])


def measured(folder: Path) -> dict[str, Runs]:
    """The runs of each optimiser."""
    table: dict[str, Runs] = {}
    for done in stored(folder):
        measures = {name: float(getattr(done, name)) for name in MEASURES}
        table.setdefault(done.optimizer, {})[done.problem, done.seed] = measures
    return table


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


def standing(optimizer: str, runs: Runs, timed: Runs, ours: Runs, ours_timed: Runs) -> Row:
    """One optimiser by itself, and against ours."""
    gap, low, high = difference(runs, ours, "recommended", over_problems=True)
    there, here = shared(runs, ours)
    slow, quick = (mean(each, "seconds") for each in shared(timed, ours_timed))
    return {
        "optimizer": optimizer,
        "problems": len(problems_of(runs)),
        "runs": len(runs),
        **{measure: mean(runs, measure) for measure in MEASURES if measure != "seconds"},
        "seconds": mean(timed, "seconds"),
        "shared": len(here),
        "ours_recommended": mean(here, "recommended"),
        "behind": gap,
        "low": low,
        "high": high,
        "ours_switches": _over(mean(here, "switches"), mean(there, "switches")),
        "ours_seconds": _over(quick, slow),
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
