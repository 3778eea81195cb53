"""Two that are asked on the same data, step by step: how often they decide alike, and what it costs if not."""

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module

import numpy as np

NEAR = 1e-3  # between points that count as one
SHORT = 1e-3  # of log expected improvement, by which a point may fall short
COMPARISONS = {"BoTorch LogEI": "same_botorch", "Optuna GP": "same_optuna"}
CONTROLLED = "BoTorch LogEI"  # of Optuna's decisions none differ, so there is nothing to compare them with


@dataclass(frozen=True)
class Step:
    """How far parameters and points are apart; by how much the other point's score is higher, as the library says."""

    parameters: float
    distance: float
    gain: float


def compared(optimizer: str, name: str, seed: int, measurements: int, *, control: bool) -> dict[str, float]:
    """The library's own optimiser beside the lean one, at every step of a run that it decides itself."""
    steps = import_module(f"{__package__}.{COMPARISONS[optimizer]}").steps
    return summary(steps(name, seed, measurements, **({"control": True} if control else {})))


def summary(steps: Iterator[Step]) -> dict[str, float]:
    apart, distances, gains = np.array([(step.parameters, step.distance, step.gain) for step in steps]).T
    others = gains[distances > NEAR]
    return {
        "decisions": len(gains),
        "same_points": 1 - len(others) / len(gains),
        "other_but_as_good": int(np.sum(np.abs(others) <= SHORT)),
        "higher": int(np.sum(others > SHORT)),
        "lower": int(np.sum(others < -SHORT)),
        "worst": float(np.min(others, initial=0.0)),
        "best": float(np.max(others, initial=0.0)),
        "parameters_median": float(np.median(apart)),
        "parameters_90%": float(np.quantile(apart, 0.9)),
        "parameters_largest": float(np.max(apart)),
    }
