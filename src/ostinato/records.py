"""Facts that pass between the rooms and out to the user. All frozen."""

from dataclasses import dataclass
from typing import Any

import msgspec

from ostinato.arrays import Vector
from ostinato.checks import counted


class Batch(msgspec.Struct, frozen=True, eq=False):
    """Measure `candidate` (row `index` of the table) `repeats` times.

    `wanted` is what the rule asked for; `repeats` is lower where a cap or the limit of `ask` cut it.
    """

    id: int
    index: int
    candidate: Any
    repeats: int
    wanted: int
    capped: bool = False
    truncated: bool = False

    @property
    def full(self) -> bool:
        """Whether nothing cut the batch."""
        return not (self.capped or self.truncated)


class Best(msgspec.Struct, frozen=True, eq=False):
    """The measured candidate with the highest (when minimising: lowest) posterior mean.

    `mean` and `interval` speak of the candidate's true value, not of single measurements. `n` is how often it was
    measured; `chance` the probability that no other candidate is better, in the model's view.
    """

    index: int
    candidate: Any
    mean: float
    std: float
    interval: tuple[float, float]
    level: float
    n: int
    chance: float

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.candidate}: {self.mean:.4g} ({self.level:.0%} interval {low:.4g} to {high:.4g}) "
            f"after {counted(self.n, 'measurement')}; chance of being the best {self.chance:.0%}"
        )


class Certificate(msgspec.Struct, frozen=True):
    """A proof, made by the run itself, that it switched rarely.

    Every full batch adds at least `gain_per_batch` to the log-determinant, which grew by `gain`; so there
    can be at most `bound` of them. Batches cut by a cap, by a limit, or not answered in full are counted apart.
    """

    full: int
    capped: int
    truncated: int
    partial: int
    gain: float
    gain_per_batch: float

    @property
    def bound(self) -> float:
        return self.gain / self.gain_per_batch

    @property
    def holds(self) -> bool:
        """Whether the count obeys the bound. It always should: a False is a bug, please report it."""
        return self.full <= self.bound * (1 + 1e-9) + 1e-9

    def __str__(self) -> str:
        apart = [
            f"{n} {what}"
            for what, n in (("capped", self.capped), ("cut by a limit", self.truncated), ("partial", self.partial))
            if n
        ]
        return (
            f"{counted(self.full, 'full batch', 'full batches')}, at most {self.bound:,.0f} possible"
            + (f" (apart: {', '.join(apart)})" if apart else "")
            + ("" if self.holds else " — VIOLATED")
        )


@dataclass(frozen=True, slots=True)
class Prediction:
    """Mean and standard deviation of f (not of a measurement) at each of the points asked about."""

    mean: Vector
    std: Vector

    def __len__(self) -> int:
        return len(self.mean)
