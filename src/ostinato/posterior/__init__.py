"""What is believed of f after everything that was measured: exact, sparse, or not at all."""

from ostinato.posterior.blocks import BlockedVector, ListedVector
from ostinato.posterior.cache import Indices
from ostinato.posterior.exact import Posterior
from ostinato.posterior.ghost import ExactGhost
from ostinato.posterior.model import Drawn, Model
from ostinato.posterior.no_model import NoModel
from ostinato.posterior.nystrom import Nystrom
from ostinato.posterior.pending import Ghost, Imagined, PendingVariances
from ostinato.posterior.pending_pointwise import PendingPointwise
from ostinato.posterior.pending_screen import PendingScreen
from ostinato.posterior.screen import Screen
from ostinato.posterior.sharded import ShardedPosterior

__all__ = [
    "BlockedVector",
    "Drawn",
    "ExactGhost",
    "Ghost",
    "Imagined",
    "Indices",
    "ListedVector",
    "Model",
    "NoModel",
    "Nystrom",
    "PendingPointwise",
    "PendingScreen",
    "PendingVariances",
    "Posterior",
    "Screen",
    "ShardedPosterior",
]
