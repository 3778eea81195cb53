"""One candidate a round: the best-scoring one, measured as often as a rule says.

    x* = argmax over the candidates of the acquisition u
    B  = repeats(σ²(x*), λ(x*))

The scoring rules (`ucb.py`, `ei.py`, `ts.py`) say u; the repeat rules (`single.py`, `mini.py`, `rare.py`) say B; an
algorithm is one of each (`algorithms.py`). Where switching has a cost, x* is the cheapest to go to of those that score
nearly as well as the best.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import inf

from ostinato.checks import whole
from ostinato.errors import NothingToAsk
from ostinato.policies.base import Belief, Proposal, Scores, Settings
from ostinato.policies.stake import MOST, Stake


@dataclass(frozen=True)
class Pick(Settings, ABC):
    """Scoring rule and repeat rule left open.

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

    @abstractmethod
    def score(self, belief: Belief) -> Scores:
        """The acquisition u at every candidate."""

    @abstractmethod
    def slack(self, belief: Belief, best: int) -> float:
        """How far below the best a score may lie and still be nearly as good."""

    @abstractmethod
    def repeats(self, stake: Stake) -> int:
        """B, for a candidate about which so much is known."""

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        candidate = self._candidate(belief)
        return [self._proposal(candidate, self.repeats(belief.stake(candidate)), belief, limit)]

    def _proposal(self, candidate: int, wanted: int, belief: Belief, limit: int | None) -> Proposal:
        """As many repeats as are wanted, within what is allowed and the limit."""
        allowed, cause = min(self._limits(candidate, belief), default=(MOST, ""))
        repeats = min(wanted, allowed, limit or MOST)
        capped = allowed < wanted
        return Proposal(candidate, repeats, wanted, capped, repeats < min(wanted, allowed), cause if capped else "")

    def _candidate(self, belief: Belief) -> int:
        scores = self._possible(belief)
        best = scores.first_best(belief)
        if belief.costs is None:
            return best
        near = scores.above(scores.best - max(self.slack(belief, best), scores.tolerance), belief)
        costs = belief.costs(near)
        cheapest = near[costs <= costs.min()]
        values = [scores.at(int(candidate), belief) for candidate in cheapest]
        return belief.first(cheapest[[value >= max(values) - scores.tolerance for value in values]])

    def _possible(self, belief: Belief) -> Scores:
        """The scores of all candidates that may be measured."""
        capped = self._capped(belief)
        scores = self.score(belief).without(belief.barred | capped, belief)
        if scores.best == -inf:
            causes = (
                [f"was measured {self.cap_per_candidate} times, the cap (raise cap_per_candidate)"] if capped else []
            )
            causes += ["failed whenever it was measured or was retired"] if belief.barred else []
            raise NothingToAsk(f"Nothing is left to ask for: every candidate {', or '.join(causes)}.")
        return scores

    def _capped(self, belief: Belief) -> set[int]:
        """Candidates that were measured as often as they may be."""
        if self.cap_per_candidate is None:
            return set()
        return {candidate for candidate, count in belief.counts().items() if count >= self.cap_per_candidate}

    def _limits(self, candidate: int, belief: Belief) -> list[tuple[int, str]]:
        """The most repeats that are allowed, each with the reason why."""
        limits: list[tuple[int, str]] = []
        if self.cap_per_batch is not None:
            limits.append((self.cap_per_batch, "of the cap per batch"))
        if self.cap_per_candidate is not None:
            left = self.cap_per_candidate - belief.counts().get(candidate, 0)
            limits.append((left, "of the cap per candidate"))
        return limits
