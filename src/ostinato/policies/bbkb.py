"""BBKB: BKB in rounds. The inducing set is drawn anew once a round; within it variances are updated lazily.

    repeat:
        x_s = argmax of μ̃ + β σ̃_{s−1}, with mean and inducing set frozen and the variance counting the picks so far
    until the round is full
    measure all of them, draw a new inducing set, and update

With variances and covariances at the round's start, a round is full by the

    global rule:  when 1 + Σ_s σ̃²(x_s)/λ(x_s) > C²
    local rule:   when 1 + Σ_s c̃(x, x_s)²/(λ(x_s) σ̃²(x)) > C² at some candidate x (never sooner than the global one)

Either bounds by how much any variance can have shrunk before the last pick of the round.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ostinato.errors import InvalidSetting
from ostinato.policies.base import Proposal, WithBeta, WithC
from ostinato.policies.belief import Belief
from ostinato.policies.bkb import OnNystrom
from ostinato.policies.rounds import LazyBounds, decided
from ostinato.policies.ucb import UCB


@dataclass(frozen=True)
class BBKB(OnNystrom, WithBeta, WithC):
    """BBKB: rounds of several candidates on a Nyström posterior.

    C: how stale the model may get within a round, above 1. rule: "global" or "local", how that is judged.
    """

    rule: Literal["global", "local"] = field(default="global", kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rule not in ("global", "local"):
            raise InvalidSetting(f"rule={self.rule!r} is unknown: give 'global' or 'local'.")

    @property
    def seeks(self) -> str:
        return UCB.seeks

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        pending_variances = belief.pending_variances()
        bounds = LazyBounds(belief, pending_variances, self.width(belief))
        staleness = _Local(belief) if self.rule == "local" else _Global(belief)

        def step() -> tuple[int, bool]:
            candidate = bounds.first_best()
            staleness.add(candidate)
            nothing_left = pending_variances.add(candidate) == 0
            return candidate, staleness.value > self.C**2 or nothing_left

        return decided(step, limit)


class _Global:
    """1 + Σ_s σ̃²(x_s)/λ(x_s), which bounds the ratio of variances everywhere."""

    def __init__(self, belief: Belief) -> None:
        self._belief = belief
        self.value = 1.0

    def add(self, candidate: int) -> None:
        self.value += self._belief.at(candidate)[1] / float(self._belief.noise[candidate])


class _Local:
    """1 + max_x Σ_s c̃(x, x_s)²/(λ(x_s) σ̃²(x)), which bounds it candidate by candidate."""

    def __init__(self, belief: Belief) -> None:
        self._belief = belief
        self._variances = belief.variances.flat()
        self._sums = np.zeros_like(self._variances)
        self.value = 1.0

    def add(self, candidate: int) -> None:
        covariance = self._belief.covariance(candidate)
        self._sums += covariance**2 / float(self._belief.noise[candidate])
        ratios = np.divide(self._sums, self._variances, out=np.zeros_like(self._sums), where=self._variances > 0)
        self.value = 1 + float(np.max(ratios))
