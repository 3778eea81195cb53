"""What the runs come to: means, and differences to ours seed by seed with their 95% intervals."""

from collections.abc import Callable, Iterable, Sequence
from math import sqrt
from typing import Any, Protocol

import numpy as np
from scipy.stats import t as student

OURS = {"Ostinato", "OstinatoSearchCV"}


class Run(Protocol):
    @property
    def contestant(self) -> str: ...

    @property
    def problem(self) -> str: ...

    @property
    def seed(self) -> int: ...


Measure = Callable[[Any], float]


def of_studies(runs: Sequence[Any]) -> dict[str, list[str]]:
    """Tables by name: regret by function, and what users see."""
    names = contestants(runs)
    regret = _by_problem(runs, names, recommendation, digits=1)
    head = ["sampler", "studies", "`best_value` − truth", "`recommend` − truth", "its interval holds"]
    seen = table([*head, "regret of `best_params`", "regret of `recommend`", "different trials", "processor s"])
    for name in names:
        own = [run for run in runs if run.contestant == name]
        seen.append(
            row(
                name,
                str(len(own)),
                f"{average(own, lambda run: run.flattery):+.2f}",
                f"{average(own, lambda run: run.excess):+.2f}",
                f"{average(own, lambda run: run.covered):.0%}",
                f"{average(own, lambda run: run.best_params):.1f}",
                f"{average(own, lambda run: run.recommended):.1f}",
                f"{average(own, lambda run: run.unique):.0f}",
                f"{average(own, lambda run: run.seconds):.1f}",
            )
        )
    return {"studies": regret, "promises of studies": seen}


def recommendation(run: Any) -> float:
    """The regret of what users take: of our sampler what `recommend` says, of the others study.best_params."""
    return run.recommended if run.contestant in OURS else run.best_params


def of_searches(runs: Sequence[Any]) -> dict[str, list[str]]:
    """Tables by name: the true score by task, and by how much it was promised higher."""
    names = contestants(runs)
    truth = _by_problem(runs, names, lambda run: run.truth, digits=4)
    seen = table(["search", "`best_score_` − true score", "fits", "processor s"])
    for name in names:
        own = [run for run in runs if run.contestant == name]
        flattery, fits = average(own, lambda run: run.promised - run.truth), average(own, lambda run: run.fits)
        seen.append(row(name, f"{flattery:+.4f}", f"{fits:.0f}", f"{average(own, lambda run: run.seconds):.1f}"))
    return {"searches": truth, "promises of searches": seen}


def _by_problem(runs: Sequence[Any], names: list[str], measure: Measure, digits: int) -> list[str]:
    others = names[1:]
    lines = table(["problem", *names, *(f"{other} − ours" for other in others)])
    problems = list(dict.fromkeys(run.problem for run in runs))
    for problem in sorted(problems):
        lines.append(_row(problem, [run for run in runs if run.problem == problem], names, measure, digits))
    return [*lines, _row("all", runs, names, measure, digits)]


def _row(title: str, runs: Sequence[Any], names: list[str], measure: Measure, digits: int) -> str:
    means = [average([run for run in runs if run.contestant == name], measure) for name in names]
    found = [difference(runs, names[0], other, measure) for other in names[1:]]
    said = [f"{mean:+.{digits}f} ± {half:.{digits}f} ({n} pairs)" for mean, half, n in found]
    return row(title, *(f"{mean:.{digits}f}" for mean in means), *said)


def contestants(runs: Iterable[Any]) -> list[str]:
    """Ours first."""
    return sorted({run.contestant for run in runs}, key=lambda name: (name not in OURS, name))


def difference(runs: Sequence[Any], ours: str, other: str, measure: Measure) -> tuple[float, float, int]:
    """Theirs less ours over pairs of runs of one seed, every problem with the same weight; half the 95% interval."""
    by = {(run.contestant, run.problem, run.seed): measure(run) for run in runs}
    gaps: dict[str, list[float]] = {}
    for (name, problem, seed), value in by.items():
        if name == other and (ours, problem, seed) in by:
            gaps.setdefault(problem, []).append(value - by[ours, problem, seed])
    means = [np.mean(each) for each in gaps.values()]
    errors = [np.var(each, ddof=1) / len(each) if len(each) > 1 else np.nan for each in gaps.values()]
    free = sum(len(each) - 1 for each in gaps.values())
    half = float(student.ppf(0.975, free)) * sqrt(sum(errors)) / len(gaps) if free else np.nan
    return float(np.mean(means)), float(half), sum(map(len, gaps.values()))


def average(runs: Sequence[Any], measure: Measure) -> float:
    """Every problem with the same weight."""
    values: dict[str, list[float]] = {}
    for run in runs:
        values.setdefault(run.problem, []).append(measure(run))
    return float(np.mean([np.mean(each) for each in values.values()])) if values else np.nan


def table(head: Sequence[str]) -> list[str]:
    return [row(*head), f"|{'---|' * len(head)}"]


def row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
