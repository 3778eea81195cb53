"""What a policy answers, and what may be known of it besides."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, Protocol

import msgspec

from ostinato.checks import number
from ostinato.confidence import Fixed, Schedule, as_schedule
from ostinato.errors import InvalidSetting
from ostinato.policies.belief import Belief, Scores
from ostinato.posterior import Model, Posterior


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
    `BasePolicy` can say more about themselves.
    """

    def propose(self, belief: Belief, limit: int | None) -> list[Proposal]:
        """What to measure before anything new is learned. limit: measurements that are left, or None."""
        ...


@dataclass(frozen=True)
class BasePolicy(ABC):
    """The root of all policies, where the checks of their settings end; and what may be known of a policy."""

    def __post_init__(self) -> None:
        return

    def __getstate__(self) -> dict[str, Any]:
        """For pickle and copy: the settings, not what was made from them."""
        kind, settings = type(self), getattr(self, "__dataclass_fields__", ())
        return {
            name: value
            for name, value in vars(self).items()
            if name in settings or not isinstance(getattr(kind, name, None), cached_property)
        }

    @abstractmethod
    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        """What to measure before anything new is learned."""

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

    @property
    def searched(self) -> Callable[[Belief], Scores] | None:
        """The score whose maximum over a space is looked for; None where the points of the pool are all there is."""
        return None

    @property
    def seeks(self) -> str:
        """In words, what the candidate that is asked for has more of than any other."""
        return ""

    def width(self, belief: Belief) -> float | None:
        """β, where there is one."""
        return None


@dataclass(frozen=True)
class Custom(BasePolicy):
    """A policy of the user's own, which only proposes."""

    own: Policy

    def __repr__(self) -> str:
        return repr(self.own)

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        return self.own.propose(belief, limit)


class HasWidth:
    """Whatever has a confidence width β, a number or a schedule from `confidence`: policies, and scores."""

    beta: float | Schedule

    def width(self, belief: Belief) -> float:
        """β now. How far the run is, is asked for where β depends on it."""
        beta = self.beta
        given = beta.value if isinstance(beta, Fixed) else beta
        width = float(given(belief.progress) if callable(given) else given)
        if not (isfinite(width) and width >= 0):
            raise InvalidSetting(f"The β schedule {beta!r} gave {width!r}: it must give a finite number, 0 or more.")
        return width


@dataclass(frozen=True)
class WithBeta(HasWidth, BasePolicy):
    """A policy with a confidence width β: a number, or a schedule from `confidence`."""

    beta: float | Schedule = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", as_schedule(self.beta))


@dataclass(frozen=True)
class WithC(BasePolicy):
    """Batches or rounds within which no standard deviation shrinks by more than about the factor C > 1."""

    C: float = 1.2

    @property
    def keeps_within(self) -> float | None:
        return self.C

    def __post_init__(self) -> None:
        super().__post_init__()
        above_one(self.C)


def above_one(C: float) -> None:
    """A factor by which standard deviations may shrink."""
    if not (isfinite(number(C)) and C > 1):
        raise InvalidSetting(f"C={C!r} is out of range: it must be above 1 (1.1 to 2 is usual; larger repeats more).")
