"""Whether the lean arithmetic decides as BoTorch does: both are asked at every step of a run that BoTorch decides."""

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
    """How far parameters and points are apart; by how much the lean point's score is higher; seconds of both."""

    measurements: int
    parameters: float
    distance: float
    gain: float
    theirs: float
    lean: float


def steps(name: str, seed: int, measurements: int) -> Iterator[Step]:
    made, rng = problem(name), np.random.default_rng((seed, 0))
    theirs, lean = LogEI(made.columns, seed, measurements), LeanLogEI(made.columns, seed, measurements)
    for t in range(measurements):
        lean.X, lean.y = list(theirs.X), list(theirs.y)
        point, seconds = timed(theirs.ask)
        if t >= INITIAL:
            other, less = timed(lean.chosen)
            yield compared(t, theirs, lean, np.stack([point[0], other]), (seconds, less))
        theirs.tell(SHIFT + STRETCH * (made(point[0]) + made.noise * rng.standard_normal(1)))


def timed(work: Any) -> tuple[Any, float]:
    start = process_time()
    return work(), process_time() - start


def compared(t: int, theirs: LogEI, lean: LeanLogEI, points: Vector, seconds: tuple[float, float]) -> Step:
    with torch.no_grad():
        scores = theirs.score(torch.tensor(points)[:, None]).numpy()
    distance, gain = float(np.max(np.abs(points[1] - points[0]))), float(scores[1] - scores[0])
    return Step(t, apart(flat(theirs.model), lean.theta), distance, gain, *seconds)


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
        "seconds": sum(step.theirs for step in steps),
        "lean_seconds": sum(step.lean for step in steps),
    }
