"""GP-BTS: rounds of independent draws from the posterior, each of which picks its highest candidate.

A round has a size that is given, or ends by the same product as GP-BUCB's: Π_s (1 + σ²_{s−1}(x_s)/λ) > C².
"""

from dataclasses import dataclass

from ostinato.checks import whole
from ostinato.policies.base import Belief, Proposal, Scores, WithStaleness
from ostinato.policies.rounds import grouped


@dataclass(frozen=True)
class GPBTS(WithStaleness):
    """GP-BTS: rounds of Thompson sampling.

    C: how stale the model may get within a round, above 1. size: where given, the number of draws a round instead.
    """

    size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is not None:
            whole("size", self.size)

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        ahead = belief.ahead()
        picks: list[int] = []
        growth = 1.0
        while not self._full(growth, len(picks)) and len(picks) != limit:
            candidate = Scores(belief.draw(), belief.resolution(1.0)).first_best(belief)
            if self.size is None:
                growth *= 1 + ahead.add(candidate) / float(belief.noise[candidate])
            picks.append(candidate)
        return grouped(picks)

    def _full(self, growth: float, picked: int) -> bool:
        return growth > self.C**2 if self.size is None else picked >= self.size
