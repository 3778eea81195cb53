"""GP-BUCB: rounds of upper confidence bounds by hallucination.

repeat:
    x_s = argmax of μ + β σ_{s−1}, with the mean frozen and the variance counting the picks so far
until Π_s (1 + σ²_{s−1}(x_s)/λ) > C²
measure all of them, and update
"""

from dataclasses import dataclass

from ostinato.policies.base import Proposal, WithBeta, WithC
from ostinato.policies.belief import Belief
from ostinato.policies.rounds import LazyBounds, decided
from ostinato.posterior import PendingVariances


@dataclass(frozen=True)
class GPBUCB(WithBeta, WithC):
    """GP-BUCB: rounds of several candidates, ended when the model would be too stale.

    C: how stale the model may get within a round, above 1.
    """

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        variances = belief.pending_variances()
        bounds = LazyBounds(belief, variances, self.width(belief))
        growth = Growth(belief, variances, self.C)

        def step() -> tuple[int, bool]:
            candidate = bounds.first_best()
            return candidate, growth.full_with(candidate)

        return decided(step, limit)


class Growth:
    """Π (1 + σ²_{s−1}(x_s)/λ), by which the determinant grows."""

    def __init__(self, belief: Belief, variances: PendingVariances, C: float) -> None:
        self._noise, self._with_pending, self._most = belief.noise, variances, C**2
        self._product = 1.0

    def full_with(self, candidate: int) -> bool:
        """Count a pick. The round is full when the product is too large, or when a pick teaches nothing more."""
        variance = self._with_pending.add(candidate)
        self._product *= 1 + variance / float(self._noise[candidate])
        return self._product > self._most or variance == 0
