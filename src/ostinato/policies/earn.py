"""For earning: every measurement counts, and an early one is an investment in the later ones.

With r measurements left and a leader of mean μ*, measuring x another B times costs B (μ* − μ(x)) against measuring the
leader. What it teaches pays in the r − B measurements after it. B repeats move the mean of x by σ̃ Z, Z ~ N(0, 1), with

    σ̃² = σ⁴/(σ² + τ² + λ/B)

and raise what the leader will be by g_B(x) = E max(0, μ(x) + σ̃ Z − μ*) on average (for the leader itself: by what is
gained from finding that the runner-up is better). So the value of a batch, over its length, is

    u(x) = max over B of [(r − B) g_B(x) − B (μ* − μ(x))] / (B + 3 + s)

where s is what going to x costs, in measurements, and the 3 keeps it from hopping between near equals. This is the
knowledge gradient of Frazier and Powell (2008) with the repeats it is best at, in its online form. Without a budget as
much again as was measured is taken to be left.

No batch may be longer than m repeats (`limits.py`), which gives a bound, u(x) ≤ ((r − 1) g_m(x) − (μ* − μ(x)))/4.
It is computed at all candidates; u itself only at those whose bound is above the best u.
"""

from collections.abc import Set
from dataclasses import dataclass
from functools import partial
from math import ceil, floor, sqrt

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Array, Vector, least_of, namespace_of
from ostinato.policies.acquisition import expected_gain
from ostinato.policies.base import Proposal, WithBeta
from ostinato.policies.belief import Belief, Scores
from ostinato.policies.limits import Cautious
from ostinato.policies.repeat_value import MOST
from ostinato.policies.screened import ExactScores, measured_or_barred, tie_order_on_card
from ostinato.posterior import ListedVector, Screen
from ostinato.posterior.screen_block import SearchCriterion

LENGTHS: Vector = np.unique(np.round(1.5 ** np.arange(52, dtype=np.float64)))  # numbers of repeats that are tried
SHORTLIST = 16  # candidates at which u is computed first; then at all others that may be better than these
TIE = 1e-9
INERTIA = 3.0  # measurements that any switch counts as


