"""What a policy sees, what it answers, and how the best score is picked when several are equal."""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Array, Vector, highest, indices
from ostinato.confidence import Progress

TIE = 1e-9


class Belief(msgspec.Struct, frozen=True, eq=False):
    """All that a policy may know: the posterior at the candidates (block by block), and how far the run is.

    Variances count measurements still in flight as if they had come; means do not. `top` and `bottom` are the highest
    and the lowest mean. `variance` (of one candidate, to the last digit), `counts` and `draw` answer when called.
    """

    means: list[Array]
    variances: list[Array]
    starts: Sequence[int]
    top: float
    bottom: float
    noise: Vector
    kappa: float
    progress: Progress
    priority: NDArray[np.int64]
    variance: Callable[[int], float]
    counts: Callable[[], Mapping[int, int]]
    draw: Callable[[], list[Array]]

    def resolution(self, beta: float) -> float:
        """How far apart two scores in units of f must lie to count as different: 1e-9 (κβ + max|μ|)."""
        return TIE * (self.kappa * beta + max(self.top, -self.bottom))

    def place(self, candidate: int) -> tuple[int, int]:
        """The block of a candidate, and its place there."""
        block = bisect_right(self.starts, candidate) - 1
        return block, candidate - self.starts[block]

    def at(self, candidate: int) -> tuple[float, float]:
        """Mean and variance at one candidate."""
        block, place = self.place(candidate)
        return float(self.means[block][place]), float(self.variances[block][place])


class Scores(msgspec.Struct, frozen=True, eq=False):
    """The acquisition at every candidate, block by block, and how far apart two must lie to count as different."""

    blocks: list[Array]
    tolerance: float

    @property
    def best(self) -> float:
        return max(highest(block) for block in self.blocks)

    def first_best(self, belief: Belief) -> int:
        """Of the candidates that score within the tolerance of the best, the one of lowest priority."""
        bar = self.best - self.tolerance
        ties = [indices(block >= bar) + start for block, start in zip(self.blocks, belief.starts, strict=True)]
        tied = ties[0] if len(ties) == 1 else np.concatenate(ties)
        return int(tied[0] if len(tied) == 1 else tied[np.argmin(belief.priority[tied])])


class Proposal(msgspec.Struct, frozen=True):
    """Measure this candidate this many times. `wanted` is what the rule asked for before any limit."""

    candidate: int
    repeats: int
    wanted: int
    capped: bool = False
    truncated: bool = False


class Policy(Protocol):
    """Frozen settings that turn a belief into a proposal."""

    def propose(self, belief: Belief, limit: int | None) -> Proposal: ...

    @property
    def gain_of_full_batch(self) -> float | None:
        """What every full batch adds at least to the log-determinant; None where nothing is promised."""
        ...
