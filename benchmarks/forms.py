"""Two forms of the learned kernel: Matérn-5/2 of the distance, and the product of one a column, which serves on grids.

Both find the best of each problem of the development set of `benchmarks.outofthebox` with 300 measurements, nothing
tuned; the noise is shared. Regrets are in % of a random candidate's, with 95% intervals of the paired difference.
"""

from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.outofthebox.ours import ours
from benchmarks.outofthebox.problems import SETS, names, problem
from benchmarks.outofthebox.report import Runs, difference
from benchmarks.outofthebox.trial import Outcome, trial
from benchmarks.problem import Row

STEPS, SEEDS = 300, range(1000, 1008)


def run(console: Console) -> Iterator[Row]:
    radial, product = Runs(), Runs()
    for name in track(names(SETS["development"]), "forms", console=console, transient=True):
        for seed in SEEDS:
            radial[name, seed], product[name, seed] = (_measures(name, seed, product=form) for form in (False, True))
    for measure in ("recommended", "measured", "switches"):
        gap, low, high = difference(product, radial, measure)
        means = [np.mean([each[measure] for each in runs.values()]) for runs in (radial, product)]
        yield Row(
            f"{measure}: radial, product (difference)",
            f"{means[0]:.1f}, {means[1]:.1f} ({gap:+.2f}, {low:+.2f} to {high:+.2f})",
            "no worse" if measure == "recommended" else "",
            bool(low <= 0) if measure == "recommended" else None,
        )


def _measures(name: str, seed: int, *, product: bool) -> dict[str, float]:
    made = problem(name)
    with patch("ostinato.learning.learner.is_large_grid", lambda table: product):
        done = trial(
            made,
            ours("Ostinato find", seed, STEPS, made),
            Outcome(problem=name, optimizer="", seed=seed, horizon=STEPS),
        )
    random = float(np.mean(made.regrets)) / 100
    regrets = {"recommended": done.recommended[-1] / random, "measured": done.regret[-1] / random / STEPS}
    return regrets | {"switches": float(done.switches[-1])}
