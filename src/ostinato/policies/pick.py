"""One candidate a round: the best-scoring one, measured as often as a rule says.

    x* = argmax over the candidates of the acquisition u
    B  = repeats(σ²(x*), λ(x*))

The scoring rules (`ucb.py`, `ei.py`, `ts.py`) say u; the repeat rules (`single.py`, `mini.py`, `rare.py`) say B; an
algorithm is one of each (`algorithms.py`).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import inf

from ostinato.arrays import namespace_of
from ostinato.checks import whole
from ostinato.errors import NothingToAsk
from ostinato.policies.base import Belief, Proposal, Scores, Settings

MOST = 10**9  # measurements in one batch; a rule asks for infinitely many where a value is known for sure
ENDLESS = 10**18  # stands for infinitely many, and is always capped


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

    @abstractmethod
    def score(self, belief: Belief) -> Scores:
        """The acquisition u at every candidate."""

    @abstractmethod
    def repeats(self, variance: float, noise: float) -> int:
        """B, for a candidate of variance σ² whose measurements have noise variance λ."""

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        scores = self._without_exhausted(self.score(belief), belief)
        candidate = scores.first_best(belief)
        wanted = self.repeats(belief.variance(candidate), float(belief.noise[candidate]))
        allowed = min(wanted, self._allowance(candidate, belief))
        repeats = min(allowed, limit or allowed)
        return [Proposal(candidate, repeats, wanted, capped=allowed < wanted, truncated=repeats < allowed)]

    def _allowance(self, candidate: int, belief: Belief) -> int:
        per_batch = self.cap_per_batch or MOST
        if self.cap_per_candidate is None:
            return per_batch
        return min(per_batch, self.cap_per_candidate - belief.counts().get(candidate, 0))

    def _without_exhausted(self, scores: Scores, belief: Belief) -> Scores:
        if self.cap_per_candidate is None:
            return scores
        blocks = [namespace_of(block).asarray(block, copy=True) for block in scores.blocks]
        scores = Scores(blocks, scores.tolerance)
        for candidate, count in belief.counts().items():
            if count >= self.cap_per_candidate:
                block, place = belief.place(candidate)
                blocks[block][place] = -inf
        if scores.best == -inf:
            raise NothingToAsk(
                f"Every candidate was measured {self.cap_per_candidate} times, the cap: raise cap_per_candidate, "
                "or stop here."
            )
        return scores
