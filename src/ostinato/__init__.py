"""Optimise what can only be measured with noise, by repeating the few candidates that matter."""

from typing import TYPE_CHECKING

from ostinato.lazy import lazily

if TYPE_CHECKING:
    from ostinato import confidence, errors, integrations, kernels, plots, policies, stopping
    from ostinato.candidates import Category, Float, Integer, Ordered, ShardedTable, Space
    from ostinato.optimizer import Optimizer
    from ostinato.policies import AdaptiveUCB, MiniEI, MiniTS, MiniUCB
    from ostinato.records import Batch, Best, Certificate, Costs, Learned, Plan, Prediction
    from ostinato.running.optimize import optimize
    from ostinato.running.result import Result
    from ostinato.service.client import Client
    from ostinato.study import Study

__version__ = "0.2.0"

__all__ = [
    "AdaptiveUCB",
    "Batch",
    "Best",
    "Category",
    "Certificate",
    "Client",
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
    "ShardedTable",
    "Space",
    "Study",
    "confidence",
    "errors",
    "integrations",
    "kernels",
    "optimize",
    "plots",
    "policies",
    "stopping",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "candidates": ["Category", "Float", "Integer", "Ordered", "ShardedTable", "Space"],
        "optimizer": ["Optimizer"],
        "policies": ["AdaptiveUCB", "MiniEI", "MiniTS", "MiniUCB"],
        "records": ["Batch", "Best", "Certificate", "Costs", "Learned", "Plan", "Prediction"],
        "running.optimize": ["optimize"],
        "running.result": ["Result"],
        "service.client": ["Client"],
        "study": ["Study"],
    },
    modules=["confidence", "errors", "integrations", "kernels", "plots", "policies", "stopping"],
)
