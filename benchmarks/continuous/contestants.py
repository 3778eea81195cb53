"""The optimisers on the unit cube: each has `ask() -> (point, repeats)`, `tell(values)` and `recommend() -> point`.

Those of other libraries are used as their documentation says, with no setting but the seed. Optuna recommends its best
trial, random search the best value, BoTorch the measured point of the highest posterior mean.
"""

import warnings
from typing import Any

import numpy as np

from benchmarks.outofthebox.rivals import INITIAL, ITERATIONS, refits
from ostinato import Float, Optimizer, Space
from ostinato.arrays import Vector

RESTARTS, RAW = 10, 512  # of BoTorch's optimize_acqf, as in its tutorials
POINTS = 5_000  # scattered in the cube


class Ours:
    """Continuous ranges, nothing given but the budget."""

    def __init__(self, columns: int, seed: int, budget: int) -> None:
        space = Space(**{f"x{j}": Float(0.0, 1.0) for j in range(columns)})
        self.optimizer = Optimizer(space, budget=budget, seed=seed)

    def ask(self) -> tuple[Vector, int]:
        self.batch = self.optimizer.ask()
        return self.point(self.batch.candidate), self.batch.repeats

    def tell(self, values: Vector) -> None:
        self.optimizer.tell(self.batch, values)

    def recommend(self) -> Vector:
        return self.point(self.optimizer.best().candidate)

    def point(self, row: Any) -> Vector:
        return np.array(list(row.values()))


class Scattered(Ours):
    """The same on random points of the cube."""

    def __init__(self, columns: int, seed: int, budget: int) -> None:
        X = np.random.default_rng((seed, 2)).random((POINTS, columns))
        self.optimizer = Optimizer(X, budget=budget, seed=seed)

    def point(self, row: Any) -> Vector:
        return np.asarray(row)


class Random:
    """Every measurement a random point."""

    def __init__(self, columns: int, seed: int, budget: int) -> None:
        self.rng, self.columns = np.random.default_rng((seed, 1)), columns
        self.X: list[Vector] = []
        self.y: list[float] = []

    def ask(self) -> tuple[Vector, int]:
        self.X.append(self.chosen())
        return self.X[-1], 1

    def tell(self, values: Vector) -> None:
        self.y.append(float(values[0]))

    def recommend(self) -> Vector:
        return self.X[int(np.argmax(self.y))]

    def chosen(self) -> Vector:
        return self.rng.random(self.columns)


class TPE(Random):
    """Optuna's default sampler."""

    def __init__(self, columns: int, seed: int, budget: int) -> None:
        import optuna

        super().__init__(columns, seed, budget)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore", module="optuna")
        self.study = optuna.create_study(direction="maximize", sampler=self.sampler(optuna.samplers, seed))

    def sampler(self, samplers: Any, seed: int) -> Any:
        return samplers.TPESampler(seed=seed)

    def chosen(self) -> Vector:
        self.trial = self.study.ask()
        return np.array([self.trial.suggest_float(f"x{j}", 0.0, 1.0) for j in range(self.columns)])

    def tell(self, values: Vector) -> None:
        super().tell(values)
        self.study.tell(self.trial, float(values[0]))


class OptunaGP(TPE):
    """Optuna's Gaussian process."""

    def sampler(self, samplers: Any, seed: int) -> Any:
        return samplers.GPSampler(seed=seed)


class LogEI(Random):
    """BoTorch's SingleTaskGP with its own priors, and LogExpectedImprovement by optimize_acqf."""

    model: Any = None

    def fit(self) -> None:
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        torch.set_num_threads(1)
        torch.manual_seed(len(self.y))
        X, y = torch.tensor(np.array(self.X[: len(self.y)])), torch.tensor(self.y, dtype=torch.float64)[:, None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            last, self.model = self.model, SingleTaskGP(X, y)
            if last is None or refits(len(self.y)):
                mll = ExactMarginalLogLikelihood(self.model.likelihood, self.model)
                fit_gpytorch_mll(mll, optimizer_kwargs={"options": {"maxiter": ITERATIONS}})
            else:
                for part in ("covar_module", "mean_module", "likelihood"):
                    getattr(self.model, part).load_state_dict(getattr(last, part).state_dict())
                self.model.eval()

    def means(self) -> Vector:
        import torch

        self.fit()
        with torch.no_grad():
            return self.model.posterior(torch.tensor(np.array(self.X[: len(self.y)]))).mean.numpy().ravel()

    def chosen(self) -> Vector:
        if len(self.y) < INITIAL:
            return super().chosen()
        import torch
        from botorch.acquisition.analytic import LogExpectedImprovement
        from botorch.optim import optimize_acqf

        best = float(np.max(self.means()))
        box = torch.stack([torch.zeros(self.columns), torch.ones(self.columns)]).double()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.score = LogExpectedImprovement(self.model, best_f=best)
            point, _ = optimize_acqf(self.score, box, q=1, num_restarts=RESTARTS, raw_samples=RAW)
        return point.numpy().ravel()

    def recommend(self) -> Vector:
        return self.X[int(np.argmax(self.means()))]


OURS, SCATTERED = "Ostinato find", "Ostinato find, 5,000 scattered points"
CONTESTANTS: dict[str, type[Any]] = {
    OURS: Ours,
    SCATTERED: Scattered,
    "random": Random,
    "TPE": TPE,
    "Optuna GP": OptunaGP,
    "BoTorch LogEI": LogEI,
}
