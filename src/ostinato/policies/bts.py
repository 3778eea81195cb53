"""GP-BTS: rounds of independent draws from the posterior, each of which picks its highest candidate.

A round has a size that is given, or ends by the same product as GP-BUCB's: Π_s (1 + σ²_{s−1}(x_s)/λ) > C².
"""

from dataclasses import dataclass
from itertools import count

from ostinato.checks import whole
from ostinato.policies.base import Proposal, WithC
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.bucb import Growth
from ostinato.policies.rounds import decided


@dataclass(frozen=True)
class GPBTS(WithC):
    """GP-BTS: rounds of Thompson sampling.

    C: how stale the model may get within a round, above 1. size: where given, the number of draws a round instead.
    """

    size: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size is not None:
            whole("size", self.size)

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        variances, growth, drawn = belief.pending_variances(), Growth(belief, self.C), count(1)

        def step() -> tuple[int, bool]:
            candidate = Scores(belief.draw(), belief.resolution(1.0)).without(belief.barred).first_best(belief)
            if self.size is not None:
                return candidate, next(drawn) == self.size
            return candidate, growth.full_with(candidate, variances.add(candidate))

        return decided(step, limit)
