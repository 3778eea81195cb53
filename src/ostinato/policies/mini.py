"""mini-META (Algorithm 2 of the paper): pick the best-scoring candidate, and measure it as often as it bears.

    repeat:
        x* = argmax over the candidates of the acquisition u
        B  = max(1, floor((C² − 1) λ(x*)/σ²(x*)))
        measure x* B times, and update

Noisy or well-known candidates are repeated, others measured once. After the batch no standard deviation anywhere has
shrunk by more than the factor C, so a decision taken before it is still a good one within it; and every full
batch adds at least log((C² + 1)/2) to the log-determinant, so there can only be few. (The paper's Algorithm 2
divides by σ² without λ, and its floor can be 0: the rule above is the one its proof uses.)
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import floor, inf, isfinite, log
from typing import cast

from ostinato.checks import number, whole
from ostinato.confidence import Schedule, as_schedule
from ostinato.errors import InvalidSetting, NothingToAsk
from ostinato.policies.base import Belief, Proposal, Scores

MOST = 10**9  # measurements in one batch; the rule asks for infinitely many where a value is known for sure
ENDLESS = 10**18  # stands for infinitely many, and is always capped


@dataclass(frozen=True)
class Mini(ABC):
    """mini-META with the scoring rule left open.

    C: how stale the model may get within a batch, above 1. Larger means longer batches and fewer switches.
    cap_per_batch, cap_per_candidate: the most repeats in one batch, and of one candidate in all.
    """

    C: float = 1.2
    cap_per_batch: int | None = field(default=None, kw_only=True)
    cap_per_candidate: int | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not (isfinite(number(self.C)) and self.C > 1):
            raise InvalidSetting(
                f"C={self.C!r} is out of range: it must be above 1 (1.1 to 2 is usual; larger repeats more)."
            )
        for name, cap in (("cap_per_batch", self.cap_per_batch), ("cap_per_candidate", self.cap_per_candidate)):
            if cap is not None:
                whole(name, cap)

    @abstractmethod
    def score(self, belief: Belief) -> Scores:
        """The acquisition u at every candidate."""

    def propose(self, belief: Belief, limit: int | None = None) -> Proposal:
        scores = self._without_exhausted(self.score(belief), belief)
        candidate = scores.first_best(belief)
        wanted = self.repeats(belief.variance(candidate), float(belief.noise[candidate]))
        allowed = min(wanted, self._allowance(candidate, belief))
        repeats = min(allowed, limit or allowed)
        return Proposal(candidate, repeats, wanted, capped=allowed < wanted, truncated=repeats < allowed)

    def repeats(self, variance: float, noise: float) -> int:
        """B = max(1, floor((C² − 1) λ/σ²)), but no more than a cap can tell from infinity."""
        worth = (self.C**2 - 1) * noise
        return max(1, floor(worth / variance)) if worth < ENDLESS * variance else ENDLESS

    @property
    def gain_of_full_batch(self) -> float:
        """log((C² + 1)/2): what every full batch adds at least to the log-determinant."""
        return log((self.C**2 + 1) / 2)

    def _allowance(self, candidate: int, belief: Belief) -> int:
        per_batch = self.cap_per_batch or MOST
        if self.cap_per_candidate is None:
            return per_batch
        return min(per_batch, self.cap_per_candidate - belief.counts().get(candidate, 0))

    def _without_exhausted(self, scores: Scores, belief: Belief) -> Scores:
        if self.cap_per_candidate is None:
            return scores
        for candidate, count in belief.counts().items():
            if count >= self.cap_per_candidate:
                block, place = belief.place(candidate)
                scores.blocks[block][place] = -inf
        if scores.best == -inf:
            raise NothingToAsk(
                f"Every candidate was measured {self.cap_per_candidate} times, the cap: raise cap_per_candidate, "
                "or stop here."
            )
        return scores


@dataclass(frozen=True)
class MiniWithWidth(Mini):
    """A mini-META policy whose scores depend on a confidence width β: a number, or a schedule from `confidence`."""

    beta: float | Schedule = 2.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", as_schedule(self.beta))

    def width(self, belief: Belief) -> float:
        width = float(cast("Schedule", self.beta)(belief.progress))
        if not (isfinite(width) and width >= 0):
            raise InvalidSetting(
                f"The β schedule {self.beta!r} gave {width!r}: it must give a finite number, 0 or more."
            )
        return width
