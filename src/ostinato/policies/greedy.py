"""ε-greedy: a random candidate with probability ε = min(1, a/t^b), else the one with the best average so far."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ostinato.checks import not_negative
from ostinato.policies.base import BasePolicy, Proposal
from ostinato.policies.belief import Belief
from ostinato.posterior import Model, NoModel


@dataclass(frozen=True)
class EpsilonGreedy(BasePolicy):
    """ε-greedy with ε = a/t^b. It has no model: it compares averages.

    a, b: 0 or more. Larger a explores more; larger b stops exploring sooner.
    """

    a: float = 1.0
    b: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        not_negative("a", self.a)
        not_negative("b", self.b)

    @property
    def model(self) -> Callable[..., Model]:
        return NoModel

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        t = sum(belief.counts().values()) + 1
        averages = {c: average for c, average in belief.averages().items() if c not in belief.barred}
        explore = belief.rng.random() < self.a * t**-self.b
        candidate = belief.at_random() if explore or not averages else _best(averages, belief)
        return [Proposal(candidate, 1, 1)]


def _best(averages: Mapping[int, float], belief: Belief) -> int:
    top = max(averages.values())
    return belief.first(np.array([candidate for candidate, average in averages.items() if average == top]))
