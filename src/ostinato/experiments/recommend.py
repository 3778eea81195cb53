"""What to recommend after a run of a policy that has no model.

`Optimizer.best` names the measured candidate with the highest lower bound (mean less a standard deviation) in the exact
posterior. After a policy without a model it has to compute that posterior at all candidates, in O(|A| q²) for q
measured ones, and uniform sampling measures thousands. The bound matters at the measured candidates only. There it
takes O(q³), one factorisation, and no memory of the size of the candidate set.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector, solve_lower
from ostinato.candidates import read_candidates
from ostinato.confidence import SURE
from ostinato.kernels import Kernel, as_kernel
from ostinato.measurements.tally import Statistics
from ostinato.posterior.factor import Factor, factorise


def leader(candidates: Any, kernel: Kernel, noise_std: float, told: Mapping[int, Statistics]) -> int:
    """The row that `Optimizer.best` would name, after these measurements of some rows and with a prior mean of 0."""
    table, rows = read_candidates(candidates), np.array(list(told))
    X = table.features[table.numbers[rows]]
    n, means = (np.array([getattr(each, what) for each in told.values()], dtype=float) for what in ("n", "mean"))
    factor = factorise(as_kernel(kernel).bind(table.columns)(X, X), n / noise_std**2, means)
    expected = factor.mean_at_measured
    first = np.array([np.argmax(expected)])
    rivals = np.flatnonzero(expected >= _bounds(factor, expected, first))  # a bound never lies above the mean
    return int(rows[rivals[np.argmax(_bounds(factor, expected, rivals))]])


def _bounds(factor: Factor, means: Vector, slots: NDArray[np.intp]) -> Vector:
    """Mean less a standard deviation in some slots; the variance is ℓ (1 − [B⁻¹]_ii), as in `factor.py`."""
    unit = np.zeros((len(means), len(slots)))
    unit[slots, np.arange(len(slots))] = 1.0
    shares = np.sum(solve_lower(factor.L, unit) ** 2, axis=0)
    return means[slots] - SURE * np.sqrt(np.maximum(factor.l[slots] * (1 - shares), 0.0))
