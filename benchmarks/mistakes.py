"""A point misplaced: the first, the tenth or the last value of a run is ten times what it should be.

On the 26 development problems of `benchmarks/outofthebox`, their values moved up so that the lowest is 12 standard
deviations above 0; 100 measurements, both goals, nothing tuned. How often the value is named, how many good values are
accused, and what the mistake does to the candidate that is recommended (its regret, of a random candidate's).
`python -m benchmarks.mistakes 4 20` prints the same for the seeds 4 to 19.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress

import msgspec
import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks import explain
from benchmarks.outofthebox.problems import DEVELOPMENT, names, problem
from benchmarks.problem import Row
from ostinato import Optimizer
from ostinato.errors import MissingSetting, SuspiciousMeasurement
from ostinato.experiments.trial import Measurements

STEPS, SEEDS = 100, range(4)
TYPOS = {"none": None, "first": 1, "tenth": 10, "last": STEPS}


class Run(msgspec.Struct):
    named: bool
    accused: int
    regret: float


def run(console: Console, seeds: range = SEEDS) -> Iterator[Row]:
    warnings.simplefilter("ignore", SuspiciousMeasurement)
    for goal in ("find", "earn"):
        runs: dict[str, list[Run]] = {typo: [] for typo in TYPOS}
        for name in track(_available(), goal, console=console, transient=True):
            for typo, number in TYPOS.items():
                runs[typo] += [_measured(name, seed, goal, number) for seed in seeds]
        without = float(np.mean([each.regret for each in runs["none"]]))
        for typo in list(TYPOS)[1:]:
            named = float(np.mean([each.named for each in runs[typo]]))
            yield Row(
                f"{goal}: named, of {len(runs[typo])} whose {typo} value is mistyped",
                f"{named:.1%}",
                "≥ 95%",
                named >= 0.95,
            )
        accused = 1_000 * sum(each.accused for part in runs.values() for each in part) / STEPS
        share = accused / sum(map(len, runs.values()))
        yield Row(f"{goal}: good values accused, of 1,000", f"{share:.2f}", "≤ 1", share <= 1)
        for typo in list(TYPOS)[1:]:
            pairs = np.array([[one.regret, two.regret] for one, two in zip(runs[typo], runs["none"], strict=True)])
            ratio = float(pairs[:, 0].mean()) / without
            error = float(np.std(pairs[:, 0] - pairs[:, 1], ddof=1)) / len(pairs) ** 0.5 / without
            yield Row(
                f"{goal}: regret recommended, {typo} value mistyped, over that without",
                f"{ratio:.2f} ± {1.96 * error:.2f}",
                "≤ 1.2",
                ratio <= 1.2,
            )


def _available() -> list[str]:
    """The problems whose data are installed: laboratory tables come with a package of their own."""
    found: list[str] = []
    for name in names(DEVELOPMENT):
        with suppress(MissingSetting):
            problem(name)
            found.append(name)
    return found


def _measured(name: str, seed: int, goal: str, typo: int | None) -> Run:
    made = problem(name)
    measure, up = Measurements(made, seed), 12 - float(np.min(made.truth))
    opt = Optimizer(made.candidates, goal=goal, budget=STEPS, seed=seed)
    while opt.steps < STEPS:
        batch = opt.ask(limit=STEPS - opt.steps)
        values = up + np.asarray(measure(batch.index, batch.repeats), dtype=np.float64)
        if typo is not None and opt.steps < typo <= opt.steps + batch.repeats:
            values[typo - opt.steps - 1] *= 10
        opt.tell(batch, values)
    numbers = [outlier.number for outlier in opt.outliers]
    others = sum(number != typo for number in numbers)
    regret = float(made.regrets[opt.best().index]) / float(np.mean(made.regrets))
    return Run(typo in numbers, others, regret)


if __name__ == "__main__":
    explain(__doc__)
    for row in run(Console(stderr=True), range(int(sys.argv[1]), int(sys.argv[2]))):
        print(f"{row.what}: {row.measured} (wanted {row.wanted})")
