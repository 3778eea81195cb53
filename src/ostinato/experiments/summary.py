"""What many runs say together: means and intervals over seeds, and ratios between algorithms.

Fresh runs (stage "report") are summarised; those that settings were chosen on (stage "choose") serve `choices` only.
Between checkpoints a run's values are joined by straight lines, from zero at the start, so that runs with other
checkpoints can be compared after the same number of measurements; at a checkpoint they are the run's own.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import stdtrit

from ostinato.arrays import Matrix, Vector
from ostinato.errors import InvalidInput
from ostinato.experiments.records import Run, Stage

Field: TypeAlias = Literal["regret", "unique", "rounds", "switches", "seconds"]

UNIFORM = "uniform"
AGAINST = "BBKB"  # what the paper compares with
ORDER = (
    *("mini-GP-UCB", "mini-GP-EI", "mini-GP-TS"),
    *("GP-UCB", "GP-EI", "GP-TS"),
    *("GP-BUCB", "GP-BTS", "BKB", "BBKB"),
    *("RS-OFUL", "ε-greedy", UNIFORM),
)


@dataclass(frozen=True)
class Estimate:
    """A number and its 95% interval, whose ends are NaN when there are too few seeds to say."""

    value: float
    low: float
    high: float

    @property
    def half(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2


@dataclass(frozen=True)
class Curve:
    """A mean over seeds against the number of measurements `t`, with its 95% interval."""

    t: Vector
    mean: Vector
    low: Vector
    high: Vector
    seeds: int


@dataclass(frozen=True)
class Row:
    """How one algorithm stood on one problem at its last checkpoint.

    `regret` is a share of uniform's where `normalised`, otherwise that of an average measurement in the problem's
    units.
    `simple` is the regret of the candidate that would be recommended at the end, as a share of that of a random one:
    NaN where older runs did not record it.
    `short`: another algorithm went on for longer on this problem.
    """

    problem: str
    algorithm: str
    regret: Estimate
    simple: Estimate
    normalised: bool
    unique: Estimate
    switches: Estimate
    rounds: Estimate
    seconds: Estimate
    seeds: int
    t: int
    short: bool


@dataclass(frozen=True)
class Ratio:
    """One algorithm over another on one problem, after `t` measurements each, on the `seeds` seeds that both have.

    `simple` is no ratio but the difference in simple regret (`algorithm` less `against`, as shares of a random
    candidate's), since simple regret can be 0. It is NaN unless both made `t` measurements.
    """

    problem: str
    algorithm: str
    against: str
    t: int
    seeds: int
    regret: Estimate
    simple: Estimate
    unique: Estimate
    switches: Estimate
    seconds: Estimate


# Which runs there are


def problems(runs: Iterable[Run], stage: Stage = "report") -> list[str]:
    """The problems, as they come."""
    return list(dict.fromkeys(run.problem for run in runs if run.stage == stage))


def algorithms(runs: Iterable[Run], problem: str | None = None, stage: Stage = "report") -> list[str]:
    """The algorithms (that ran on `problem`): relatives side by side, labels of your own after those known here."""
    found = dict.fromkeys(run.algorithm for run in runs if run.stage == stage and problem in (None, run.problem))
    return sorted(found, key=lambda label: ORDER.index(label) if label in ORDER else len(ORDER))


def select(runs: Iterable[Run], problem: str, algorithm: str) -> list[Run]:
    """The fresh runs of one algorithm on one problem, by seed."""
    found = [run for run in runs if (run.stage, run.problem, run.algorithm) == ("report", problem, algorithm)]
    if len({run.seed for run in found}) < len(found):
        raise InvalidInput(f"{algorithm} ran twice on {problem} with the same seed: give other settings another label.")
    return sorted(found, key=lambda run: run.seed)


def has_uniform(runs: Iterable[Run], problem: str, stage: Stage = "report") -> bool:
    """Whether regret on `problem` can be told as a share of uniform's."""
    return any((run.stage, run.problem, run.algorithm) == (stage, problem, UNIFORM) for run in runs)


# Values and intervals


def values(runs: Sequence[Run], field: Field, t: Vector) -> Matrix:
    """What `field` was after `t` measurements: a row a run."""
    return np.array([np.interp(t, [0, *run.t], [0, *getattr(run, field)]) for run in runs])


def interval(samples: Matrix) -> tuple[Vector, Vector]:
    """The mean over rows (seeds) and the half-width of its 95% interval, by Student's t: NaN for a single row."""
    n, mean = len(samples), np.mean(samples, axis=0)
    if n < 2:
        return mean, np.full_like(mean, np.nan)
    return mean, float(stdtrit(n - 1, 0.975)) * np.std(samples, axis=0, ddof=1) / np.sqrt(n)


def _estimate(samples: Vector) -> Estimate:
    mean, half = (float(x[0]) for x in interval(samples[:, None]))
    return Estimate(mean, mean - half, mean + half)


def last(runs: Iterable[Run]) -> int:
    return min(run.t[-1] for run in runs)


def scale(runs: Iterable[Run], problem: str, t: Vector, stage: Stage = "report") -> Vector:
    """Uniform's mean cumulative regret after `t` measurements, or t itself where uniform did not run."""
    uniform = [run for run in runs if (run.stage, run.problem, run.algorithm) == (stage, problem, UNIFORM)]
    return np.mean(values(uniform, "regret", t), axis=0) if uniform else np.asarray(t, dtype=np.float64)


def share(regret: Matrix, scale: Vector) -> Matrix:
    with np.errstate(divide="ignore", invalid="ignore"):  # a problem on which even uniform has no regret: no number
        return regret / scale


# Curves


def curve(runs: Iterable[Run], problem: str, algorithm: str, field: Field) -> Curve:
    """The mean of `field` over seeds against measurements, with its 95% interval (Student's t over seeds)."""
    return _curve(select(runs, problem, algorithm), lambda mine, t: values(mine, field, t))


def normalised(runs: Sequence[Run], problem: str, algorithm: str) -> Curve:
    """Average regret R_t/t as a share of uniform's: 1 is no better than measuring at random, 0 is perfect.

    Every seed's regret is divided by uniform's mean regret over its seeds at the same t; the 95% interval is Student's
    t on these per-seed values, with uniform's mean taken as known. Without a run of uniform it is R_t/t itself (see
    `has_uniform`). The curve ends where the first of its seeds, or of uniform's, ends.
    """
    mine, end = select(runs, problem, algorithm), _end(runs, problem)
    return _curve(mine, lambda mine, t: share(values(mine, "regret", t), scale(runs, problem, t)), end)


def _end(runs: Iterable[Run], problem: str) -> float:
    return min((run.t[-1] for run in select(runs, problem, UNIFORM)), default=np.inf)


def _curve(mine: Sequence[Run], sample: Callable[[Sequence[Run], Vector], Matrix], end: float = np.inf) -> Curve:
    if not mine:
        raise InvalidInput("There is no fresh run of this algorithm on this problem: see problems() and algorithms().")
    t = np.asarray(mine[0].t, dtype=np.float64)
    t = t[t <= min(end, last(mine))]
    mean, half = interval(sample(mine, t))
    return Curve(t, mean, mean - half, mean + half, len(mine))


# Tables


def table(runs: Sequence[Run]) -> list[Row]:
    """A row for each problem and algorithm, after as many measurements as all its seeds (and uniform's) reached."""
    pairs = [(problem, algorithm) for problem in problems(runs) for algorithm in algorithms(runs, problem)]
    return [_row(runs, *pair) for pair in pairs]


def _row(runs: Sequence[Run], problem: str, algorithm: str) -> Row:
    mine, end = select(runs, problem, algorithm), _end(runs, problem)
    longest = min(end, max(last(select(runs, problem, other)) for other in algorithms(runs, problem)))
    t = np.array([min(end, last(mine))])
    unique, switches, rounds, seconds = (
        _estimate(values(mine, field, t)[:, 0]) for field in ("unique", "switches", "rounds", "seconds")
    )
    return Row(
        problem=problem,
        algorithm=algorithm,
        regret=_estimate(share(values(mine, "regret", t), scale(runs, problem, t))[:, 0]),
        simple=_estimate(_simple(mine, int(t[0]))),
        normalised=has_uniform(runs, problem),
        unique=unique,
        switches=switches,
        rounds=rounds,
        seconds=seconds,
        seeds=len(mine),
        t=int(t[0]),
        short=bool(t[0] < longest),
    )


def _simple(runs: Sequence[Run], t: int) -> Vector:
    """The simple regret of every run after t measurements: NaN for a run that did not end there."""
    return np.array([np.nan if run.simple is None or run.t[-1] != t else run.simple for run in runs])


def winners(rows: Sequence[Row]) -> dict[str, str]:
    """For each problem the algorithm with the lowest mean regret, of those that went the whole way."""
    whole = [row for row in rows if not row.short]
    grouped = {row.problem: [other for other in whole if other.problem == row.problem] for row in whole}
    return {problem: min(group, key=_regret_or_inf).algorithm for problem, group in grouped.items()}


def _regret_or_inf(row: Row) -> float:
    return float(np.nan_to_num(row.regret.value, nan=np.inf))


def reference(runs: Iterable[Run], problem: str, wanted: str | None = None) -> str:
    """What the others are compared with on a problem: the one that is wanted; else BBKB if it ran, else the first.

    Not uniform, while there is another: regret is a share of its anyway.
    """
    ran = algorithms(runs, problem)
    others = [label for label in ran if label != UNIFORM]
    return next(label for label in (wanted, AGAINST, *others, *ran) if label in ran)


def ratios(runs: Sequence[Run]) -> list[Ratio]:
    """Every algorithm against every other, on every problem."""
    pairs = [(problem, against) for problem in problems(runs) for against in algorithms(runs, problem)]
    return [ratio for pair in pairs for ratio in ratios_to(runs, *pair)]


def ratios_to(runs: Sequence[Run], problem: str, against: str) -> list[Ratio]:
    """How the others compare with one algorithm: below 1 they have less regret, fewer candidates, or take less time.

    Both are compared on the seeds they share, after as many measurements as both reached. The ratio is the geometric
    mean of the ratios seed by seed, with Student's t on their logarithms as 95% interval. That uses the pairing, turns
    around when the two are exchanged, and holds with few seeds, where a bootstrap is too narrow (five values are too
    few to resample). It is NaN where a seed's value is zero; the ends are NaN for a single seed.
    """
    theirs = select(runs, problem, against)
    others = [label for label in algorithms(runs, problem) if label != against]
    made = (_ratio(problem, select(runs, problem, label), theirs) for label in others)
    return [ratio for ratio in made if ratio is not None]


def _ratio(problem: str, first: Sequence[Run], second: Sequence[Run]) -> Ratio | None:
    mine, theirs = _paired(first, second)
    if not mine:
        return None
    t = last([*mine, *theirs])
    regret, unique, switches, seconds = (
        paired_ratio(*_at(mine, theirs, field, t)) for field in ("regret", "unique", "switches", "seconds")
    )
    simple = _estimate(_simple(mine, t) - _simple(theirs, t))
    names = mine[0].algorithm, theirs[0].algorithm
    return Ratio(problem, *names, t, len(mine), regret, simple, unique, switches, seconds)


def _paired(mine: Iterable[Run], theirs: Iterable[Run]) -> tuple[list[Run], list[Run]]:
    first, second = ({run.seed: run for run in side} for side in (mine, theirs))
    shared = sorted(first.keys() & second.keys())
    return [first[seed] for seed in shared], [second[seed] for seed in shared]


def _at(mine: Sequence[Run], theirs: Sequence[Run], field: Field, t: int) -> tuple[Vector, Vector]:
    when = np.array([float(t)])
    return values(mine, field, when)[:, 0], values(theirs, field, when)[:, 0]


def paired_ratio(first: Vector, second: Vector) -> Estimate:
    """The geometric mean of first/second and its 95% interval, Student's t on the logarithms."""
    if np.any(first <= 0) or np.any(second <= 0):
        return Estimate(np.nan, np.nan, np.nan)
    log = _estimate(np.log(first) - np.log(second))
    return Estimate(*(float(np.exp(x)) for x in (log.value, log.low, log.high)))


def remarks(runs: Sequence[Run]) -> list[str]:
    """What a reader should know of these runs in particular."""
    rows = [row for row in table(runs) if row.algorithm.startswith("mini") and row.rounds.value > 0.9 * row.t]
    problems = list(dict.fromkeys(row.problem for row in rows))
    if not problems:
        return []
    return [
        f"On {', '.join(problems)} runs were too short, or noise too small, for repeats to begin: there the mini "
        "algorithms measure nearly every candidate once, as their plain twins do."
    ]
