"""For finding the best candidate: look around first, then tell the best ones apart.

Expected improvement with a wide β looks further than its own model believes, and does not linger where a value is
known: so it leaves the first hill for a higher one. But with noise, having visited the best candidate is not yet
knowing it. Where it is known how many measurements there will be, the last fifth of them goes to candidates that were
measured before.
"""

from dataclasses import dataclass, field

from ostinato.checks import fraction
from ostinato.confidence import Schedule
from ostinato.policies.algorithms import MiniEI
from ostinato.policies.base import Belief, Scores

LATE = 1.0  # β of the last part


@dataclass(frozen=True)
class Find(MiniEI):
    """The policy of goal="find".

    finish: the share of the budget, at its end, for which no new candidate is measured; without effect where the
    optimiser was given no budget.
    """

    beta: float | Schedule = 2.0
    C: float = 1.5
    finish: float = field(default=0.2, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        fraction("finish", self.finish)

    def width(self, belief: Belief) -> float:
        width = super().width(belief)
        return min(width, LATE) if self._finishing(belief) else width

    def _possible(self, belief: Belief) -> Scores:
        scores = super()._possible(belief)
        if not self._finishing(belief):
            return scores
        known = scores.only(belief.counts(), belief)
        return known if known.best > float("-inf") else scores

    def _finishing(self, belief: Belief) -> bool:
        budget = belief.progress.budget
        return budget is not None and belief.progress.steps >= (1 - self.finish) * budget
