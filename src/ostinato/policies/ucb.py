"""Upper confidence bounds: the highest plausible value, μ + β σ, is asked next."""

from dataclasses import dataclass
from math import sqrt

from ostinato.arrays import Array
from ostinato.confidence import Schedule, as_schedule, width_at
from ostinato.policies.acquisition import upper_confidence
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.scored import NEAR, Score


@dataclass(frozen=True)
class UCB(Score):
    """u = μ + β σ. beta: a number, or a schedule from `confidence`."""

    beta: float | Schedule = 2.0

    @property
    def seeks(self) -> str:
        return "would be the best of all if it were {width:.3g} standard deviations better than that"

    def width(self, belief: Belief) -> float:
        return width_at(as_schedule(self.beta), belief.progress)

    def __call__(self, belief: Belief) -> Scores:
        beta = self.width(belief)

        def bound(mean: Array, variance: Array) -> Array:
            return upper_confidence(mean, variance, beta)

        return Scores(belief.means.map(bound, belief.variances), belief.resolution(beta))

    def slack(self, belief: Belief, best: int) -> float:
        return NEAR * self.width(belief) * sqrt(belief.at(best)[1])
