"""Ostinato as a contestant: with nothing given, and with hyper-parameters that nobody has (the oracle)."""

from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.outofthebox.trial import SHIFT, STRETCH
from ostinato import Optimizer
from ostinato.candidates import read_candidates
from ostinato.learning import Learner, Prior, Wanted
from ostinato.policies import GPEI
from ostinato.problems import Problem, Setups, load
from ostinato.tally import Statistics, Tally

CANDIDATES, REPEATS = 800, 20  # measured to learn the oracle's hyper-parameters
SETTINGS: dict[str, dict[str, Any]] = {"-setups": {"setup_std": "learn"}, "-uneven": {"noise_std": "varying"}}


class Ours:
    """An `Optimizer`, asked and told."""

    def __init__(self, optimizer: Optimizer, horizon: int) -> None:
        self.optimizer, self.horizon = optimizer, horizon

    def ask(self) -> tuple[int, int]:
        self.batch = self.optimizer.ask(limit=self.horizon - self.optimizer.steps)
        return self.batch.index, self.batch.repeats

    def tell(self, row: int, values: Any) -> None:
        self.optimizer.tell(self.batch, values)

    def recommend(self) -> int:
        return self.optimizer.leader()[0]


def told(problem: str) -> dict[str, Any]:
    """What a user knows of a problem and says: that repeats share a set-up, or that noise differs."""
    return next((settings for ending, settings in SETTINGS.items() if problem.endswith(ending)), {})


@lru_cache(maxsize=4)
def oracle(name: str) -> tuple[Prior, Problem]:
    """Kernel and mean learned from the truth of many candidates, and the noise as it is."""
    problem, rng = load(name), np.random.default_rng(0)
    table = read_candidates(problem.candidates)
    tally = Tally()
    for row in rng.choice(len(table), min(CANDIDATES, len(table)), replace=False):
        tally.add(int(row), Statistics(REPEATS, SHIFT + STRETCH * float(problem.truth[row]), 0.0))
    noise = np.full(len(table), (STRETCH * problem.noise_std) ** 2)
    return Learner(table.features, table.columns, Wanted(noise=noise)).learn(tally), problem


def with_oracle(name: str, seed: int, **settings: Any) -> Optimizer:
    """The same policy with the oracle's kernel, mean and noise."""
    prior, problem = oracle(name)
    noise: Any = problem.noise
    setups = isinstance(noise, Setups)
    stds = np.full(problem.size, noise.level) if setups else problem.noise_stds
    if setups:
        settings["setup_std"] = STRETCH * noise.setup
    noise_std = np.maximum(STRETCH * stds, 1e-3)
    given = {"kernel": prior.kernel, "mean": prior.mean, "noise_std": noise_std}
    return Optimizer(problem.candidates, seed=seed, **given, **settings)


def ours(name: str, optimizer: str, seed: int, horizon: int, problem: Problem) -> Ours:
    goal: Any = "earn" if "earn" in optimizer else "find"
    if optimizer == "GP-EI (our model)":
        return Ours(Optimizer(problem.candidates, policy=GPEI(), seed=seed), horizon)
    if "oracle" in optimizer:
        return Ours(with_oracle(name, seed, goal=goal, budget=horizon), horizon)
    return Ours(Optimizer(problem.candidates, goal=goal, budget=horizon, seed=seed, **told(name)), horizon)


OURS = ("Ostinato find", "Ostinato earn", "Ostinato find, oracle", "Ostinato earn, oracle", "GP-EI (our model)")
