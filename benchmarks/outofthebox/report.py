"""What the runs come to: tables as CSV, and one figure, for docs/results.md.

Regrets are shares of what a random candidate costs on average. Means over problems weigh all problems equally;
intervals are 95%, from the spread over seeds (t), a mean over problems being taken within each seed first.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import t as student

from benchmarks.outofthebox.problems import PROBLEMS
from benchmarks.outofthebox.trial import Outcome
from ostinato.problems import load

SHORT, LONG = 200, 2_000
MEASURES = ("recommended", "regret", "switches", "unique", "seconds")
Row = dict[str, Any]
Table = dict[str, dict[tuple[str, int], dict[str, float]]]  # optimiser → (problem, seed) → measure → value


def write(outcomes: list[Outcome], folder: Path) -> None:
    """All files, into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for at in (SHORT, LONG):
        table = standing(outcomes, at)
        save(folder / f"by_problem_{at}.csv", by_problem(table))
        save(folder / f"overall_{at}.csv", overall(table))
    figure(standing(outcomes, SHORT), folder / "switches.png")


def standing(outcomes: list[Outcome], at: int) -> Table:
    """Where every run stood after so many measurements."""
    random = {name: float(np.mean(load(name).regrets)) for name in PROBLEMS}
    table: Table = defaultdict(dict)
    for run in outcomes:
        ours = run.optimizer.startswith("Ostinato")
        if run.problem in random and at in run.t and (run.horizon == at or not ours):
            place = run.t.index(at)
            row = {measure: float(getattr(run, measure)[place]) for measure in MEASURES}
            row["recommended"] *= 100 / random[run.problem]
            row["regret"] *= 100 / random[run.problem] / at
            table[run.optimizer][run.problem, run.seed] = row
    return table


def by_problem(table: Table) -> list[Row]:
    rows: list[Row] = []
    for problem in PROBLEMS:
        for optimizer, runs in table.items():
            own = [row for (name, _), row in runs.items() if name == problem]
            if own:
                means = {measure: np.mean([row[measure] for row in own]) for measure in MEASURES}
                halves = {f"{m}_half": _half([row[m] for row in own]) for m in ("recommended", "regret")}
                rows.append({"problem": problem, "optimizer": optimizer, "seeds": len(own), **means, **halves})
    return rows


def overall(table: Table) -> list[Row]:
    """Means over the problems; on how many of them ours is ahead, and by how much over paired seeds."""
    rows: list[Row] = []
    for optimizer, runs in table.items():
        if {problem for problem, _ in runs} != set(PROBLEMS):
            continue
        row: Row = {"optimizer": optimizer, "seeds": min(_count(runs, problem) for problem in PROBLEMS)}
        row |= {measure: _over_problems(runs, measure, np.mean) for measure in MEASURES}
        for measure, goal in (("recommended", "find"), ("regret", "earn")):
            ours = table.get(f"Ostinato {goal}", {})
            row |= {f"{measure}_{key}": value for key, value in _against(ours, runs, measure).items()}
        rows.append(row)
    return rows


def _against(ours: dict[Any, Any], theirs: dict[Any, Any], measure: str) -> Row:
    """Problems on which ours is lower, and the mean difference over problems with its interval, on shared seeds."""
    shared = sorted(set(ours) & set(theirs))
    gaps = {key: theirs[key][measure] - ours[key][measure] for key in shared}
    ahead = sum(np.mean([gaps[k] for k in shared if k[0] == p]) > 0 for p in PROBLEMS)
    seeds = [s for s in sorted({seed for _, seed in shared}) if all((p, s) in gaps for p in PROBLEMS)]
    each = [float(np.mean([gaps[p, seed] for p in PROBLEMS])) for seed in seeds]
    return {"ahead": int(ahead), "gap": float(np.mean(each)), "gap_half": _half(each), "pairs": len(seeds)}


def _over_problems(runs: dict[Any, Any], measure: str, mean: Callable[[Any], Any]) -> float:
    return float(mean([mean([row[measure] for (p, _), row in runs.items() if p == problem]) for problem in PROBLEMS]))


def _count(runs: dict[Any, Any], problem: str) -> int:
    return sum(name == problem for name, _ in runs)


def _half(values: Iterable[float]) -> float:
    array = np.asarray(list(values))
    if len(array) < 2:
        return np.nan
    return float(student.ppf(0.975, len(array) - 1) * np.std(array, ddof=1) / np.sqrt(len(array)))


def save(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()} for row in rows)


def figure(table: Table, path: Path) -> None:
    """Regret against switches: the lower left is where one wants to be."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(11, 4.6), layout="constrained")
    axes = fig.subplots(1, 2)
    rows = [row for row in overall(table) if "oracle" not in row["optimizer"] and "our model" not in row["optimizer"]]
    for ax, measure, goal, title in (
        (axes[0], "recommended", "find", "Regret of the recommended candidate"),
        (axes[1], "regret", "earn", "Regret of all measurements"),
    ):
        shown = [row for row in rows if row["optimizer"].endswith(goal) or not row["optimizer"].startswith("Ostinato")]
        shown.sort(key=lambda row: row[measure])
        height = max(row[measure] for row in shown)
        for row, below in zip(shown, [None, *shown], strict=False):
            ours = row["optimizer"].startswith("Ostinato")
            near = below is not None and row[measure] - below[measure] < 0.03 * height
            ax.plot(row["switches"], row[measure], "o", color="#c2410c" if ours else "#475569", ms=11 if ours else 8)
            left = row["switches"] > 120
            ax.annotate(
                row["optimizer"], (row["switches"], row[measure]), xytext=(-9 if left else 9, 8 if near else 0),
                textcoords="offset points", ha="right" if left else "left", va="center",
                fontsize=9, fontweight="bold" if ours else "normal", color="#c2410c" if ours else "#1e293b",
            )  # fmt: skip
        ax.set(title=title, xlabel=f"switches in {SHORT} measurements", ylabel="% of a random candidate's regret")
        ax.set_xlim(0, SHORT + 10)
        ax.set_ylim(bottom=0)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(alpha=0.25)
    fig.savefig(path, dpi=110)
