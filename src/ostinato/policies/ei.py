"""Expected improvement: the largest expected improvement on the highest posterior mean is asked next."""

from dataclasses import dataclass
from functools import partial
from math import log1p, sqrt
from typing import ClassVar

import numpy as np

from ostinato.arrays import Array, namespace_of
from ostinato.confidence import Schedule, as_schedule
from ostinato.policies.acquisition import chords, improvement_slope, log_expected_improvement, smallest_width
from ostinato.policies.base import HasWidth
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.scored import CHEAPER_WITHIN, Score
from ostinato.policies.screened import ExactScores, ScreenedSearch, measured_or_barred
from ostinato.posterior import BlockedVector, ListedVector

SELECTIVE_FROM = 1_000  # candidates from which EI is computed only where it may be the highest


@dataclass(frozen=True)
class LogImprovement:
    """log EI of one moment, with exploration weight β, on a target."""

    belief: Belief
    beta: float
    target: float
    linear: ClassVar[bool] = False

    def __call__(self, mean: Array, variance: Array) -> Array:
        return log_expected_improvement(mean, variance, self.beta, self.target, self.belief.kappa)

    def tolerance(self, mean: float, variance: float) -> float:
        """The resolution of values, as the winner's log EI feels it: its slope is Φ(z)/(β σ h(z))."""
        width = self._width(sqrt(variance))
        return self.belief.resolution(self.beta) / width * improvement_slope((mean - self.target) / width)

    def nearly(self, mean: float, variance: float) -> float:
        return self.tolerance(mean, variance) - self.belief.travels * log1p(-CHEAPER_WITHIN)

    def lines(self, bar: float, widest: float) -> list[tuple[float, float]]:
        return [(self.target + high, slope * self.beta) for high, slope in chords(bar, self._width(widest))]

    def scores(self, belief: Belief) -> Scores:
        return self.among(_where_it_counts(self, belief), belief)

    def among(self, values: BlockedVector | ListedVector, belief: Belief) -> Scores:
        """Values as scores, with the tolerance that their best has."""
        mean, variance = belief.at(Scores(values, 0.0).first_best(belief))
        return Scores(values, self.tolerance(mean, variance))

    def _width(self, std: float) -> float:
        return max(self.beta * std, smallest_width(self.belief.kappa))


@dataclass(frozen=True)
class EI(HasWidth, Score):
    """u = β σ [z Φ(z) + φ(z)], z = (μ − max μ)/(β σ); kept as a logarithm. beta: a number, or a schedule."""

    beta: float | Schedule = 1.0
    seeks = "promises most improvement on the leader, with exploration weight {width:.3g}"

    def __post_init__(self) -> None:
        as_schedule(self.beta)

    def target(self, belief: Belief) -> float:
        """What is to be improved on: the highest mean of all candidates, as in the paper, but for retired ones."""
        return belief.top_in_use

    def __call__(self, belief: Belief) -> Scores:
        return belief.leaders(self.improvement(belief))

    def everywhere(self, belief: Belief) -> Scores:
        improvement = self.improvement(belief)
        return improvement.among(_everywhere(improvement, belief), belief)

    def improvement(self, belief: Belief) -> LogImprovement:
        """What it is now."""
        return LogImprovement(belief, self.width(belief), self.target(belief))

    def slack(self, belief: Belief, best: int) -> float:
        return -log1p(-CHEAPER_WITHIN)


def _everywhere(improvement: LogImprovement, belief: Belief) -> BlockedVector:
    return belief.means.map(improvement, belief.variances)


def _where_it_counts(improvement: LogImprovement, belief: Belief) -> BlockedVector | ListedVector:
    """log EI of the candidates that may be chosen; of many candidates, minus infinity for the others.

    Of very many, by a screen in single precision.
    """
    screen = belief.screen
    found = None if screen is None else ScreenedSearch(improvement, screen, belief).listed()
    return _in_blocks(improvement, belief) if found is None else found


def _in_blocks(improvement: LogImprovement, belief: Belief) -> BlockedVector:
    """The same, from means and variances that are kept for all candidates."""
    means, variances = belief.means, belief.variances
    few = belief.candidates <= SELECTIVE_FROM or namespace_of(means.parts[0]) is not np
    taken = measured_or_barred(belief)
    if few or len(taken) == belief.candidates:
        return _everywhere(improvement, belief)
    stds = variances.map(np.sqrt)
    hopeful = means.map(partial(_plus, improvement.beta), stds).without(taken).places_of_highest
    free = np.array([candidate not in taken for candidate in hopeful.tolist()], dtype=np.bool_)
    found = ExactScores.of(improvement, belief, hopeful[free])
    lines = improvement.lines(found.bar(improvement), stds.highest)

    def counting(mean: Array, variance: Array, std: Array) -> Array:
        values = np.full_like(mean, -np.inf)
        here = np.logical_or.reduce([mean + slope * std >= high for high, slope in lines])
        values[here] = improvement(mean[here], variance[here])
        return values

    return means.map(counting, variances, stds)


def _plus(beta: float, mean: Array, std: Array) -> Array:
    return mean + beta * std
