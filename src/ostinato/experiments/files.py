"""Runs as flat files: a row for each checkpoint, or for each run at its end."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from ostinato.experiments.choices import shown
from ostinato.experiments.records import Run
from ostinato.experiments.summary import UNIFORM, last, share, values

COLUMNS = (
    *("stage", "problem", "algorithm", "settings", "seed", "t", "regret", "regret_share", "simple"),
    *("unique", "rounds", "switches", "seconds"),
)
MISSING = ("regret_share", "simple")  # that may be empty


def tidy_rows(runs: Sequence[Run]) -> Iterator[dict[str, object]]:
    """A flat row for each checkpoint of each run; `regret_share` is empty where uniform did not run (or not so far).

    `simple` stands in the last row of a run, and is empty in the others.
    """
    uniform: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        if run.algorithm == UNIFORM:
            uniform.setdefault((run.stage, run.problem), []).append(run)
    for run in runs:
        shares = _shares(run, uniform.get((run.stage, run.problem), []))
        yield from (_tidy(run, i, share) for i, share in enumerate(shares))


def last_rows(runs: Sequence[Run]) -> list[dict[str, object]]:
    """A flat row for each fresh run, at its end: small enough to be kept beside a document."""
    last: dict[tuple[object, ...], dict[str, object]] = {}
    for row in tidy_rows(runs):
        if row["stage"] == "report":
            last[row["problem"], row["algorithm"], row["seed"]] = row
    return list(last.values())


def _tidy(run: Run, i: int, share: float | str) -> dict[str, object]:
    return {
        "stage": run.stage,
        "problem": run.problem,
        "algorithm": run.algorithm,
        "settings": shown(run.settings),
        "seed": run.seed,
        "t": run.t[i],
        "regret": run.regret[i],
        "regret_share": share,
        "simple": run.simple if i == len(run.t) - 1 and run.simple is not None else "",
        "unique": run.unique[i],
        "rounds": run.rounds[i],
        "switches": run.switches[i],
        "seconds": run.seconds[i],
    }


def _shares(run: Run, uniform: Sequence[Run]) -> list[float | str]:
    """The run's regret as a share of uniform's, checkpoint by checkpoint."""
    if not uniform:
        return [""] * len(run.t)
    scale = np.mean(values(uniform, "regret", np.asarray(run.t, dtype=np.float64)), axis=0)
    shares = share(np.asarray(run.regret), scale)
    return [float(x) if t <= last(uniform) else "" for x, t in zip(shares, run.t, strict=True)]


def write_csv(runs: Sequence[Run], path: Path) -> None:
    """All checkpoints of all runs in one flat file."""
    write_rows(tidy_rows(runs), path)


def write_rows(rows: Iterable[dict[str, object]], path: Path) -> None:
    """Rows with the same keys as a CSV file; nothing but the empty file if there are none."""
    listed = list(rows)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(listed[0]) if listed else [], lineterminator="\n")
        if listed:
            writer.writeheader()
        writer.writerows(listed)
