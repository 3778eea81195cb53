"""What is believed of f after everything that was measured: exact, sparse, or not at all."""

from ostinato.posterior.ahead import Ahead, Ghost
from ostinato.posterior.blocks import BlockedVector
from ostinato.posterior.cache import Indices
from ostinato.posterior.exact import ExactGhost, Posterior
from ostinato.posterior.model import Drawn, Model
from ostinato.posterior.nystrom import Nystrom
from ostinato.posterior.unmodelled import Unmodelled

__all__ = [
    "Ahead",
    "BlockedVector",
    "Drawn",
    "ExactGhost",
    "Ghost",
    "Indices",
    "Model",
    "Nystrom",
    "Posterior",
    "Unmodelled",
]
