"""Uniform: every step a random candidate. What others are measured against."""

from collections.abc import Callable
from dataclasses import dataclass

from ostinato.policies.base import BasePolicy, Proposal
from ostinato.policies.belief import Belief
from ostinato.posterior import Model, NoModel


@dataclass(frozen=True)
class Uniform(BasePolicy):
    """Every step a candidate at random, all equally likely."""

    @property
    def model(self) -> Callable[..., Model]:
        return NoModel

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        return [Proposal(belief.at_random(), 1, 1)]
