"""What the runs come to: tables as CSV, for docs/results.md.

Regrets are in % of what a random candidate costs on average. Means over problems weigh all problems equally.
Differences between two optimisers are taken run by run, problem and seed shared, and have 95% intervals by the
bootstrap: problems stay and seeds are drawn anew within each; or, to speak of other problems like these, problems are
drawn anew, too.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.outofthebox.ours import GAPS
from benchmarks.outofthebox.problems import FAMILY, SETS, names, problem
from benchmarks.outofthebox.trial import Outcome

FAMILIES = ("tables", "smooth", "rough")
MEASURES = ("recommended", "measured", "switches", "seconds")
RESAMPLES = 2_000
TENTHS = 10
SURE = 0.8  # claims of so much are looked at problem by problem
LEAST = 10  # such claims of a problem, from which it can be the one with the worst of its family
Row = dict[str, Any]
Runs = dict[tuple[str, int], dict[str, float]]  # (problem, seed) → measure → value
Standing = dict[tuple[int, str], Runs]  # (measurements, optimiser) → runs


def write(outcomes: list[Outcome], which: str, folder: Path) -> Iterable[str]:
    """All tables of a set of problems, into a folder; and the first of them as lines to print."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = set(names(SETS[which]))
    own = [outcome for outcome in outcomes if outcome.problem in wanted]
    table = standing(own)
    rows = overall(table)
    save(folder / f"{which}.csv", rows)
    save(folder / f"{which}_problems.csv", against_random(table, own))
    save(folder / f"{which}_rivals.csv", against_rivals(table))
    claimed = [outcome for outcome in own if outcome.claims and outcome.optimizer.startswith("Ostinato")]
    if claimed:
        save(folder / f"{which}_coverage.csv", coverage(claimed))
        save(folder / f"{which}_chances.csv", chances(claimed))
        save(folder / f"{which}_sure.csv", sure(claimed))
    for row in rows:
        yield ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items())


def standing(outcomes: list[Outcome]) -> Standing:
    """Where every run stood after so many measurements. Ours knows its budget: it counts at its end only."""
    table: Standing = defaultdict(dict)
    for run in outcomes:
        random = float(np.mean(problem(run.problem).regrets))
        for place, at in enumerate(run.t):
            if at == run.horizon or not run.optimizer.startswith("Ostinato"):
                table[at, run.optimizer][run.problem, run.seed] = {
                    "recommended": 100 * run.recommended[place] / random,
                    "measured": 100 * run.regret[place] / random / at,
                    "switches": float(run.switches[place]),
                    "seconds": run.seconds[place],
                }
    return table


def overall(table: Standing) -> list[Row]:
    """A row an optimiser and length: means over all problems and by family, and how far behind ours it is."""
    rows: list[Row] = []
    for (at, optimizer), runs in sorted(table.items()):
        row: Row = {"measurements": at, "optimizer": optimizer, "problems": len(problems_of(runs)), "runs": len(runs)}
        row |= {measure: mean(runs, measure) for measure in MEASURES}
        for family in FAMILIES:
            part = {key: run for key, run in runs.items() if FAMILY[key[0]] == family}
            row |= {f"{family}_{measure}": mean(part, measure) for measure in ("recommended", "measured")}
        for measure, goal in (("recommended", "find"), ("measured", "earn")):
            gap, low, high = difference(runs, table.get((at, f"Ostinato {goal}"), {}), measure)
            row |= {f"behind_{goal}": gap, f"behind_{goal}_low": low, f"behind_{goal}_high": high}
        rows.append(row)
    return rows


def against_random(table: Standing, outcomes: list[Outcome]) -> list[Row]:
    """A row a problem, goal and length: how far random search is behind, and the largest share of one candidate."""
    rows: list[Row] = []
    for goal in ("find", "earn"):
        for at in sorted({at for at, optimizer in table if optimizer == f"Ostinato {goal}"}):
            ours, random = table[at, f"Ostinato {goal}"], table.get((at, "random"), {})
            for name in problems_of(ours):
                here = {key: run for key, run in ours.items() if key[0] == name}
                gap, low, high = difference(random, here, "recommended")
                own = [
                    run
                    for run in outcomes
                    if (run.optimizer, run.problem, run.horizon) == (f"Ostinato {goal}", name, at)
                ]
                rows.append(
                    {
                        "goal": goal,
                        "measurements": at,
                        "problem": name,
                        "recommended": mean(here, "recommended"),
                        "random_behind": gap,
                        "random_behind_low": low,
                        "random_behind_high": high,
                        "largest_batch": max(run.largest_batch for run in own) / at,
                        "largest_candidate": max(run.largest_candidate for run in own) / at,
                    }
                )
    return rows


def against_rivals(table: Standing) -> list[Row]:
    """A row a problem, length and other optimiser: how far it is behind `find`, on shared seeds."""
    rows: list[Row] = []
    for at, rival in sorted(table):
        ours = table.get((at, "Ostinato find"), {})
        for name in () if rival.startswith("Ostinato") else problems_of(ours):
            theirs = {key: run for key, run in table[at, rival].items() if key[0] == name and key in ours}
            row: Row = {"measurements": at, "problem": name, "rival": rival, "seeds": len(theirs)}
            gap, low, high = difference(theirs, ours, "recommended")
            if theirs:
                rows.append(row | {"behind_find": gap, "behind_find_low": low, "behind_find_high": high})
    return rows


