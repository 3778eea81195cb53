"""mini-GP-UCB: the highest plausible value, μ + β σ, is asked next."""

from dataclasses import dataclass

from ostinato.acquisition import upper_confidence
from ostinato.policies.base import Belief, Scores
from ostinato.policies.mini import MiniWithWidth


@dataclass(frozen=True)
class MiniUCB(MiniWithWidth):
    """Upper confidence bounds, repeated by the mini-META rule. The default policy."""

    def score(self, belief: Belief) -> Scores:
        beta = self.width(belief)
        blocks = [upper_confidence(*block, beta) for block in zip(belief.means, belief.variances, strict=True)]
        return Scores(blocks, belief.resolution(beta))
