"""Expected improvement: the largest expected improvement on the highest posterior mean is asked next."""

from dataclasses import dataclass
from math import log1p, sqrt
from typing import ClassVar

from ostinato.confidence import Schedule
from ostinato.policies.acquisition import improvement_slope, log_expected_improvement, smallest_width
from ostinato.policies.base import NEAR, Belief, Scores, WithWidth


@dataclass(frozen=True)
class EI(WithWidth):
    """u = β σ [z Φ(z) + φ(z)], z = (μ − max μ)/(β σ); kept as a logarithm."""

    seeks: ClassVar[str] = "promises most improvement on the leader, with exploration weight {width:.3g}"
    beta: float | Schedule = 1.0

    def score(self, belief: Belief) -> Scores:
        beta, target = self.width(belief), self.target(belief)
        blocks = [
            log_expected_improvement(mean, variance, beta, target, belief.kappa)
            for mean, variance in zip(belief.means, belief.variances, strict=True)
        ]
        mean, variance = belief.at(Scores(blocks, 0.0).first_best(belief))
        return Scores(blocks, _tolerance(belief, beta, mean - target, variance))

    def target(self, belief: Belief) -> float:
        """What is to be improved on: the highest mean of all candidates, as in the paper."""
        return belief.top

    def slack(self, belief: Belief, best: int) -> float:
        return -log1p(-NEAR)


def _tolerance(belief: Belief, beta: float, gap: float, variance: float) -> float:
    """The resolution of values, as the winner's log EI feels it: its slope is Φ(z)/(β σ h(z))."""
    width = max(beta * sqrt(variance), smallest_width(belief.kappa))
    return belief.resolution(beta) / width * improvement_slope(gap / width)