def difference(theirs: Runs, ours: Runs, measure: str, *, over_problems: bool = False) -> tuple[float, float, float]:
    """Theirs less ours on average over shared runs, with its interval. over_problems: problems are drawn anew, too."""
    shared: dict[str, list[float]] = defaultdict(list)
    for key in sorted(set(theirs) & set(ours)):
        shared[key[0]].append(theirs[key][measure] - ours[key][measure])
    if not shared:
        return np.nan, np.nan, np.nan
    drawn = _over_problems(list(shared.values())) if over_problems else _over_seeds(list(shared.values()))
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(np.mean([np.mean(gaps) for gaps in shared.values()])), float(low), float(high)


def _over_seeds(gaps: list[list[float]]) -> NDArray[np.float64]:
    """Means over all problems, with seeds drawn anew within each."""
    rng = np.random.default_rng(0)
    return np.mean([rng.choice(each, (RESAMPLES, len(each))).mean(axis=1) for each in gaps], axis=0)


def _over_problems(gaps: list[list[float]]) -> NDArray[np.float64]:
    """Means over as many problems, drawn anew, with seeds drawn anew within each that is drawn."""
    rng, count = np.random.default_rng(0), len(gaps)
    drawn = np.stack([rng.choice(each, (RESAMPLES, count, len(each))).mean(axis=2) for each in gaps])
    problems = rng.integers(count, size=(RESAMPLES, count))
    return np.take_along_axis(drawn, problems[None], axis=0)[0].mean(axis=1)


def coverage(outcomes: list[Outcome]) -> list[Row]:
    """How often 90% intervals hold what is true, by optimiser, length and family."""
    rows: list[Row] = []
    for optimizer in sorted({run.optimizer for run in outcomes}):
        for at in sorted({run.horizon for run in outcomes if run.optimizer == optimizer}):
            for family in FAMILIES:
                own = [
                    run.claims
                    for run in outcomes
                    if (run.optimizer, run.horizon, FAMILY[run.problem]) == (optimizer, at, family)
                ]
                row: Row = {"optimizer": optimizer, "measurements": at, "family": family, "runs": len(own)}
                for what in ("recommended", "measured", "unmeasured"):
                    row[what] = float(np.nanmean([claims[what] for claims in own])) if own else np.nan
                rows.append(row)
    return rows


def chances(outcomes: list[Outcome]) -> list[Row]:
    """In every tenth of what was claimed, what happened: of `chance` and of `chance_within` together."""
    rows: list[Row] = []
    for optimizer in sorted({run.optimizer for run in outcomes}):
        said, true = claims_of(run for run in outcomes if run.optimizer == optimizer).T
        tenth = np.minimum((said * TENTHS).astype(int), TENTHS - 1)
        for part in range(TENTHS):
            here = tenth == part
            if here.any():
                row: Row = {"optimizer": optimizer, "tenth": part + 1, "claims": int(here.sum())}
                rows.append(row | {"said": float(said[here].mean()), "happened": float(true[here].mean())})
    return rows


def sure(outcomes: list[Outcome]) -> list[Row]:
    """Of claims of `SURE` and more, what happened, by optimiser, length and family, and by problem (`problem`)."""
    rows: list[Row] = []
    for optimizer, at in sorted({(run.optimizer, run.horizon) for run in outcomes}):
        own = [run for run in outcomes if (run.optimizer, run.horizon) == (optimizer, at)]
        for family in FAMILIES:
            part = [run for run in own if FAMILY[run.problem] == family]
            for name in ("", *sorted({run.problem for run in part})):
                claims = claims_of(run for run in part if name in ("", run.problem))
                high = claims[claims[:, 0] >= SURE]
                row: Row = {"optimizer": optimizer, "measurements": at, "family": family, "problem": name}
                if len(high) >= (LEAST if name else 1):
                    said, happened = map(float, high.mean(axis=0))
                    rows.append(row | {"claims": len(high), "said": said, "happened": happened})
    return rows


def claims_of(outcomes: Iterable[Outcome]) -> NDArray[np.float64]:
    """Of `chance` and of `chance_within`, a row each: what was said, and whether it was so (1 or 0)."""
    pairs = [("chance", "is_best")] + [(f"chance_within_{gap}", f"is_within_{gap}") for gap in GAPS]
    claims = [run.claims for run in outcomes if "chance" in run.claims]
    return np.array([[claim[said], claim[true]] for said, true in pairs for claim in claims]).reshape(-1, 2)


def save(path: Path, rows: list[Row]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)  # in full: what is shown is rounded once, where it is shown


def mean(runs: Runs, measure: str) -> float:
    """Over problems, each a mean over its runs."""
    means = [np.mean([run[measure] for key, run in runs.items() if key[0] == name]) for name in problems_of(runs)]
    return float(np.mean(means)) if means else np.nan


def problems_of(runs: Runs) -> list[str]:
    return sorted({name for name, _ in runs})
