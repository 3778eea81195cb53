"""Upper confidence bounds: the highest plausible value, μ + β σ, is asked next."""

from dataclasses import dataclass
from math import sqrt
from typing import ClassVar

from ostinato.arrays import Array, namespace_of
from ostinato.confidence import Schedule, as_schedule
from ostinato.policies.base import HasWidth
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.scored import CHEAPER_WITHIN, Score
from ostinato.policies.screened import ScreenedSearch


@dataclass(frozen=True)
class UpperBound:
    """μ + β σ of one moment."""

    belief: Belief
    beta: float
    linear: ClassVar[bool] = True

    def __call__(self, mean: Array, variance: Array) -> Array:
        return mean + self.beta * namespace_of(variance).sqrt(variance)

    def nearly(self, mean: float, variance: float) -> float:
        return self.belief.resolution(self.beta) + self.belief.travels * CHEAPER_WITHIN * self.beta * sqrt(variance)

    def lines(self, bar: float, widest: float) -> list[tuple[float, float]]:
        return [(bar, self.beta)]

    def scores(self, belief: Belief, *, everywhere: bool = False) -> Scores:
        screen = None if everywhere else belief.screen
        found = None if screen is None else ScreenedSearch(self, screen, belief).listed()
        values = belief.means.map(self, belief.variances) if found is None else found
        return Scores(values, belief.resolution(self.beta))


@dataclass(frozen=True)
class UCB(HasWidth, Score):
    """u = μ + β σ. beta: a number, or a schedule from `confidence`."""

    beta: float | Schedule = 2.0
    seeks = "would be the best of all if it were {width:.3g} standard deviations better than that"

    def __post_init__(self) -> None:
        as_schedule(self.beta)

    def __call__(self, belief: Belief) -> Scores:
        return belief.leaders(UpperBound(belief, self.width(belief)))

    def everywhere(self, belief: Belief) -> Scores:
        return UpperBound(belief, self.width(belief)).scores(belief, everywhere=True)

    def slack(self, belief: Belief, best: int) -> float:
        return CHEAPER_WITHIN * self.width(belief) * sqrt(belief.at(best)[1])
