"""Optimise what can only be measured with noise, by repeating the few candidates that matter."""

from ostinato import confidence, errors, kernels, policies
from ostinato.candidates import Category, Float, Integer, Ordered, Space
from ostinato.optimize import Result, optimize
from ostinato.optimizer import Optimizer
from ostinato.policies import MiniEI, MiniTS, MiniUCB
from ostinato.records import Batch, Best, Certificate, Prediction

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "Best",
    "Category",
    "Certificate",
    "Float",
    "Integer",
    "MiniEI",
    "MiniTS",
    "MiniUCB",
    "Optimizer",
    "Ordered",
    "Prediction",
    "Result",
    "Space",
    "confidence",
    "errors",
    "kernels",
    "optimize",
    "policies",
]
