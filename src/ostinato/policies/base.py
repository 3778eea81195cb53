"""What a policy sees, what it answers, and how the best score is picked when several are equal."""

from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, ClassVar, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Array, Vector, gathered, highest, indices, namespace_of
from ostinato.checks import number
from ostinato.confidence import Progress, Schedule, as_schedule
from ostinato.errors import InvalidSetting, NothingToAsk
from ostinato.policies.stake import Stake
from ostinato.posterior import Ahead, Model, Posterior

TIE = 1e-9
NEAR = 0.25  # of the winner's confidence width: as near as that, the candidate that is cheaper to go to is as good


class Belief(msgspec.Struct, frozen=True, eq=False):
    """All that a policy may know: the model at the candidates (block by block), and how far the run is.

    Variances count measurements still in flight as if they had come; means do not. `top` and `bottom` are the highest
    and the lowest mean. What costs something answers when called: `variance` of one candidate, to the last digit;
    `covariance` of all candidates with one; `counts` (told and in flight) and `averages` of the measurements of each
    candidate measured; `pending` repeats are in flight; `draw`, a function from the posterior; `ahead`, the variances
    if more were measured (one for each belief). `centre` is the prior mean; `setup` the variance of the error that
    repeats share; `barred` candidates must not be asked for; `learned` says whether any hyperparameter is learned
    from the same measurements; `costs` says what it costs to go to some candidates from where we are, in the same
    units as `cost`, that of a measurement.
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
    rng: np.random.Generator
    variance: Callable[[int], float]
    covariance: Callable[[int], Vector]
    counts: Callable[[], Mapping[int, int]]
    averages: Callable[[], Mapping[int, float]]
    draw: Callable[[], list[Array]]
    ahead: Callable[[], Ahead]
    centre: float = 0.0
    setup: float = 0.0
    barred: frozenset[int] = frozenset()
    learned: bool = False
    pending: Mapping[int, int] = {}
    costs: Callable[[NDArray[np.int64]], Vector] | None = None
    cost: float = 1.0

    @property
    def candidates(self) -> int:
        return len(self.priority)

    @property
    def taken(self) -> int:
        """Measurements told and in flight."""
        return self.progress.steps + sum(self.pending.values())

    def resolution(self, beta: float) -> float:
        """How far apart scores in units of f must lie to count as different: 1e-9 (κβ + max|μ − μ₀|), and rounding."""
        rounding = 4 * np.finfo(np.float64).eps * max(abs(self.top), abs(self.bottom))
        return TIE * (self.kappa * beta + max(self.top - self.centre, self.centre - self.bottom)) + float(rounding)

    def first(self, tied: NDArray[np.int64]) -> int:
        """Of several candidates that are equal, the one of lowest priority."""
        return int(tied[0] if len(tied) == 1 else tied[np.argmin(self.priority[tied])])

    def at_random(self) -> int:
        """Any candidate that may be measured, all equally likely."""
        if len(self.barred) == self.candidates:
            raise NothingToAsk(
                "Every candidate failed whenever it was measured, or was retired: nothing is left to ask for."
            )
        candidate = int(self.rng.integers(self.candidates))
        while candidate in self.barred:
            candidate = int(self.rng.integers(self.candidates))
        return candidate

    def place(self, candidate: int) -> tuple[int, int]:
        """The block of a candidate, and its place there."""
        block = bisect_right(self.starts, candidate) - 1
        return block, candidate - self.starts[block]

    def stake(self, candidate: int) -> Stake:
        """What repeating a candidate is about."""
        switch = 0.0 if self.costs is None else float(self.costs(np.array([candidate]))[0])
        return Stake(self.variance(candidate), float(self.noise[candidate]), self.setup, switch, self.cost)

    def at(self, candidate: int) -> tuple[float, float]:
        """Mean and variance at one candidate."""
        block, place = self.place(candidate)
        return float(self.means[block][place]), float(self.variances[block][place])

    def at_each(self, candidates: NDArray[np.int64]) -> tuple[Vector, Vector]:
        """Means and variances at some candidates."""
        return gathered(self.means, self.starts, candidates), gathered(self.variances, self.starts, candidates)


class Scores(msgspec.Struct, frozen=True, eq=False):
    """The acquisition at every candidate, block by block, and how far apart two must lie to count as different."""

    blocks: list[Array]
    tolerance: float

    @property
    def best(self) -> float:
        return max(highest(block) for block in self.blocks)

    def first_best(self, belief: Belief) -> int:
        """Of the candidates that score within the tolerance of the best, the one of lowest priority."""
        return belief.first(self.above(self.best - self.tolerance, belief))

    def above(self, bar: float, belief: Belief) -> NDArray[np.int64]:
        """The candidates that score this much or more."""
        parts = [indices(block >= bar) + start for block, start in zip(self.blocks, belief.starts, strict=True)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def at(self, candidate: int, belief: Belief) -> float:
        """The score of one candidate."""
        block, place = belief.place(candidate)
        return float(self.blocks[block][place])

    def only(self, candidates: Collection[int], belief: Belief) -> "Scores":
        """The same, with all but some candidates out of the question."""
        blocks = [namespace_of(block).full_like(block, -inf) for block in self.blocks]
        for candidate in candidates:
            block, place = belief.place(candidate)
            blocks[block][place] = self.blocks[block][place]
        return Scores(blocks, self.tolerance)

    def without(self, candidates: Collection[int], belief: Belief) -> "Scores":
        """The same, with some candidates out of the question."""
        if not candidates:
            return self
        scores = Scores([namespace_of(block).asarray(block, copy=True) for block in self.blocks], self.tolerance)
        for candidate in candidates:
            block, place = belief.place(candidate)
            scores.blocks[block][place] = -inf
        return scores


class Proposal(msgspec.Struct, frozen=True):
    """Measure this candidate this many times. `wanted` is what the rule asked for before any limit, if that is more.

    `cause` says why it is capped: "because …"; `seeks` what the candidate has more of than any other, where that is not
    what the policy says of itself.
    """

    candidate: int
    repeats: int
    wanted: int | None = None
    capped: bool = False
    truncated: bool = False
    cause: str = ""
    seeks: str = ""


class Policy(Protocol):
    """Frozen settings that turn a belief into a round: what to measure before anything new is learned.

    Most rounds hold one proposal. A policy of one's own may be any object with this method; those that derive from
    `Settings` can say more about themselves.
    """

    def propose(self, belief: Belief, limit: int | None) -> list[Proposal]: ...


@dataclass(frozen=True)
class Settings:
    """The root of all policies, where the checks of their settings end; and what may be known of a policy.

    seeks: in words, what the candidate that is asked for has more of than any other.
    """

    seeks: ClassVar[str] = ""

    def __post_init__(self) -> None:
        return

    @property
    def model(self) -> Callable[..., Model]:
        """What makes the model that the policy sees: by default the exact one."""
        return Posterior

    @property
    def gain_of_full_batch(self) -> float | None:
        """What every full batch adds at least to the log-determinant, where that is promised."""
        return None

    @property
    def keeps_within(self) -> float | None:
        """By how much standard deviations may shrink within a batch or a round, where that is promised."""
        return None

    @property
    def longest_batch(self) -> int | None:
        """The most repeats of a batch."""
        return None

    @property
    def shrinking(self) -> Callable[[int, int], float] | None:
        """By how much length-scales are shorter after so many measurements of so many columns; None if they are not."""
        return None

    def width(self, belief: Belief) -> float | None:
        """β, where there is one."""
        return None

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        """What to measure before anything new is learned."""
        raise NotImplementedError


@dataclass(frozen=True)
class Custom(Settings):
    """A policy of the user's own, which only proposes."""

    own: Policy

    def __repr__(self) -> str:
        return repr(self.own)

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        return self.own.propose(belief, limit)


@dataclass(frozen=True)
class WithWidth(Settings):
    """Scores that depend on a confidence width β: a number, or a schedule from `confidence`."""

    beta: float | Schedule = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", as_schedule(self.beta))

    def width(self, belief: Belief) -> float:
        schedule: Any = self.beta
        width = float(schedule(belief.progress))
        if not (isfinite(width) and width >= 0):
            raise InvalidSetting(
                f"The β schedule {self.beta!r} gave {width!r}: it must give a finite number, 0 or more."
            )
        return width


@dataclass(frozen=True)
class WithStaleness(Settings):
    """Batches or rounds within which no standard deviation shrinks by more than about the factor C > 1."""

    C: float = 1.2

    @property
    def keeps_within(self) -> float | None:
        return self.C

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isfinite(number(self.C)) and self.C > 1):
            raise InvalidSetting(
                f"C={self.C!r} is out of range: it must be above 1 (1.1 to 2 is usual; larger repeats more)."
            )
