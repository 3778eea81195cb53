"""Optuna's Gaussian process beside the lean one.

Before each of Optuna's decisions its random numbers and last hyperparameters are put aside for the lean one. Whole runs
part all the same, as Optuna's own do when the values it is told change by 1e-13: later fits take up the difference.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from optuna._gp import acqf
from optuna._gp.search_space import SearchSpace
from optuna.samplers._gp.sampler import _standardize_values
from optuna.trial import TrialState

from benchmarks.continuous.contestants import OptunaGP
from benchmarks.continuous.lean.optuna import lean
from benchmarks.continuous.lean.same import Step
from benchmarks.continuous.problems import problem
from ostinato.arrays import Vector


def steps(name: str, seed: int, measurements: int) -> Iterator[Step]:
    made, rng = problem(name), np.random.default_rng((seed, 0))
    asker = OptunaGP(made.columns, seed, measurements)
    for _ in range(measurements):
        other = beside(asker)
        point, _ = asker.ask()
        if other is not None:
            yield step(asker, point, *other)
        asker.tell(made.measured(point, rng))


def beside(asker: OptunaGP) -> tuple[Vector, Vector] | None:
    """The lean decision and its hyperparameters, with the sampler left as it was; none while that draws at random."""
    study, sampler = asker.study, asker.study.sampler
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    if len(trials) < sampler._n_startup_trials:
        return None
    state, last = sampler._rng.rng.get_state(), sampler._gprs_cache_list
    with lean():
        params = sampler._sample_relative_impl(study, trials, [], trials[0].distributions)
    fitted = hyperparameters(sampler)
    sampler._rng.rng.set_state(state)
    sampler._gprs_cache_list = last
    return np.array([params[f"x{j}"] for j in range(asker.columns)]), fitted


def hyperparameters(sampler: Any) -> Vector:
    gpr = sampler._gprs_cache_list[0]
    return np.array([*gpr.inverse_squared_lengthscales.numpy(), gpr.kernel_scale.item(), gpr.noise_var.item()])


def step(asker: OptunaGP, point: Vector, other: Vector, fitted: Vector) -> Step:
    theirs = hyperparameters(asker.study.sampler)
    at, at_other = logei(asker, np.array([point, other]))
    return Step(float(np.max(np.abs(fitted / theirs - 1))), float(np.max(np.abs(point - other))), at_other - at)


def logei(asker: OptunaGP, points: Any) -> list[float]:
    """Optuna's own, of its last decision."""
    trials = asker.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    values, _, _ = _standardize_values(np.array([trial.values for trial in trials]))
    space = SearchSpace(trials[0].distributions)
    score = acqf.LogEI(asker.study.sampler._gprs_cache_list[0], space, values.max())
    return score.eval_acqf_no_grad(points).tolist()
