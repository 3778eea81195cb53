"""Facts from which an optimiser can be made again: what was asked, what became of it, and what decisions rest on.

They are small: a batch of a million repeats is one line with a count, a mean and squared deviations. What storage keeps
is these and the log of values, never a matrix.
"""

from typing import Any

import msgspec

from ostinato.learning import Learnt
from ostinato.measurements.history import Measured, Points
from ostinato.measurements.tally import Statistics
from ostinato.policies import Proposal


class Looked(msgspec.Struct, frozen=True):
    """Which single values were judged: by their numbers, those set aside as outliers (each with its candidate), and
    those that fit after all. `until` is the number of measurements looked over.
    """

    aside: dict[int, int] = {}
    cleared: frozenset[int] = frozenset()
    until: int = 0


class BatchFacts(msgspec.Struct, frozen=True):
    """A batch, and what was told of it. Observations, which nobody asked for, have numbers below 0.

    `index` is the row of the user's table. `first` is the place of its first feedback among all feedback, 0 for none;
    epochs are counted in that order. `points`, `rest` and `at` are those of its `Measured`.
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
    points: Points = ()
    rest: Statistics = Statistics()
    at: int = 0

    @property
    def answered(self) -> int:
        """Repeats that were told, with a value or as failed."""
        return int(self.statistics.n) + self.failed

    @property
    def measured(self) -> Measured:
        """What was measured, the lowest and highest values by themselves."""
        return (
            Measured(self.statistics, self.points, self.rest, self.at) if self.at else Measured.unknown(self.statistics)
        )

    @property
    def full(self) -> bool:
        return not (self.capped or self.truncated)


class State(msgspec.Struct, frozen=True):
    """What decisions rest on besides measurements: randomness, a round that is not handed out yet, the last fit."""

    random: dict[str, Any]
    round: list[Proposal] = []
    learnt: Learnt | None = None
    log_det_0: float = 0.0
    looked: Looked = Looked()
