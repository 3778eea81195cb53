"""Facts from which an optimiser can be made again: what was asked, what became of it, and what decisions rest on.

They are small: a batch of a million repeats is one line with a count, a mean and squared deviations. What storage keeps
is these and the log of values, never a matrix.
"""

from typing import Any

import msgspec

from ostinato.learning import Learnt
from ostinato.policies import Proposal
from ostinato.tally import Statistics


class BatchFacts(msgspec.Struct, frozen=True):
    """A batch, and what was told of it. Observations, which nobody asked for, have numbers below 0.

    `index` is the row of the user's table. `first` is the place of its first feedback among all feedback, 0 for none;
    epochs are counted in that order.
    """

    id: int
    index: int
    repeats: int
    wanted: int = 0
    capped: bool = False
    truncated: bool = False
    round: int = 0
    failed: int = 0
    statistics: Statistics = Statistics()
    first: int = 0
    closed: bool = False

    @property
    def answered(self) -> int:
        """Repeats that were told, with a value or as failed."""
        return int(self.statistics.n) + self.failed

    @property
    def full(self) -> bool:
        return not (self.capped or self.truncated)


class State(msgspec.Struct, frozen=True):
    """What decisions rest on besides measurements: randomness, a round that is not handed out yet, the last fit."""

    random: dict[str, Any]
    round: list[Proposal] = []
    learnt: Learnt | None = None
    log_det_0: float = 0.0
