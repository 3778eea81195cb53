"""Comparisons of policies on problems with a known truth: the paper's experiments, and your own."""

try:
    from ostinato.experiments.algorithms import ALGORITHMS, Algorithm
    from ostinato.experiments.compare import Comparison, compare, reproduce
    from ostinato.experiments.records import Run
except ModuleNotFoundError as error:
    raise ImportError(
        f"Experiments need the package {error.name}: pip install 'ostinato[benchmarks]' (in a checkout '.[benchmarks]')"
    ) from error

__all__ = ["ALGORITHMS", "Algorithm", "Comparison", "Run", "compare", "reproduce"]
