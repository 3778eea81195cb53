"""Whether `LeanOptunaGP` decides as Optuna does: both asked at every step of Optuna's own run, on the same data.

    python -m benchmarks.continuous.same_optuna [--on PROBLEM …] [--measurements N] [--seed S]

Before each of Optuna's decisions its random numbers and last hyperparameters are put aside for the lean one. Printed
for each problem: the relative difference of the fitted hyperparameters (largest of a decision: median, 90%, highest);
the share of decisions whose points are within 1e-3 of each other; of the others, how much higher Optuna's own LogEI is
at Optuna's point (median, lowest, highest), and how often it is higher: half the time, if only rounding parts them.

Whole runs do part, as Optuna's own do when the values it is told change by 1e-13: later fits take up the difference.
"""

from typing import Annotated, Any

import msgspec
import numpy as np
import typer
from optuna._gp import acqf
from optuna._gp.search_space import SearchSpace
from optuna.samplers._gp.sampler import _standardize_values
from optuna.trial import TrialState

from benchmarks.continuous.contestants import OptunaGP
from benchmarks.continuous.lean_optuna import lean
from benchmarks.continuous.problems import problem
from ostinato.arrays import Vector

DEFAULT = ["hartmann4 0.5", "goldstein 0.1", "ackley10 1", "eggholder 0.1", "friedman10 0.5"]
NEAR = 1e-3


class Step(msgspec.Struct, frozen=True):
    """One decision, by both."""

    hyperparameters: float
    distance: float
    gap: float


def main(
    on: Annotated[list[str] | None, typer.Option(help="Problems; five by default.")] = None,
    measurements: int = 300,
    seed: int = 7,
) -> None:
    """Print a line a problem."""
    for name in on or DEFAULT:
        print(f"{name}: {told(compared(name, measurements, seed))}", flush=True)


def compared(name: str, measurements: int, seed: int) -> list[Step]:
    """Optuna's own run, as `finished` makes it."""
    made, rng, steps = problem(name), np.random.default_rng((seed, 0)), []
    asker = OptunaGP(made.columns, seed, measurements)
    for _ in range(measurements):
        other = beside(asker)
        point, _ = asker.ask()
        if other is not None:
            steps.append(step(asker, point, *other))
        asker.tell(40.0 + 7.0 * (made(point) + made.noise * rng.standard_normal(1)))
    return steps


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
    return Step(float(np.max(np.abs(fitted / theirs - 1))), float(np.max(np.abs(point - other))), at - at_other)


def logei(asker: OptunaGP, points: Any) -> list[float]:
    """Optuna's own, of its last decision."""
    trials = asker.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    values, _, _ = _standardize_values(np.array([trial.values for trial in trials]))
    space = SearchSpace(trials[0].distributions)
    score = acqf.LogEI(asker.study.sampler._gprs_cache_list[0], space, values.max())
    return score.eval_acqf_no_grad(points).tolist()


def told(steps: list[Step]) -> str:
    apart = np.array([each.hyperparameters for each in steps])
    gaps = np.array([each.gap for each in steps if each.distance > NEAR])
    text = f"hyperparameters {np.median(apart):.1e}, {np.quantile(apart, 0.9):.1e}, {apart.max():.1e}; "
    text += f"{len(steps) - len(gaps)} of {len(steps)} decisions the same ({1 - len(gaps) / len(steps):.1%})"
    if not len(gaps):
        return text
    middle, low, high = np.median(gaps), gaps.min(), gaps.max()
    return f"{text}; gaps {middle:.1e} ({low:.1e} to {high:.1e}), above 0: {np.sum(gaps > 0)} of {len(gaps)}"


if __name__ == "__main__":
    typer.run(main)
