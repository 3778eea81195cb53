"""The certified search: the highest upper confidence bound of a space, and how near to it the best point found is.

The bounds are those of `ceiling.py`, the search is that of `branch_and_bound.py`; here they meet the points of a space.
A box of ranges holds every point of a grid in it, so that bounds hold for steps, digits and whole numbers too. Of every
combination of categories there is one box to begin with.
"""

from collections.abc import Callable, Collection, Mapping
from functools import partial
from itertools import product
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from ostinato.arrays import Matrix, Vector, to_numpy
from ostinato.candidates import Sampled
from ostinato.kernels.boxes import Boxes
from ostinato.optimizer.branch_and_bound import BestBox, Task, maximise
from ostinato.optimizer.ceiling import Ceiling
from ostinato.posterior import Posterior
from ostinato.posterior.factor import factorise

LISTED = 10_000  # values of a column that is halved between two of them
VARIANCE_ERROR = 4.0  # times q ε κ² (1 + ρ): by how much variances may be off
TOLERANCE = 1e-3  # of the prior's standard deviation: as near as that, the search ends
MOST, LEAST = 2**16, 2**12  # boxes that are looked at, at most; and where many points were measured
COVARIANCES = 2**23  # with measured points, for all boxes together


class Region(NamedTuple):
    """Where the maximum is looked for. out: points that are out of the question. fixed: columns with one value."""

    table: Sampled
    out: Collection[int] = ()
    fixed: Mapping[int, float] = {}


def certified(ceiling: Ceiling, region: Region, start: Vector) -> BestBox:
    """The point of the highest score that was found, from one to start with, and a bound on all others."""
    levels = [_levels(parameter) for parameter in region.table.space.parameters.values()]
    task = Task(ceiling.over, _trials(ceiling, region), partial(_shares, ceiling), levels)
    most = max(LEAST, min(MOST, COVARIANCES // max(len(ceiling.X), 1)))
    return maximise(task, _first_boxes(region, levels), start, TOLERANCE * sqrt(ceiling.variance), most)


def ceiling_of(model: Posterior, pending: Mapping[int, float], beta: float) -> Ceiling:
    """μ + β σ of a model, with measurements in flight, so many of each candidate, counted as if they had come."""
    new = [candidate for candidate in pending if model.slot_of(candidate) is None]
    numbers = [*model.measured.tolist(), *new]
    X, more = model.features[numbers], np.zeros(len(new))
    alpha, m, w = (np.append(to_numpy(each), more) for each in (model.factor.alpha, model.factor.m, model.factor.w))
    for candidate, n in pending.items():
        w[numbers.index(candidate)] += n / model.noise[candidate]
    M = np.asarray(factorise(model.kernel(X, X), w, m).M) if numbers else np.zeros((0, 0))
    norm = sqrt(max(float(alpha @ m), 0.0))
    rho = model.kappa2 * float(np.max(w, initial=0.0))
    rounding = VARIANCE_ERROR * len(numbers) * float(np.finfo(np.float64).eps) * model.kappa2 * (1 + rho)
    return Ceiling(model.kernel, X, alpha, M, model.prior_mean, model.kappa2, beta, norm, rounding)


def _levels(parameter: Any) -> Vector | None:
    """The features of a parameter's values, where they are few."""
    if parameter.size > LISTED:
        return None
    return np.unique(parameter.codec("").encode(parameter.values))


def _first_boxes(region: Region, levels: list[Vector | None]) -> Boxes:
    """One for every combination of categories."""
    sides: list[list[tuple[float, float]]] = []
    low, high = region.table.span
    for j, column in enumerate(region.table.columns):
        values = levels[j]
        if j in region.fixed:
            sides.append([(region.fixed[j], region.fixed[j])])
        elif values is not None and column.kind == "category":
            sides.append([(level, level) for level in values.tolist()])
        else:
            sides.append([(low[j], high[j]) if values is None else (values[0], values[-1])])
    ends = np.array(list(product(*sides)))
    return Boxes(ends[:, :, 0], ends[:, :, 1])


def _trials(ceiling: Ceiling, region: Region) -> Callable[[Matrix], tuple[Matrix, Vector]]:
    """The nearest points of the space and their scores, −∞ for those that must not be asked for."""
    barred = {region.table.features[number].tobytes() for number in region.out}

    def tried(points: Matrix) -> tuple[Matrix, Vector]:
        snapped, allowed = region.table.trials(points)
        snapped = np.ascontiguousarray(snapped)
        free = [row.tobytes() not in barred for row in snapped] if barred else True
        return snapped, np.where(allowed & free, ceiling.at(snapped), -np.inf)

    return tried


def _shares(ceiling: Ceiling, half: Matrix) -> Matrix:
    """By how much the covariance with a box's centre falls along each column."""
    falls, origin = np.zeros_like(half), np.zeros((1, half.shape[1]))
    for j in range(half.shape[1]):
        along = np.zeros_like(half)
        along[:, j] = half[:, j]
        falls[:, j] = ceiling.variance - ceiling.kernel(along, origin)[:, 0]
    return falls
