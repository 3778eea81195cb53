"""mini-GP-TS: a function is drawn from the posterior, and its highest candidate is asked next.

The paper held this to be out of reach (O(|A|²) a draw); pathwise conditioning draws in O(|A| q).
"""

from dataclasses import dataclass

from ostinato.policies.base import Belief, Scores
from ostinato.policies.mini import Mini


@dataclass(frozen=True)
class MiniTS(Mini):
    """Thompson sampling, repeated by the mini-META rule."""

    def score(self, belief: Belief) -> Scores:
        return Scores(belief.draw(), belief.resolution(1.0))
