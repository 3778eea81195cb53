"""Whether the lean arithmetic decides as BoTorch does: both are asked at every step of a run that BoTorch decides.

Where a fit is flat, or two climbs end equally high, rounding decides. `control` says how often that is: in place of the
lean arithmetic it asks BoTorch itself, with the measurements in reverse order.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from time import process_time
from typing import Any

import numpy as np
import torch

from benchmarks.continuous.contestants import LogEI
from benchmarks.continuous.lean import LeanLogEI
from benchmarks.continuous.lean_fit import flat
from benchmarks.continuous.problems import problem
from benchmarks.outofthebox.rivals import INITIAL, refits
from ostinato.arrays import Vector

NEAR = 1e-3  # between points that count as one
SHORT = 1e-3  # of log expected improvement, by which a point may fall short
SHIFT, STRETCH = 40.0, 7.0  # odd units, as in the runs


@dataclass(frozen=True)
class Step:
    """How far parameters and points are apart; by how much the other point's score is higher; seconds of both."""

    measurements: int
    parameters: float
    distance: float
    gain: float
    seconds: float
    other_seconds: float


def steps(name: str, seed: int, measurements: int, *, control: bool = False) -> Iterator[Step]:
    made, rng = problem(name), np.random.default_rng((seed, 0))
    theirs = LogEI(made.columns, seed, measurements)
    other = (LogEI if control else LeanLogEI)(made.columns, seed, measurements)
    for t in range(measurements):
        order = slice(None, None, -1 if control else 1)
        other.X, other.y = theirs.X[order], theirs.y[order]
        point, seconds = timed(theirs.ask)
        if t >= INITIAL:
            another, more = timed(other.chosen)
            yield compared(t, theirs, other, np.stack([point[0], another]), (seconds, more))
        theirs.tell(SHIFT + STRETCH * (made(point[0]) + made.noise * rng.standard_normal(1)))


def timed(work: Any) -> tuple[Any, float]:
    start = process_time()
    return work(), process_time() - start


def compared(t: int, theirs: LogEI, other: LogEI, points: Vector, seconds: tuple[float, float]) -> Step:
    """Both points by BoTorch's own model and score."""
    with torch.no_grad():
        scores = theirs.score(torch.tensor(points)[:, None]).numpy()
    distance, gain = float(np.max(np.abs(points[1] - points[0]))), float(scores[1] - scores[0])
    return Step(t, apart(parameters(theirs), parameters(other)), distance, gain, *seconds)


def parameters(asker: LogEI) -> Vector:
    return asker.theta if isinstance(asker, LeanLogEI) else flat(asker.model)


def apart(one: Vector, other: Vector) -> float:
    """The largest relative difference of parameters; of the constant, which may be 0, in standard deviations."""
    size = np.abs(one)
    size[1] = 1.0
    return float(np.max(np.abs(other - one) / size))


def summary(steps: list[Step]) -> dict[str, float]:
    fits = np.array([step.parameters for step in steps if refits(step.measurements)])
    gains = np.array([step.gain for step in steps if step.distance > NEAR])
    return {
        "decisions": len(steps),
        "fits": len(fits),
        "parameters_median": float(np.median(fits)),
        "parameters_90%": float(np.quantile(fits, 0.9)),
        "parameters_largest": float(np.max(fits)),
        "same_points": 1 - len(gains) / len(steps),
        "other_but_as_good": int(np.sum(np.abs(gains) <= SHORT)),
        "higher": int(np.sum(gains > SHORT)),
        "lower": int(np.sum(gains < -SHORT)),
        "mean_gain_of_others": float(np.mean(gains)) if len(gains) else 0.0,
        "worst": float(np.min(gains, initial=0.0)),
        "best": float(np.max(gains, initial=0.0)),
        "seconds": sum(step.seconds for step in steps),
        "other_seconds": sum(step.other_seconds for step in steps),
    }
