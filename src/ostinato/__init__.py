"""Optimise what can only be measured with noise, by repeating the few candidates that matter."""

from ostinato import confidence, errors, kernels, policies, stopping
from ostinato.candidates import Category, Float, Integer, Ordered, Space
from ostinato.optimizer import Optimizer
from ostinato.policies import AdaptiveUCB, MiniEI, MiniTS, MiniUCB
from ostinato.records import Batch, Best, Certificate, Costs, Learned, Plan, Prediction
from ostinato.running.optimize import optimize
from ostinato.running.result import Result

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`Study`, which needs a database library, is imported when it is first used."""
    if name == "Study":
        from ostinato.study import Study

        return Study
    raise AttributeError(f"module 'ostinato' has no attribute {name!r}")


__all__ = [
    "AdaptiveUCB",
    "Batch",
    "Best",
    "Category",
    "Certificate",
    "Costs",
    "Float",
    "Integer",
    "Learned",
    "MiniEI",
    "MiniTS",
    "MiniUCB",
    "Optimizer",
    "Ordered",
    "Plan",
    "Prediction",
    "Result",
    "Space",
    "Study",  # pyright: ignore[reportUnsupportedDunderAll]
    "confidence",
    "errors",
    "kernels",
    "optimize",
    "policies",
    "stopping",
]
