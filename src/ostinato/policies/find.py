"""For finding the best candidate: look at many candidates, then tell the best ones apart.

What a run recommends is nearly always the best of what it looked at: what is lost is lost by not looking. So the
measurements go to looking: expected improvement on the best measured candidate with a wide β, which trusts the
learned model less than it trusts itself; no long batches (`cautious.py`); and no candidate that takes more than a
fifth of all measurements. Once 6√t candidates were looked at in t measurements the model has seen enough: β is
smaller from there on, and the leader may take what it likes.

Where it is known how many measurements there will be, the last tenth goes to the leader and its challenger: of the
measured candidates the one with the best lower bound, and the one that is likeliest to be better after all. Whichever
of the two tells more about their difference is measured.
"""

from dataclasses import dataclass, field
from math import ceil, sqrt

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.checks import fraction
from ostinato.confidence import SURE, Schedule
from ostinato.policies.algorithms import MiniEI
from ostinato.policies.base import Belief, Proposal, Scores
from ostinato.policies.cautious import Cautious

LAST_BATCHES = 6  # into which the last part of a budget is divided
LOOK = 6.0  # candidates looked at, over the root of the measurements, from which the model has seen enough
LATE = 1.5  # β from then on
CHALLENGES = "is the likeliest to be better than the leader after all"
FEW = 25  # measurements before which no candidate is said to have taken too many


@dataclass(frozen=True)
class Find(Cautious, MiniEI):
    """The policy of goal="find".

    candidate_share: of all measurements so far, the most that one candidate may have to be measured again, while
    anything is learned. finish: the share of the budget, at its end, that goes to telling the best candidates apart;
    without effect where the optimiser was given no budget.
    """

    beta: float | Schedule = 2.5
    C: float = 1.5
    candidate_share: float = field(default=0.2, kw_only=True)
    finish: float = field(default=0.1, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        fraction("candidate_share", self.candidate_share)
        fraction("finish", self.finish)

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        proposals = super().propose(belief, limit)
        return [replace(each, seeks=CHALLENGES) for each in proposals] if self._finishing(belief) else proposals

    def width(self, belief: Belief) -> float:
        width = super().width(belief)
        return min(width, LATE) if belief.learned and self._looked_enough(belief) else width

    def target(self, belief: Belief) -> float:
        measured = np.array(sorted(belief.counts().keys() - belief.barred))
        return float(np.max(belief.at_each(measured)[0])) if len(measured) else belief.top

    def _candidate(self, belief: Belief) -> int:
        if not self._finishing(belief):
            return super()._candidate(belief)
        closed = belief.barred | self._capped(belief)
        measured = [candidate for candidate in belief.counts() if candidate not in closed]
        if len(measured) < 2:
            return super()._candidate(belief)
        return leader_or_challenger(belief, np.array(sorted(measured)))

    def _possible(self, belief: Belief) -> Scores:
        scores = super()._possible(belief)
        if not belief.learned or self._finishing(belief) or self._looked_enough(belief):
            return scores
        most = self.candidate_share * max(belief.taken, FEW)
        others = scores.without([candidate for candidate, n in belief.counts().items() if n > most], belief)
        return others if others.best > -np.inf else scores

    def _limits(self, candidate: int, belief: Belief) -> list[tuple[int, str]]:
        limits = super()._limits(candidate, belief)
        if not self._finishing(belief) or len(belief.counts()) < 2:
            return limits
        part = max(1, ceil(self.finish * (belief.progress.budget or 0) / LAST_BATCHES))
        most = max(part, belief.stake(candidate).paying())
        return [*limits, (most, "the last measurements are divided between the best candidates")]

    def _looked_enough(self, belief: Belief) -> bool:
        return len(belief.counts()) >= min(LOOK * sqrt(belief.taken), belief.candidates - len(belief.barred))

    def _finishing(self, belief: Belief) -> bool:
        budget = belief.progress.budget
        return budget is not None and belief.taken >= (1 - self.finish) * budget


def leader_or_challenger(belief: Belief, measured: NDArray[np.int64]) -> int:
    """Of the leader and its challenger, the one whose next measurement reduces the variance of their difference more.

    With d = f(c) − f(l), measuring x once takes cov(d, f(x))²/(σ²(x) + τ² + λ(x)) off the variance of d.
    """
    mean, variance = belief.at_each(measured)
    lead = _first(mean - SURE * np.sqrt(variance), measured, belief)
    covariance = belief.covariance(int(measured[lead]))[measured]
    gap = np.sqrt(np.maximum(variance + variance[lead] - 2 * covariance, np.finfo(np.float64).tiny))
    likely = (mean - mean[lead]) / gap
    likely[lead] = -np.inf
    other = _first(likely, measured, belief)
    told = [
        (variance[place] - covariance[other]) ** 2 / (variance[place] + belief.setup + belief.noise[measured[place]])
        for place in (lead, other)
    ]
    return int(measured[lead if told[0] >= told[1] else other])


def _first(values: Vector, candidates: NDArray[np.int64], belief: Belief) -> int:
    """The place of the highest value; ties as everywhere."""
    tied = np.flatnonzero(values >= np.max(values) - 1e-9 * (1 + abs(float(np.max(values)))))
    return int(tied[np.argmin(belief.priority[candidates[tied]])])
