"""The paper's protocol: choose settings, then report on fresh seeds.

    choose    every algorithm, with every combination of its settings, on three seeds of its own at a short horizon;
              the combination with the lowest mean regret is kept
    report    every algorithm with its settings on fresh seeds, which all algorithms share

(The paper chose and reported on the same forty seeds; the figures of the best of many settings then flatter.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from rich.console import Console

from ostinato.checks import counted, whole
from ostinato.errors import InvalidSetting
from ostinato.experiments.algorithms import ALGORITHMS, Algorithm
from ostinato.experiments.choices import Settings, choose
from ostinato.experiments.digest import digest, digest_of_problem
from ostinato.experiments.jobs import Costs, WorkerPool, roughly
from ostinato.experiments.records import Job, Run, Stage
from ostinato.experiments.store import Store
from ostinato.experiments.summary import UNIFORM
from ostinato.problems import Problem

CHOOSING_SEEDS = range(1_000_000, 1_000_003)  # never those of the report
OVERHEAD = 0.02  # seconds of a run beside its algorithm, at least
QUICK_PROBLEM_SIZE, QUICK_TOTAL_SIZE = (
    11_000,
    65_000,
)  # candidates of a problem, and of all problems, in a quick comparison
PILOT = 300  # measurements of the trial runs that the estimate of time comes from


@dataclass(frozen=True)
class Protocol:
    """What is compared on what, and how long. `choosing` is the horizon of the runs that settings are chosen on."""

    problems: Sequence[Problem]
    algorithms: Sequence[Algorithm]
    seeds: int
    horizon: int
    choosing: int | None = None

    def __post_init__(self) -> None:
        whole("seeds", self.seeds)
        whole("horizon", self.horizon)
        for what, names in (("problem", self.problems), ("algorithm", self.algorithms)):
            listed = [each.name for each in names]
            twice = [name for name in listed if listed.count(name) > 1]
            if twice or not listed:
                cause = f"Two {what}s are named {twice[0]!r}" if twice else f"No {what} was given"
                raise InvalidSetting(f"{cause}: give at least one, each with a name of its own.")

    def choices(self) -> list[Job]:
        """The runs that settings are chosen on."""
        if self.choosing is None:
            return []
        return [
            job
            for problem in self.problems
            for algorithm in self.algorithms
            for settings in algorithm.settings(problem.lengthscales)
            for job in self._jobs("choose", problem, algorithm, settings, CHOOSING_SEEDS, self.choosing)
        ]

    def reports(self, chosen: Mapping[tuple[str, str], Settings]) -> list[Job]:
        """The runs that are reported."""
        return [
            job
            for problem in self.problems
            for algorithm in self.algorithms
            for job in self._jobs(
                "report",
                problem,
                algorithm,
                chosen.get((problem.name, algorithm.name), _middle(problem, algorithm)),
                range(self.seeds),
                _shorter(algorithm, self.horizon),
            )
        ]

    def _jobs(
        self, stage: Stage, problem: Problem, algorithm: Algorithm, settings: Settings, seeds: range, horizon: int
    ) -> list[Job]:
        made = digest(self._digests[problem.name], algorithm, settings)
        return [Job(stage, problem.name, algorithm.name, settings, seed, horizon, made) for seed in seeds]

    @cached_property
    def _digests(self) -> dict[str, bytes]:
        return {problem.name: digest_of_problem(problem) for problem in self.problems}

    def pilots(self) -> list[Job]:
        """A short run of each algorithm, to estimate times from."""
        problem = self.problems[0]
        return [
            Job("choose", problem.name, a.name, _middle(problem, a), 0, min(PILOT, self.horizon))
            for a in self.algorithms
        ]

    def notes(self) -> list[str]:
        """What a reader of the results should know."""
        notes = [
            "Regret is exact, on the noise-free truth, and is shown as a share of that of uniform sampling, measured "
            "in the same experiment.",
            "Seeds are shared: under one seed the n-th measurement of a candidate is the same for all algorithms.",
            "Simple regret is that of the candidate that would be recommended at the end of the run: the measured one "
            "with the highest lower bound (posterior mean less a standard deviation). 100% is the mean regret of all "
            "candidates, that of recommending one at random. ε-greedy and uniform have no model: a Gaussian process "
            "with the problem's middle length-scale recommends for them.",
            "Seconds are the processor time of the algorithm alone, one core a run; measuring and recommending are not "
            "counted.",
        ]
        if self.choosing is not None:
            notes.append(
                f"Settings were chosen by mean regret on {len(CHOOSING_SEEDS)} seeds of their own after "
                f"{self.choosing:,} measurements, then run on fresh seeds. The paper chose and reported on the same "
                "seeds."
            )
        for algorithm in self.algorithms:
            horizon = _shorter(algorithm, self.horizon)
            if horizon != self.horizon:
                notes.append(f"{algorithm.name} is costly: its runs have {horizon:,} measurements only.")
        return notes

    def run(self, folder: Path, console: Console, workers: int | None = None) -> list[Run]:
        """Make all runs that `folder` does not hold yet, and return all that belong to this protocol."""
        store = Store(folder / "runs.jsonl")
        with WorkerPool(self.problems, self.algorithms, workers) as bench:
            choices = self.choices()
            reports = self.reports(self._chosen(store, choices))
            todo = [job for job in (*choices, *reports) if job.key not in store.runs]
            sizes = {problem.name: problem.size for problem in self.problems}
            costs = Costs(ExpectedSeconds(bench.tried(self.pilots()), sizes, self.problems[0].size))
            _announce(console, choices, reports, len(todo), costs.total(todo) / bench.workers, bench.workers)
            if choices:
                bench.run(choices, store, costs, "choosing settings", console)
                reports = self.reports(self._chosen(store, choices))
            bench.run(reports, store, costs, "fresh seeds", console)
        return [store.runs[job.key] for job in (*choices, *reports)]

    def _chosen(self, store: Store, choices: Sequence[Job]) -> dict[tuple[str, str], Settings]:
        """The settings that did best, once all were tried."""
        tried = [store.runs[job.key] for job in choices if job.key in store.runs]
        return choose(tried) if len(tried) == len(choices) else {}


def with_uniform(algorithms: Sequence[Algorithm]) -> list[Algorithm]:
    """The algorithms and uniform, which regret is measured against."""
    names = [algorithm.name for algorithm in algorithms]
    return [*algorithms] if UNIFORM in names else [*algorithms, ALGORITHMS[UNIFORM]]


def quick(problems: Sequence[Problem], algorithms: Sequence[Algorithm]) -> Protocol:
    """The whole protocol in two minutes: few settings, few seeds, short runs."""
    few = [problems[0]]
    for problem in problems[1:]:
        if sum(each.size for each in few) + problem.size <= QUICK_TOTAL_SIZE:
            few.append(problem)
    thin = [replace(each, lengthscales=each.lengthscales[1::2]) for each in few]
    rough = [replace(a, grid={name: values[:2][-1:] for name, values in a.grid.items()}) for a in algorithms]
    horizon = 500 if max(each.size for each in thin) <= QUICK_PROBLEM_SIZE else 250
    return Protocol(thin, rough, seeds=3, horizon=horizon, choosing=horizon // 5)


def _announce(
    console: Console, choices: list[Job], reports: list[Job], todo: int, seconds: float, workers: int
) -> None:
    done = len(choices) + len(reports) - todo
    kept = f" ({counted(done, 'run')} of an earlier call kept)" if done else ""
    parts = [f"{len(choices):,} short runs to choose settings, then " if choices else "", f"{len(reports):,} runs"]
    console.print(
        f"{''.join(parts)}{kept}: [bold]{roughly(seconds)}[/bold] on {counted(workers, 'core')}, going by short "
        "trial runs; tables and figures then take some seconds more. Ctrl-C keeps what is finished.",
        highlight=False,
    )


@dataclass(frozen=True)
class ExpectedSeconds:
    """Seconds of a job, from a short run on the first problem: with the candidates, and growing as they did there.

    What a run takes beside its algorithm (measuring, the final recommendation) does not grow with its length.
    """

    pilots: Mapping[str, tuple[Run, float]]
    sizes: Mapping[str, int]
    size: int

    def __call__(self, job: Job) -> float:
        pilot, elapsed = self.pilots[job.algorithm]
        grown = (job.horizon / pilot.t[-1]) ** growth(pilot)
        beside = max(OVERHEAD, elapsed - pilot.seconds[-1])
        return beside + pilot.seconds[-1] * self.sizes[job.problem] / self.size * grown


def growth(run: Run) -> float:
    """The power of t with which a run's seconds grew over its second half."""
    half = np.interp(run.t[-1] / 2, [0, *run.t], [0, *run.seconds])
    return float(np.clip(np.log2(run.seconds[-1] / max(half, 1e-9)), 0.5, 2.0))


def _middle(problem: Problem, algorithm: Algorithm) -> Settings:
    """Settings where none were chosen: the middle length-scale, and the first value of everything else."""
    return algorithm.settings((problem.lengthscale,))[0]


def _shorter(algorithm: Algorithm, horizon: int) -> int:
    return max(1, round(horizon * algorithm.shorter))
