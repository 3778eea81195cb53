"""What the runs come to: means, and differences to ours seed by seed with their 95% intervals."""

from collections.abc import Callable, Iterable, Iterator, Sequence
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
    for name, own in _with_shared(runs, names):
        numbers = (
            f"{average(own, lambda run: run.flattery):+.2f}",
            f"{average(own, lambda run: run.excess):+.2f}",
            f"{average(own, lambda run: run.covered):.0%}",
            f"{average(own, lambda run: run.best_params):.1f}",
            f"{average(own, lambda run: run.recommended):.1f}",
            f"{average(own, lambda run: run.unique):.0f}",
            f"{average(own, lambda run: run.seconds):.1f}",
        )
        seen.append(row(name, str(len(own)), *numbers))
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


def _with_shared(runs: Sequence[Any], names: list[str]) -> Iterator[tuple[str, list[Any]]]:
    """The runs of each, ours also on the seeds of those who have fewer: one row is compared with the one before."""
    ours = names[0]
    for name in names:
        own = [run for run in runs if run.contestant == name]
        same, _ = shared(runs, ours, name)
        if len(same) < len([run for run in runs if run.contestant == ours]):
            yield f"{ours}, seeds of {name}", same
        yield name, own


def _by_problem(runs: Sequence[Any], names: list[str], measure: Measure, digits: int) -> list[str]:
    """Ours with each of the others, on the seeds that both have: two means, and their difference."""
    others = names[1:]
    short = [name.removesuffix("SearchCV") for name in names]  # long ones make the table wider than a page
    lines = table(["problem", *(head for other in short[1:] for head in (short[0], other, f"{other} − ours"))])
    problems = sorted({run.problem for run in runs})
    for title, some in [*((each, [run for run in runs if run.problem == each]) for each in problems), ("all", runs)]:
        cells = (cell for other in others for cell in _compared(some, names[0], other, measure, digits))
        lines.append(row(title, *cells))
    return lines


def _compared(runs: Sequence[Any], ours: str, other: str, measure: Measure, digits: int) -> tuple[str, str, str]:
    means = [average(each, measure) for each in shared(runs, ours, other)]
    gap, half, pairs = difference(runs, ours, other, measure)
    mine, theirs = (f"{mean:.{digits}f}" for mean in means)
    return mine, theirs, f"{gap:+.{digits}f} ± {half:.{digits}f} ({pairs} pairs)"


def shared(runs: Sequence[Any], ours: str, other: str) -> tuple[list[Any], list[Any]]:
    """The runs of both, on the problems and seeds that both have."""
    by = [{(run.problem, run.seed): run for run in runs if run.contestant == name} for name in (ours, other)]
    both = [key for key in by[0] if key in by[1]]
    return [by[0][key] for key in both], [by[1][key] for key in both]


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
