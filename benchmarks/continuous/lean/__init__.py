"""Optimisers of other libraries with a lean arithmetic: the same decisions up to rounding, in less time.

Each library draws, starts, climbs and stops by its own code. Only the functions that are climbed, and their slopes, are
computed here, in NumPy: `botorch*.py`, `optuna*.py`. `same_*.py` ask both at every step of a run: do they decide alike?
"""

from typing import Any


def lean_contestant(optimizer: str) -> type[Any] | None:
    """The one that stands in for an optimiser, where there is one."""
    if optimizer == "BoTorch LogEI":
        from benchmarks.continuous.lean.botorch import LeanLogEI

        return LeanLogEI
    if optimizer == "Optuna GP":
        from benchmarks.continuous.lean.optuna import LeanOptunaGP

        return LeanOptunaGP
    return None
