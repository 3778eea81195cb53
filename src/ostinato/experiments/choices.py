"""The settings that did best: what each algorithm was tried with, and what its fresh runs have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ostinato.experiments.records import Run, Stage
from ostinato.experiments.summary import algorithms, has_uniform, last, problems, scale, share, values

Settings: TypeAlias = dict[str, float]


@dataclass(frozen=True)
class Trial:
    """Settings with their mean regret (as in `Row`).

    stage: "choose" if they were tried, and the regret is that of the trial; "report" if they were given. best: whether
    the fresh runs have them.
    """

    problem: str
    algorithm: str
    settings: Settings
    stage: Stage
    regret: float
    normalised: bool
    seeds: int
    t: int
    best: bool


def choose(runs: Sequence[Run]) -> dict[tuple[str, str], Settings]:
    """The settings with the lowest mean regret, for each problem and algorithm that settings were tried for."""
    return {(trial.problem, trial.algorithm): trial.settings for trial in chosen(runs) if trial.best}


def settings(runs: Sequence[Run]) -> list[Trial]:
    """Every setting that was tried; and of algorithms whose settings were given, those that they ran with."""
    tried = chosen(runs)
    known = {(trial.problem, trial.algorithm) for trial in tried}
    given = [run for run in runs if run.stage == "report" and (run.problem, run.algorithm) not in known]
    return [*tried, *_all_trials(given, runs, "report")]


def chosen(runs: Sequence[Run]) -> list[Trial]:
    """Every setting that was tried, with its mean regret over seeds after as many measurements as all of them reached.

    Ties go to the setting that is listed first: they are sorted by name and value, in whatever order the runs came.
    """
    tried = [run for run in runs if run.stage == "choose"]
    return _all_trials(tried, tried, "choose")


def _all_trials(mine: Sequence[Run], runs: Sequence[Run], stage: Stage) -> list[Trial]:
    """Of `mine`, all of one stage; their regret is a share of that of uniform in `runs`."""
    pairs = [(problem, label) for problem in problems(mine, stage) for label in algorithms(mine, problem, stage)]
    grouped = {pair: [run for run in mine if (run.problem, run.algorithm) == pair] for pair in pairs}
    return [trial for (problem, _), group in grouped.items() for trial in _trials(group, runs, problem, stage)]


def _trials(mine: Sequence[Run], runs: Sequence[Run], problem: str, stage: Stage) -> list[Trial]:
    groups = _by_settings(mine)
    t = np.array([float(last(mine))])
    means = [float(np.mean(values(group, "regret", t))) for group in groups]
    best = int(np.argmin(np.nan_to_num(means, nan=np.inf)))
    shares = share(np.array(means), scale(runs, problem, t, stage))
    known, algorithm = has_uniform(runs, problem, stage), mine[0].algorithm
    return [
        Trial(problem, algorithm, group[0].settings, stage, float(share), known, len(group), int(t[0]), i == best)
        for i, (group, share) in enumerate(zip(groups, shares, strict=True))
    ]


def _by_settings(runs: Iterable[Run]) -> list[list[Run]]:
    groups: dict[tuple[tuple[str, float], ...], list[Run]] = {}
    for run in sorted(runs, key=lambda run: run.seed):
        groups.setdefault(tuple(sorted(run.settings.items())), []).append(run)
    return [groups[key] for key in sorted(groups)]


def shown(settings: Settings) -> str:
    """Settings in one line, such as "C=1.1 lengthscale=2"."""
    return " ".join(f"{name}={value:g}" for name, value in settings.items())
