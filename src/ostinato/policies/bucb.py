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


@dataclass(frozen=True)
class GPBUCB(WithBeta, WithC):
    """GP-BUCB: rounds of several candidates, ended when the model would be too stale.

    C: how stale the model may get within a round, above 1.
    """

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        variances, growth = belief.pending_variances(), Growth(belief, self.C)
        bounds = LazyBounds(belief, variances, self.width(belief))

        def step() -> tuple[int, bool]:
            candidate = bounds.first_best()
            return candidate, growth.full_with(candidate, variances.add(candidate))

        return decided(step, limit)


class Growth:
    """Π (1 + σ²_{s−1}(x_s)/λ), by which the determinant of what was measured grows.

    The model for choosing may have been told poor values where measurements failed; the determinant knows nothing of
    them.
    """

    def __init__(self, belief: Belief, C: float) -> None:
        self._noise, self._honest, self._most = belief.noise, belief.honest_variances(), C**2
        self._product = 1.0

    def full_with(self, candidate: int, variance: float) -> bool:
        """Count a pick, of this variance in the model for choosing.

        The round is full when the product is too large, or when a pick teaches nothing more.
        """
        if self._honest is not None:
            variance = self._honest.add(candidate)
        self._product *= 1 + variance / float(self._noise[candidate])
        return self._product > self._most or variance == 0
