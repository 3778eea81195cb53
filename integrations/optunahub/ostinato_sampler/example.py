"""A noisy objective: the best single trial promises too much, and the recommendation says how sure it is."""

import random

import optuna
import optunahub

module = optunahub.load_module(package="samplers/ostinato_sampler")


def objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", -5, 5)
    k = trial.suggest_int("k", 0, 6)
    return -((x - 1) ** 2) - (k - 3) ** 2 + random.gauss(0, 1)  # at most 0 without the noise


if __name__ == "__main__":
    study = optuna.create_study(direction="maximize", sampler=module.OstinatoSampler(seed=0))
    study.optimize(objective, n_trials=100)
    print(study.best_value, study.best_params)
    print(module.recommend(study))
