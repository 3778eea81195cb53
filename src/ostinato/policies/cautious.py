"""No batch is longer than a learned model has earned.

The mini-META rule trusts the model's variances. While hyperparameters are learned from few candidates the model may
be wrong, and repeating one candidate brings nothing that would correct it. So a batch takes at most a share of what
was measured so far, unless a switching cost makes a longer one pay.
"""

from dataclasses import dataclass, field
from math import floor, inf

from ostinato.checks import fraction
from ostinato.policies.base import Belief, Scores
from ostinato.policies.pick import Pick


@dataclass(frozen=True)
class Cautious(Pick):
    """batch_share: of the measurements so far, the share that one batch may take while anything is learned."""

    batch_share: float = field(default=0.1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        fraction("batch_share", self.batch_share)

    def _possible(self, belief: Belief) -> Scores:
        """Without candidates that have all the repeats in flight that they may have, if others are left."""
        scores = super()._possible(belief)
        if not belief.learned:
            return scores
        full = [candidate for candidate, n in belief.pending.items() if n >= self._earned(candidate, belief)]
        others = scores.without(full, belief)
        return others if others.best > -inf else scores

    def _limits(self, candidate: int, belief: Belief) -> list[tuple[int, str]]:
        limits = super()._limits(candidate, belief)
        if not belief.learned:
            return limits
        left = max(1, self._earned(candidate, belief) - belief.pending.get(candidate, 0))
        why = f"no batch takes more than {self.batch_share:.0%} of what was measured so far while the model is learned"
        return [*limits, (left, why)]

    def _earned(self, candidate: int, belief: Belief) -> int:
        share = floor(self.batch_share * belief.progress.steps)
        return max(1, share, belief.stake(candidate).paying())
