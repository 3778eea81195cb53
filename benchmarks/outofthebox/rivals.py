"""The other optimisers, each as its documentation says it is used, with no setting but the seed.

Each has `ask() -> (row, repeats)`, `tell(row, values)` and `recommend() -> row`. Those of Optuna recommend their best
trial, as `study.best_trial` does; those with a model the visited row of the highest posterior mean; random search the
visited row of the highest average.
"""

import warnings
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from benchmarks.outofthebox.problems import unit_cube
from ostinato.candidates import Candidates

INITIAL = 5  # random candidates with which the Gaussian processes begin
SCREENED = 200  # candidates of the highest upper bound, on which BoTorch's Monte Carlo acquisition is computed
ITERATIONS = 50  # at most, of one fit of BoTorch's process
EACH_STEP_UP_TO, THEN_EVERY = 50, 5  # measurements at which Gaussian processes of other libraries are refitted


def refits(t: int) -> bool:
    """Whether a process is refitted after t measurements."""
    return t <= EACH_STEP_UP_TO or t % THEN_EVERY == 0


class Random:
    """Every measurement a random candidate."""

    def __init__(self, table: Candidates, seed: int, repeats: int = 1) -> None:
        self.table, self.repeats = table, repeats
        self.rng = np.random.default_rng((seed, 1))
        self.values: dict[int, list[float]] = {}

    def ask(self) -> tuple[int, int]:
        return int(self.rng.integers(len(self.table))), self.repeats

    def tell(self, row: int, values: Any) -> None:
        self.values.setdefault(row, []).extend(map(float, values))

    def recommend(self) -> int:
        return max(self.values, key=lambda row: np.mean(self.values[row]))


class WithOptuna:
    """An Optuna study over the columns, numbers as floats, categories as such; the nearest candidate is measured."""

    def __init__(self, table: Candidates, seed: int, repeats: int = 1) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        warnings.filterwarnings("ignore", module="optuna")
        self.columns = [
            (str(column.name), len(np.unique(values)) if column.kind == "category" else 0)
            for column, values in zip(table.columns, table.features.T, strict=True)
        ]
        self.tree, self.repeats = cKDTree(unit_cube(table)), repeats
        self.study = optuna.create_study(direction="maximize", sampler=self.sampler(optuna, seed))
        self.trial: Any = None

    def sampler(self, optuna: Any, seed: int) -> Any:
        raise NotImplementedError

    def ask(self) -> tuple[int, int]:
        self.trial = self.study.ask()
        for name, levels in self.columns:
            if levels:
                self.trial.suggest_categorical(name, list(range(levels)))
            else:
                self.trial.suggest_float(name, 0.0, 1.0)
        return self.nearest(self.trial.params), self.repeats

    def tell(self, row: int, values: Any) -> None:
        self.study.tell(self.trial, float(np.mean(values)))

    def recommend(self) -> int:
        return self.nearest(self.study.best_trial.params)

    def nearest(self, params: dict[str, Any]) -> int:
        parts = [np.eye(levels)[params[name]] if levels else [params[name]] for name, levels in self.columns]
        return int(self.tree.query(np.concatenate(parts))[1])


class TPE(WithOptuna):
    """Optuna's default sampler, the tree-structured Parzen estimator."""

    def sampler(self, optuna: Any, seed: int) -> Any:
        return optuna.samplers.TPESampler(seed=seed)


class OptunaGP(WithOptuna):
    """Optuna's Gaussian process."""

    def sampler(self, optuna: Any, seed: int) -> Any:
        return optuna.samplers.GPSampler(seed=seed)


class Modelled(Random):
    """A Gaussian process on every single measurement, as a row each."""

    def __init__(self, table: Candidates, seed: int, repeats: int = 1) -> None:
        super().__init__(table, seed, repeats)
        self.X = unit_cube(table)
        self.asked: list[int] = []
        self.y: list[float] = []

    def tell(self, row: int, values: Any) -> None:
        super().tell(row, values)
        self.asked += [row] * len(values)
        self.y += map(float, values)

    def ask(self) -> tuple[int, int]:
        return super().ask() if len(self.y) < INITIAL else (self.chosen(), self.repeats)

    def recommend(self) -> int:
        if len(self.y) < INITIAL:
            return super().recommend()
        visited = np.unique(self.asked)
        return int(visited[np.argmax(self.means(self.X[visited]))])

    def chosen(self) -> int:
        raise NotImplementedError

    def means(self, X: Any) -> Any:
        raise NotImplementedError


