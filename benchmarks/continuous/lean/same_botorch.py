"""BoTorch's LogEI beside the lean one.

Where a fit is flat, or two climbs end equally high, rounding decides. `control` says how often that is: in place of the
lean arithmetic it asks BoTorch itself, with the measurements in reverse order.
"""

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks.continuous.contestants import LogEI
from benchmarks.continuous.lean.botorch import LeanLogEI
from benchmarks.continuous.lean.botorch_fit import flat
from benchmarks.continuous.lean.same import Step
from benchmarks.continuous.problems import problem
from benchmarks.outofthebox.rivals import INITIAL
from ostinato.arrays import Vector


def steps(name: str, seed: int, measurements: int, *, control: bool = False) -> Iterator[Step]:
    made, rng = problem(name), np.random.default_rng((seed, 0))
    theirs = LogEI(made.columns, seed, measurements)
    other = (LogEI if control else LeanLogEI)(made.columns, seed, measurements)
    for t in range(measurements):
        order = slice(None, None, -1 if control else 1)
        other.X, other.y = theirs.X[order], theirs.y[order]
        point, _ = theirs.ask()
        if t >= INITIAL:
            yield step(theirs, other, np.stack([point, other.chosen()]))
        theirs.tell(made.measured(point, rng))


def step(theirs: LogEI, other: LogEI, points: Vector) -> Step:
    """Both points by BoTorch's own model and score."""
    with torch.no_grad():
        scores = theirs.score(torch.tensor(points)[:, None]).numpy()
    distance, gain = float(np.max(np.abs(points[1] - points[0]))), float(scores[1] - scores[0])
    return Step(apart(parameters(theirs), parameters(other)), distance, gain)


def parameters(asker: LogEI) -> Vector:
    return asker.theta if isinstance(asker, LeanLogEI) else flat(asker.model)


def apart(one: Vector, other: Vector) -> float:
    """The largest relative difference of parameters; of the constant, which may be 0, in standard deviations."""
    size = np.abs(one)
    size[1] = 1.0
    return float(np.max(np.abs(other - one) / size))
