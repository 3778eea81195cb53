"""Upper confidence bounds: the highest plausible value, μ + β σ, is asked next."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from ostinato.policies.acquisition import upper_confidence
from ostinato.policies.base import NEAR, Belief, Scores, WithWidth


@dataclass(frozen=True)
class UCB(WithWidth):
    """u = μ + β σ."""

    seeks: ClassVar[str] = "would be the best of all if it were {width:.3g} standard deviations better than that"

    def score(self, belief: Belief) -> Scores:
        beta = self.width(belief)
        blocks = [upper_confidence(*block, beta) for block in zip(belief.means, belief.variances, strict=True)]
        return Scores(blocks, belief.resolution(beta))

    def slack(self, belief: Belief, best: int) -> float:
        return NEAR * self.width(belief) * sqrt(belief.at(best)[1])
