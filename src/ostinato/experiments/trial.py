"""One run of one policy on one problem: what it regretted, and how long it thought.

The optimiser sees rewards shifted and scaled so that the truth has mean 0 and standard deviation 1, which is what a
problem's kernel of standard deviation 1 expects; regret is told in the problem's own units.

Regret is exact: repeats × (truth of the best candidate − truth of the measured one), summed. Simple regret is that of
the candidate that would be recommended at the end, as a share of the mean regret of all candidates, which is what
recommending one at random would cost. Seconds are those of `ask` and `tell`, in processor time, so that other work on
the machine counts less; measuring, reading the candidates and recommending are not counted. The n-th measurement of a
candidate under a seed is the same whoever asks for it, so that algorithms with the same seed are compared on the same
noise.
"""

from collections.abc import Mapping
from math import log10
from time import process_time

import numpy as np
from msgspec import structs

from ostinato.arrays import Vector
from ostinato.experiments.algorithms import LENGTHSCALE, Algorithm
from ostinato.experiments.recommend import leader
from ostinato.experiments.records import Job, Run
from ostinato.kernels import Kernel
from ostinato.measurements.tally import Statistics
from ostinato.optimizer import Optimizer
from ostinato.problems import Problem

A_DECADE = 12  # checkpoints
LEAST = 1e-3  # noise that the optimiser is told of problems without any


class Measurements:
    """The noisy rewards of a problem under one seed: a stream of its own for each candidate."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self._problem = problem
        self._streams: dict[int, np.random.Generator] = {}
        self._seed = seed

    def __call__(self, candidate: int, repeats: int) -> Vector:
        if candidate not in self._streams:
            words = (self._seed, candidate, int(candidate == 0))  # (seed, 0) would be the optimiser's own stream
            self._streams[candidate] = np.random.default_rng(words)
        return self._problem.measure(candidate, repeats, self._streams[candidate])


def checkpoints(horizon: int) -> list[int]:
    """Twelve a decade, and the last; runs of any length share them."""
    spread = (round(10 ** (i / A_DECADE)) for i in range(int(A_DECADE * log10(horizon)) + 1))
    return sorted({*spread, horizon})


def trial(problem: Problem, algorithm: Algorithm, job: Job) -> Run:
    """Run a job to its horizon."""
    centre, scale = float(np.mean(problem.truth)), float(np.std(problem.truth)) or 1.0
    kernel, noise_std = kernel_of(problem, job.settings), max(problem.noise_std / scale, LEAST)
    policy = algorithm.make(job.settings)
    optimizer = Optimizer(problem.candidates, policy=policy, kernel=kernel, noise_std=noise_std, seed=job.seed)
    run = Run(**structs.asdict(job))
    log = Log(problem, run, checkpoints(job.horizon))
    measurements, told = Measurements(problem, job.seed), dict[int, Statistics]()
    while optimizer.steps < job.horizon:
        start = process_time()
        batch = optimizer.ask(limit=job.horizon - optimizer.steps)
        asked = process_time() - start
        values = (measurements(batch.index, batch.repeats) - centre) / scale
        start = process_time()
        optimizer.tell(batch, values)
        log.add(batch.index, batch.repeats, optimizer, asked + process_time() - start)
        told[batch.index] = told.get(batch.index, Statistics()) + Statistics.of_values(values)
    best = optimizer.leader()[0] if algorithm.modelled else leader(problem.candidates, kernel, noise_std, told)
    return structs.replace(run, simple=simple_regret(problem, best))


def simple_regret(problem: Problem, candidate: int) -> float | None:
    """The regret of a candidate over the mean regret of all; None where all candidates are equally good."""
    random = float(np.mean(problem.regrets))
    return float(problem.regrets[candidate]) / random if random > 0 else None


def kernel_of(problem: Problem, settings: Mapping[str, float]) -> Kernel:
    """The problem's kernel with the length-scale of the settings, or with the middle one of the problem's."""
    return problem.kernel(settings.get(LENGTHSCALE, problem.lengthscale))


class Log:
    """Fills in the checkpoints of a run."""

    def __init__(self, problem: Problem, run: Run, checkpoints: list[int]) -> None:
        self._regrets, self._run, self._ahead = problem.regrets, run, checkpoints[::-1]
        self._t, self._regret, self._seconds = 0, 0.0, 0.0

    def add(self, index: int, repeats: int, optimizer: Optimizer, seconds: float) -> None:
        """A batch was told. Regret at the checkpoints within it is exact; the other columns are those at its end."""
        each, run = float(self._regrets[index]), self._run
        self._seconds += seconds
        while self._ahead and self._ahead[-1] <= self._t + repeats:
            t = self._ahead.pop()
            run.t.append(t)
            run.regret.append(self._regret + (t - self._t) * each)
            run.unique.append(optimizer.unique)
            run.rounds.append(optimizer.rounds)
            run.switches.append(optimizer.switches)
            run.seconds.append(self._seconds)
        self._t += repeats
        self._regret += repeats * each
