"""Ask and tell: what is known, what to measure next, and answers."""

from typing import TYPE_CHECKING

from ostinato.lazy import lazily

if TYPE_CHECKING:
    from ostinato.optimizer.optimizer import Optimizer

__all__ = ["Optimizer"]

__getattr__, __dir__ = lazily(__name__, {"optimizer": ["Optimizer"]})
