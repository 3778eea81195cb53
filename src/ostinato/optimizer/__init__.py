"""Ask and tell: what is known, what to measure next, and answers."""

from ostinato.optimizer.optimizer import Optimizer

__all__ = ["Optimizer"]