class ScikitEI(Modelled):
    """GP-EI as in many tutorials: scikit-learn's process, its marginal likelihood, expected improvement."""

    model: Any = None

    def fit(self) -> None:
        from sklearn.gaussian_process import GaussianProcessRegressor
        from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

        kernel = ConstantKernel() * Matern(np.ones(self.X.shape[1]), nu=2.5) + WhiteKernel(0.1)
        refit = self.model is None or refits(len(self.y))
        if self.model is not None:
            kernel = self.model.kernel_
        model = GaussianProcessRegressor(kernel, normalize_y=True, optimizer="fmin_l_bfgs_b" if refit else None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.model = model.fit(self.X[self.asked], self.y)

    def means(self, X: Any) -> Any:
        if self.model is None or len(self.model.y_train_) < len(self.y):
            self.fit()
        return self.model.predict(X)

    def chosen(self) -> int:
        from scipy.stats import norm

        self.fit()
        top = np.max(self.means(self.X[np.unique(self.asked)]))
        mean, total = self.model.predict(self.X, return_std=True)
        noise = self.model.kernel_.k2.noise_level * self.model._y_train_std**2
        std = np.sqrt(np.maximum(total**2 - noise, 1e-12))
        z = (mean - top) / std
        return int(np.argmax(std * (z * norm.cdf(z) + norm.pdf(z))))


class BoTorch(Modelled):
    """BoTorch's SingleTaskGP with its own priors, and an acquisition. Refitted as scikit-learn's process is."""

    model: Any = None
    fitted = 0

    def fit(self) -> None:
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        torch.set_num_threads(1)
        torch.manual_seed(len(self.y))
        X = torch.tensor(self.X[self.asked], dtype=torch.float64)
        y = torch.tensor(self.y, dtype=torch.float64)[:, None]
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
        self.fitted = len(self.y)

    def means(self, X: Any) -> Any:
        return self.moments(X)[0]

    def moments(self, X: Any) -> tuple[Any, Any]:
        import torch

        if self.fitted < len(self.y):
            self.fit()
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parts = [self.model.posterior(torch.tensor(x)) for x in np.array_split(X, -(-len(X) // 500))]
            means = [part.mean.numpy().ravel() for part in parts]
            return np.concatenate(means), np.concatenate([part.variance.numpy().ravel() for part in parts])


class LogEI(BoTorch):
    """LogExpectedImprovement on the best posterior mean of what was measured."""

    def chosen(self) -> int:
        import torch
        from botorch.acquisition.analytic import LogExpectedImprovement

        best = float(np.max(self.means(self.X[np.unique(self.asked)])))
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = LogExpectedImprovement(self.model, best_f=best)
            values = torch.cat([score(part[:, None, :]) for part in torch.tensor(self.X).split(500)])
        return int(torch.argmax(values))


class LogNEI(BoTorch):
    """qLogNoisyExpectedImprovement, with one candidate at a time."""

    def chosen(self) -> int:
        import torch
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.sampling import SobolQMCNormalSampler

        mean, variance = self.moments(self.X)
        screened = np.argsort(-(mean + 2 * np.sqrt(variance)))[:SCREENED]
        baseline = torch.tensor(self.X[np.unique(self.asked)])
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sampler = SobolQMCNormalSampler(torch.Size([128]), seed=len(self.y))
            score = qLogNoisyExpectedImprovement(self.model, baseline, sampler=sampler, prune_baseline=True)
            values = torch.cat([score(part[:, None, :]) for part in torch.tensor(self.X[screened]).split(250)])
        return int(screened[int(torch.argmax(values))])


RIVALS: dict[str, tuple[type[Any], int]] = {
    "random": (Random, 1),
    "TPE": (TPE, 1),
    "TPE, 3 repeats": (TPE, 3),
    "Optuna GP": (OptunaGP, 1),
    "Optuna GP, 3 repeats": (OptunaGP, 3),
    "GP-EI (scikit-learn)": (ScikitEI, 1),
    "BoTorch LogEI": (LogEI, 1),
    "BoTorch qLogNEI": (LogNEI, 1),
}
