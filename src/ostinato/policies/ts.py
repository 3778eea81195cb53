"""Thompson sampling: a function is drawn from the posterior, and its highest candidate is asked next.

The paper held this to be out of reach (O(|A|²) a draw); pathwise conditioning draws in O(|A| q).
"""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from ostinato.policies.base import NEAR, Belief, Scores, Settings


@dataclass(frozen=True)
class TS(Settings):
    """u = one draw of the posterior."""

    seeks: ClassVar[str] = "was the best in a draw of what the values may be"

    def score(self, belief: Belief) -> Scores:
        return Scores(belief.draw(), belief.resolution(1.0))

    def slack(self, belief: Belief, best: int) -> float:
        return NEAR * sqrt(belief.at(best)[1])
