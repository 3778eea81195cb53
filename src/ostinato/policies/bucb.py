"""GP-BUCB: rounds of upper confidence bounds by hallucination.

repeat:
    x_s = argmax of μ + β σ_{s−1}, with the mean frozen and the variance counting the picks so far
until Π_s (1 + σ²_{s−1}(x_s)/λ) > C²
measure all of them, and update
"""

from dataclasses import dataclass

from ostinato.policies.base import Belief, Proposal, WithStaleness, WithWidth
from ostinato.policies.rounds import LazyBounds, grouped


@dataclass(frozen=True)
class GPBUCB(WithWidth, WithStaleness):
    """GP-BUCB: rounds of several candidates, ended when the model would be too stale.

    C: how stale the model may get within a round, above 1.
    """

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        ahead = belief.ahead()
        bounds = LazyBounds(belief, ahead, self.width(belief))
        picks: list[int] = []
        growth = 1.0
        while growth <= self.C**2 and len(picks) != limit:
            candidate = bounds.first_best()
            growth *= 1 + ahead.add(candidate) / float(belief.noise[candidate])
            picks.append(candidate)
        return grouped(picks)
