"""Uniform: every step a random candidate. What others are measured against."""

from dataclasses import dataclass

from ostinato.policies.base import Belief, Proposal, Settings
from ostinato.posterior import Unmodelled


@dataclass(frozen=True)
class Uniform(Settings):
    """Every step a candidate at random, all equally likely."""

    model = Unmodelled

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        return [Proposal(belief.at_random(), 1, 1)]
