"""Expected improvement: the largest expected improvement on the highest posterior mean is asked next."""

from dataclasses import dataclass
from math import log1p, sqrt

from ostinato.arrays import Array
from ostinato.confidence import Schedule, as_schedule, width_at
from ostinato.policies.acquisition import improvement_slope, log_expected_improvement, smallest_width
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.scored import NEAR, Score


@dataclass(frozen=True)
class EI(Score):
    """u = β σ [z Φ(z) + φ(z)], z = (μ − max μ)/(β σ); kept as a logarithm. beta: a number, or a schedule."""

    beta: float | Schedule = 1.0

    @property
    def seeks(self) -> str:
        return "promises most improvement on the leader, with exploration weight {width:.3g}"

    def width(self, belief: Belief) -> float:
        return width_at(as_schedule(self.beta), belief.progress)

    def target(self, belief: Belief) -> float:
        """What is to be improved on: the highest mean of all candidates, as in the paper."""
        return belief.top

    def __call__(self, belief: Belief) -> Scores:
        beta, target = self.width(belief), self.target(belief)

        def improvement(mean: Array, variance: Array) -> Array:
            return log_expected_improvement(mean, variance, beta, target, belief.kappa)

        values = belief.means.map(improvement, belief.variances)
        mean, variance = belief.at(Scores(values, 0.0).first_best(belief))
        return Scores(values, _tolerance(belief, beta, mean - target, variance))

    def slack(self, belief: Belief, best: int) -> float:
        return -log1p(-NEAR)


def _tolerance(belief: Belief, beta: float, gap: float, variance: float) -> float:
    """The resolution of values, as the winner's log EI feels it: its slope is Φ(z)/(β σ h(z))."""
    width = max(beta * sqrt(variance), smallest_width(belief.kappa))
    return belief.resolution(beta) / width * improvement_slope(gap / width)
