"""Thompson sampling: a function is drawn from the posterior, and its highest candidate is asked next.

The paper held this to be out of reach (O(|A|²) a draw); pathwise conditioning draws in O(|A| q).
"""

from dataclasses import dataclass
from math import sqrt

from ostinato.policies.belief import Belief, Scores
from ostinato.policies.scored import CHEAPER_WITHIN, Score


@dataclass(frozen=True)
class TS(Score):
    """u = one draw of the posterior."""

    smooth = False
    seeks = "was the best in a draw of what the values may be"

    def __call__(self, belief: Belief) -> Scores:
        return Scores(belief.draw(), belief.resolution(1.0))

    def slack(self, belief: Belief, best: int) -> float:
        return CHEAPER_WITHIN * sqrt(belief.at(best)[1])
