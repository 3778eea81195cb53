"""What keeps batches short, and candidates from being asked for: caps that users set, and caution.

The mini-META rule trusts the model's variances. While hyperparameters are learned from few candidates the model may
be wrong, and repeating one candidate brings nothing that would correct it. So with `Cautious` a batch takes at most a
share of what was measured so far, unless a switching cost makes a longer one pay.
"""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import floor, inf

from ostinato.checks import fraction, whole
from ostinato.errors import NothingToAsk
from ostinato.policies.base import BasePolicy, Proposal
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.repeat_value import MOST


class Limit(ABC):
    """One reason why a candidate is not asked for, or not as often as a rule says.

    firm: candidates that are closed are never asked for; else only while others are left.
    """

    firm: bool = False
    cause: str = ""

    def closed(self, belief: Belief) -> Collection[int]:
        """Candidates that are not to be asked for now."""
        return ()

    @abstractmethod
    def most(self, candidate: int, belief: Belief) -> int | None:
        """The most repeats of a candidate now, if there is such a number."""


@dataclass(frozen=True)
class BatchCap(Limit):
    """No batch has more repeats."""

    cap: int
    cause = "of the cap per batch"

    def most(self, candidate: int, belief: Belief) -> int:
        return self.cap


@dataclass(frozen=True)
class CandidateCap(Limit):
    """No candidate is measured more often."""

    cap: int
    firm = True
    cause = "of the cap per candidate"

    def closed(self, belief: Belief) -> set[int]:
        return {candidate for candidate, count in belief.counts().items() if count >= self.cap}

    def most(self, candidate: int, belief: Belief) -> int:
        return self.cap - belief.counts().get(candidate, 0)


@dataclass(frozen=True)
class BatchShare(Limit):
    """No batch takes more than a share of all measurements so far, while anything is learned."""

    share: float

    @property
    def cause(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return f"no batch takes more than {self.share:.0%} of what was measured so far while the model is learned"

    def closed(self, belief: Belief) -> list[int]:
        """Candidates that have all the repeats in flight that they may have."""
        if not belief.learned:
            return []
        few = self._share(belief)
        return [c for c, n in belief.pending.items() if n >= few and n >= self._earned(c, belief)]

    def most(self, candidate: int, belief: Belief) -> int | None:
        if not belief.learned:
            return None
        return max(1, self._earned(candidate, belief) - belief.pending.get(candidate, 0))

    def _earned(self, candidate: int, belief: Belief) -> int:
        return max(self._share(belief), belief.repeat_value(candidate).paying() if belief.travels else 1)

    def _share(self, belief: Belief) -> int:
        return max(1, floor(self.share * belief.progress.steps))


@dataclass(frozen=True)
class Limited(BasePolicy):
    """A policy with limits.

    cap_per_batch, cap_per_candidate: the most repeats in one batch, and of one candidate in all.
    """

    cap_per_batch: int | None = field(default=None, kw_only=True)
    cap_per_candidate: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, cap in (("cap_per_batch", self.cap_per_batch), ("cap_per_candidate", self.cap_per_candidate)):
            if cap is not None:
                whole(name, cap)

    @property
    def longest_batch(self) -> int | None:
        return self.cap_per_batch

    @cached_property
    def limits(self) -> Sequence[Limit]:
        """All that holds."""
        return self.all_limits()

    def all_limits(self) -> list[Limit]:
        """The same, made from the settings."""
        batch = [] if self.cap_per_batch is None else [BatchCap(self.cap_per_batch)]
        return [*batch, *([] if self.cap_per_candidate is None else [CandidateCap(self.cap_per_candidate)])]

    def closed(self, belief: Belief) -> frozenset[int]:
        """Candidates that are never asked for."""
        return belief.barred.union(*(limit.closed(belief) for limit in self.limits if limit.firm))

    def possible(self, scores: Scores, belief: Belief) -> Scores:
        """The scores of all candidates that may be measured."""
        closed = self.closed(belief)
        scores = scores.without(closed)
        if closed and scores.best == -inf:
            capped = f"was measured {self.cap_per_candidate} times, the cap (raise cap_per_candidate)"
            causes = [capped] if closed - belief.barred else []
            causes += ["failed whenever it was measured or was retired"] if belief.barred else []
            raise NothingToAsk(f"Nothing is left to ask for: every candidate {', or '.join(causes)}.")
        for taken in (limit.closed(belief) for limit in self.limits if not limit.firm):
            others = scores.without(taken)
            scores = others if not taken or others.best > -inf else scores
        return scores

    def proposal(self, candidate: int, wanted: int, belief: Belief, limit: int | None) -> Proposal:
        """As many repeats as are wanted, within what is allowed and the limit."""
        most = [(each.most(candidate, belief), each.cause) for each in self.limits]
        allowed, cause = min(((n, why) for n, why in most if n is not None), default=(MOST, ""))
        repeats = min(wanted, allowed, limit or MOST)
        capped = allowed < wanted
        return Proposal(candidate, repeats, wanted, capped, repeats < min(wanted, allowed), cause if capped else "")


@dataclass(frozen=True)
class Cautious(Limited):
    """batch_share: of the measurements so far, the share that one batch may take while anything is learned."""

    batch_share: float = field(default=0.1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        fraction("batch_share", self.batch_share)

    def all_limits(self) -> list[Limit]:
        return [*super().all_limits(), BatchShare(self.batch_share)]
