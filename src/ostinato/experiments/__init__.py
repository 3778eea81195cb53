"""Comparisons of policies on problems with a known truth: the paper's experiments, and your own."""

from ostinato.errors import installing

try:
    from ostinato.experiments.algorithms import ALGORITHMS, Algorithm
    from ostinato.experiments.compare import Comparison, compare, reproduce
    from ostinato.experiments.records import Run
except ModuleNotFoundError as error:
    raise ImportError(f"Experiments need the package {error.name}: {installing('benchmarks')}.") from error

__all__ = ["ALGORITHMS", "Algorithm", "Comparison", "Run", "compare", "reproduce"]
