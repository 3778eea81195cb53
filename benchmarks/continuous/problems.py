"""Functions on the unit cube whose maximum is known, with Gaussian noise in units of their standard deviation."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize
from scipy.stats import qmc

from benchmarks.outofthebox import functions as f
from benchmarks.outofthebox.functions import Function
from ostinato.arrays import Matrix, Vector

FUNCTIONS: dict[str, tuple[Function, int]] = {
    "camel": (f.camel, 2),
    "goldstein": (f.goldstein, 2),
    "eggholder": (f.eggholder, 2),
    "hartmann4": (f.hartmann4, 4),
    "dixon-price5": (f.dixon_price, 5),
    "griewank6": (f.griewank, 6),
    "friedman10": (f.friedman, 10),
    "ackley10": (f.ackley, 10),
}
PEAKS: dict[str, float] = {"griewank6": 0.5, "ackley10": 0.5}  # at which all columns are best: climbs end elsewhere
NOISES = (0.1, 0.5, 1.0)
POINTS, STARTS = 2**14, 40
SHIFT, STRETCH = 40.0, 7.0  # of the units in which optimisers are told


@dataclass(frozen=True)
class Continuous:
    """A function, scaled so that random points have mean 0 and standard deviation 1; its highest value."""

    name: str
    function: Function
    columns: int
    noise: float
    mean: float
    std: float
    top: float

    def __call__(self, X: Matrix) -> Vector:
        return (self.function(np.atleast_2d(X)) - self.mean) / self.std

    def measured(self, point: Vector, rng: Generator, repeats: int = 1) -> Vector:
        """Measurements of a point, in odd units."""
        return SHIFT + STRETCH * (self(point) + self.noise * rng.standard_normal(repeats))

    def regret(self, point: Vector) -> float:
        """In % of that of a random point, which is 0 in these units."""
        return 100 * (self.top - float(self(point)[0])) / self.top


def names() -> list[str]:
    return [f"{name} {noise:g}" for name in FUNCTIONS for noise in NOISES]


@cache
def problem(name: str) -> Continuous:
    which, noise = name.split(" ")
    function, columns = FUNCTIONS[which]
    X = qmc.Sobol(columns, rng=0).random(POINTS)
    values = function(X)
    mean, std = float(np.mean(values)), float(np.std(values))
    starts = [*X[np.argsort(-values)[:STARTS]], *([np.full(columns, PEAKS[which])] if which in PEAKS else [])]
    best = max(_climbed(function, start) for start in starts)
    return Continuous(name, function, columns, float(noise), mean, std, (best - mean) / std)


def _climbed(function: Function, start: Vector) -> float:
    """The local maximum near a point."""
    done = minimize(lambda x: -float(function(x[None, :])[0]), start, bounds=[(0.0, 1.0)] * len(start))
    return max(-float(done.fun), float(function(start[None, :])[0]))