@dataclass(frozen=True)
class Earn(WithBeta, Cautious):
    """The policy of goal="earn".

    beta: how many times the model's standard deviations are taken to be what they say.
    """

    beta: float = 1.5

    @property
    def seeks(self) -> str:
        return "is worth most over the measurements that are left"

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        return [self.proposal(*self._choice(belief), belief, limit)]

    def _bounds(self, summary: "LeaderSummary", belief: Belief) -> Scores:
        """The bound on u, at every candidate."""
        beta, left = self.width(belief), self._left(belief)
        noises = belief.means.like(belief.noise / self._longest(belief) + belief.setup)

        def bound(mean: Array, variance: Array, noise: Array) -> Array:
            return self._bound(mean, variance, noise, summary, belief)

        bounds = belief.means.map(bound, belief.variances, noises)
        if summary.leader is not None:
            gap, width = np.array([summary.second - summary.top]), np.array([beta * summary.std])
            bounds[summary.leader] = float(((left - 1) * expected_gain(gap, width))[0]) / (1 + INERTIA)
        return self.possible(Scores(bounds, TIE * left * belief.kappa), belief)

    def _bound(self, mean: Array, variance: Array, noise: Array, summary: "LeaderSummary", belief: Belief) -> Array:
        """The bound on u, at some candidates."""
        gap, variance = mean - summary.top, self.width(belief) ** 2 * variance
        gain = expected_gain(gap, variance / namespace_of(mean).sqrt(variance + noise))
        return ((self._left(belief) - 1) * gain + gap) / (1 + INERTIA)

    def _choice(self, belief: Belief) -> tuple[int, int]:
        """The candidate of the highest u, and its B."""
        summary, tolerance = LeaderSummary.of(belief, self.closed(belief)), TIE * self._left(belief) * belief.kappa
        screen = belief.screen
        if screen is not None and screen.settles:
            listed = self._leading(screen, summary, belief)
            values, lengths = self._values(listed, summary, belief)
        else:
            listed, values, lengths = self._shortlist(summary, belief)
        tied = np.flatnonzero(values >= float(np.max(values)) - tolerance)
        place = int(tied[np.argmin(belief.priority[listed[tied]])])
        candidate = int(listed[place])
        if candidate == summary.leader:
            return candidate, self._longest(belief)  # nothing else pays: go on earning
        return candidate, int(lengths[place])

    def _shortlist(self, summary: "LeaderSummary", belief: Belief) -> tuple[NDArray[np.int64], Vector, Vector]:
        """Candidates of which one has the highest u, by bounds at all of them; with u, and the B that attains it."""
        bounds = self._bounds(summary, belief)
        listed, rest = _highest(bounds, belief, SHORTLIST)
        values, lengths = self._values(listed, summary, belief)
        bar = float(np.max(values)) + bounds.tolerance
        if not rest > bar:
            return listed, values, lengths
        listed = np.union1d(listed, bounds.above(bar))
        return listed, *self._values(listed, summary, belief)

    def _leading(self, screen: Screen, summary: "LeaderSummary", belief: Belief) -> NDArray[np.int64]:
        """The same, where the screen finds them by itself; of what was measured all that may be asked for."""
        tolerance, noise = TIE * self._left(belief) * belief.kappa, least_of(belief.noise)
        taken = np.array(
            sorted(each for each in measured_or_barred(belief) if each < belief.candidates), dtype=np.int64
        )

        def bound(mean: Array, variance: Array) -> Array:
            return self._bound(mean, variance, noise / self._longest(belief) + belief.setup, summary, belief)

        def least(value: float, mean: float, variance: float) -> float:
            return value - 2 * tolerance

        value = partial(self._worth, summary, belief)
        criterion = SearchCriterion(bound, value, least, tie_order_on_card(belief), belief.centre, belief.kappa)
        led = screen.leading(criterion, taken)
        found = ExactScores(taken, *(np.zeros(len(taken)) for _ in range(3))).plus(ExactScores(*led))
        return self.possible(
            Scores(ListedVector(found.candidates, found.values, belief.candidates), 0.0), belief
        ).above(-np.finfo(np.float64).max)

    def _worth(self, summary: "LeaderSummary", belief: Belief, mean: Array, variance: Array, places: Array) -> Array:
        """u at candidates that were never measured and are listed on a card."""
        xp, left, gap = namespace_of(mean), self._left(belief), mean - summary.top
        here = places.cpu().numpy()
        noise = mean.new_tensor(belief.noise[here])
        switch = mean.new_tensor(belief.costs(here)) / belief.cost if belief.travels else 0.0
        variance = self.width(belief) ** 2 * variance
        best = xp.full_like(mean, -np.inf)
        for B in self._lengths(belief).tolist():
            total = variance + belief.setup + noise / B
            std = xp.where(total > 0, variance / xp.sqrt(total), xp.zeros_like(total))
            u = ((left - B) * expected_gain(gap, std) + B * gap) / (B + INERTIA + switch)
            best = xp.maximum(best, u)
        return best

    def _lengths(self, belief: Belief) -> Vector:
        """Numbers of repeats that are tried."""
        return LENGTHS[: max(1, int(np.searchsorted(LENGTHS, self._longest(belief), side="right")))]

    def _values(self, listed: NDArray[np.int64], summary: "LeaderSummary", belief: Belief) -> tuple[Vector, Vector]:
        """u at some candidates, and the B that attains it."""
        left = self._left(belief)
        mean, variance = belief.at_each(listed)
        variance = self.width(belief) ** 2 * variance[:, None]
        gap = np.where(listed == summary.leader, summary.second - summary.top, mean - summary.top)
        B = self._lengths(belief)
        total = variance + belief.setup + belief.noise[listed][:, None] / B
        std = np.divide(variance, np.sqrt(total), out=np.zeros_like(total), where=total > 0)
        gain = expected_gain(np.broadcast_to(gap[:, None], std.shape).ravel(), std.ravel()).reshape(std.shape)
        switch = belief.costs(listed)[:, None] / belief.cost if belief.travels else 0.0
        values = ((left - B) * gain + B * (mean - summary.top)[:, None]) / (B + INERTIA + switch)
        longest = np.argmax(values, axis=1)
        return values[np.arange(len(listed)), longest], B[longest]

    def _longest(self, belief: Belief) -> int:
        """m: the longest batch that is considered."""
        share = max(1, floor(self.batch_share * belief.progress.steps))
        if belief.travels:  # where a switch costs so many measurements, so many may follow it
            share = max(share, ceil(float(np.max(belief.costs(np.arange(belief.candidates)))) / belief.cost))
        return min(share, self.cap_per_batch or MOST, self._left(belief))

    def _left(self, belief: Belief) -> int:
        """Measurements to come."""
        progress = belief.progress
        return max(1, belief.taken if progress.budget is None else progress.budget - belief.taken)


@dataclass(frozen=True)
class LeaderSummary:
    """The measured candidate of the highest mean, its mean and standard deviation, and the second highest mean."""

    leader: int | None
    top: float
    std: float
    second: float

    @classmethod
    def of(cls, belief: Belief, closed: Set[int]) -> "LeaderSummary":
        """Of the candidates that may be measured again."""
        candidates = np.array(sorted(belief.counts().keys() - closed), dtype=np.int64)
        if not len(candidates):
            return cls(None, belief.top_in_use, 0.0, belief.top_in_use)
        mean, variance = belief.at_each(candidates)
        order = np.lexsort((belief.priority[candidates], -mean))
        lead, second = order[0], float(mean[order[1]]) if len(order) > 1 else belief.bottom
        return cls(int(candidates[lead]), float(mean[lead]), sqrt(float(variance[lead])), second)


def _highest(bounds: Scores, belief: Belief, size: int) -> tuple[NDArray[np.int64], float]:
    """The candidates of the highest bounds, ties with the last of them by priority; and the highest of the others."""
    values = bounds.values.flat()
    if len(values) <= size:
        listed = np.flatnonzero(values > -np.inf)
        return listed, -np.inf
    bar = float(np.partition(values, -size)[-size])
    sure = np.flatnonzero(values > bar + bounds.tolerance)
    near = (values >= bar - bounds.tolerance) & (values <= bar + bounds.tolerance)
    tied = np.flatnonzero(near) if bar > -np.inf else sure[:0]
    chosen = tied[np.argsort(belief.priority[tied])[: max(size - len(sure), 1)]]
    listed = np.concatenate([sure, chosen])
    if len(chosen) < len(tied):
        return listed, bar
    return listed, float(np.max(values[values < bar - bounds.tolerance], initial=-np.inf))
