"""One Optuna study of a noisy function: what is recommended at its end, and what its best value promises."""

import os
from collections.abc import Callable
from time import process_time

import msgspec
import numpy as np
import optuna

from benchmarks.continuous.problems import problem
from ostinato.integrations.optuna import OstinatoSampler, recommend

TRIALS = 100
FUNCTIONS = ("camel", "goldstein", "eggholder", "hartmann4", "dixon-price5", "griewank6")
NOISES = (0.5, 1.0)  # in standard deviations of the function
SAMPLERS: dict[str, Callable[[int], optuna.samplers.BaseSampler]] = {
    "Ostinato": lambda seed: OstinatoSampler(seed=seed),
    "TPE": lambda seed: optuna.samplers.TPESampler(seed=seed),
    "GP": lambda seed: optuna.samplers.GPSampler(seed=seed),
}


class Study(msgspec.Struct, frozen=True):
    """A finished study. Regrets are in % of that of a random point; what is promised too much in standard deviations of
    the function over its space: of `study.best_value`, and of the mean that `recommend` gives.
    """

    contestant: str
    problem: str
    seed: int
    best_params: float  # the regret of study.best_params
    recommended: float  # the regret of what recommend(study) says
    flattery: float  # study.best_value less the true value there
    excess: float  # the mean of recommend(study) less the true value there
    covered: bool  # whether its 95% interval holds the true value
    unique: int
    seconds: float


def names() -> list[str]:
    return [f"{function} {noise:g}" for function in FUNCTIONS for noise in NOISES]


def run(contestant: str, name: str, seed: int) -> Study:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made, rng = problem(name), np.random.default_rng((seed, 0))
    columns = [f"x{j}" for j in range(made.columns)]

    def truth(params: dict[str, float]) -> float:
        return float(made(np.array([params[each] for each in columns]))[0])

    def objective(trial: optuna.Trial) -> float:
        params = {each: trial.suggest_float(each, 0.0, 1.0) for each in columns}
        return truth(params) + made.noise * rng.standard_normal()

    study = optuna.create_study(direction="maximize", sampler=SAMPLERS[contestant](seed))
    start = process_time()
    study.optimize(objective, n_trials=TRIALS)
    seconds = process_time() - start
    best = recommend(study)
    low, high = best.interval

    def regret(params: dict[str, float]) -> float:
        return made.regret(np.array([params[each] for each in columns]))

    return Study(
        contestant,
        name,
        seed,
        regret(study.best_params),
        regret(best.candidate),
        study.best_value - truth(study.best_params),
        best.mean - truth(best.candidate),
        bool(low <= truth(best.candidate) <= high),
        len({tuple(trial.params.values()) for trial in study.trials}),
        seconds,
    )
