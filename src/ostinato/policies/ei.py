"""Expected improvement: the largest expected improvement on the highest posterior mean is asked next."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import log1p
from typing import TypeAlias

import numpy as np

from ostinato.arrays import Array, is_numpy, namespace_of
from ostinato.confidence import Schedule, as_schedule, width_at
from ostinato.policies.acquisition import chords, log_expected_improvement, smallest_width
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.ei_screen import Found, Improvement, Search, taken_in, tolerance_of
from ostinato.policies.scored import NEAR, Score
from ostinato.posterior import BlockedVector, Listed

MANY = 1_000  # candidates from which EI is computed only where it may be the highest

Applied: TypeAlias = Callable[[Improvement, Belief, float, float], BlockedVector | Listed]


@dataclass(frozen=True)
class EI(Score):
    """u = β σ [z Φ(z) + φ(z)], z = (μ − max μ)/(β σ); kept as a logarithm. beta: a number, or a schedule."""

    beta: float | Schedule = 1.0

    @property
    def seeks(self) -> str:
        return "promises most improvement on the leader, with exploration weight {width:.3g}"

    def width(self, belief: Belief) -> float:
        return width_at(as_schedule(self.beta), belief.progress)

    def target(self, belief: Belief) -> float:
        """What is to be improved on: the highest mean of all candidates, as in the paper."""
        return belief.top

    def __call__(self, belief: Belief) -> Scores:
        return self._scores(belief, _where_it_counts)

    def everywhere(self, belief: Belief) -> Scores:
        return self._scores(belief, _everywhere)

    def _scores(self, belief: Belief, applied: Applied) -> Scores:
        beta, target = self.width(belief), self.target(belief)

        def improvement(mean: Array, variance: Array) -> Array:
            return log_expected_improvement(mean, variance, beta, target, belief.kappa)

        values = applied(improvement, belief, beta, target)
        mean, variance = belief.at(Scores(values, 0.0).first_best(belief))
        return Scores(values, tolerance_of(belief, beta, mean - target, variance))

    def slack(self, belief: Belief, best: int) -> float:
        return -log1p(-NEAR)


def _everywhere(improvement: Improvement, belief: Belief, beta: float, target: float) -> BlockedVector:
    return belief.means.map(improvement, belief.variances)


def _where_it_counts(improvement: Improvement, belief: Belief, beta: float, target: float) -> BlockedVector | Listed:
    """log EI of the candidates that may be chosen; of many candidates, minus infinity for the others.

    Of very many, by a screen in single precision.
    """
    screen = belief.screen
    found = None if screen is None else Search(improvement, screen, belief, beta, target).listed()
    return _in_blocks(improvement, belief, beta, target) if found is None else found


def _in_blocks(improvement: Improvement, belief: Belief, beta: float, target: float) -> BlockedVector:
    """The same, from means and variances that are kept for all candidates."""
    means, variances = belief.means, belief.variances
    few = belief.candidates <= MANY or not is_numpy(namespace_of(means.parts[0]))
    taken = taken_in(belief)
    if few or len(taken) == belief.candidates:
        return _everywhere(improvement, belief, beta, target)
    widths = variances.map(partial(_width, beta))
    hopeful = means.map(np.add, widths).without(taken).places_of_highest
    found = Found.of(improvement, belief, hopeful[~np.isin(hopeful, list(taken))])
    lines = chords(found.bar(belief, beta, target), max(widths.highest, smallest_width(belief.kappa)))

    def counting(mean: Array, variance: Array, width: Array) -> Array:
        values = np.full_like(mean, -np.inf)
        here = np.logical_or.reduce([mean + steep * width >= target + high for high, steep in lines])
        values[here] = improvement(mean[here], variance[here])
        return values

    return means.map(counting, variances, widths)


def _width(beta: float, variance: Array) -> Array:
    return beta * np.sqrt(variance)
