"""For finding the best candidate: look at many candidates, then tell the best ones apart.

What a run recommends is nearly always the best of what it looked at: what is lost is lost by not looking. So the
measurements go to looking: expected improvement on the best measured candidate with a wide β, which trusts the
learned model less than it trusts itself; no long batches (`limits.py`); and no candidate that takes more than a
fifth of all measurements. Once 6√t candidates were looked at in t measurements the model has seen enough: β is
smaller from there on, and the leader may take what it likes.

A look at another candidate has to promise something: where no candidate is expected to improve on the best measured one
by a hundredth of the prior's standard deviation, the leader is measured again, which needs no switch, whatever its
share of all measurements is. In spaces that cannot be listed the default is `worth=0`: the search comes nearer to the
best than a hundredth, so that smaller improvements count.

Where it is known how many measurements there will be, the last tenth goes to the leader and its challenger: of the
measured candidates the one with the best lower bound, and the one that is likeliest to be better after all. Whichever
of the two tells more about their difference is measured.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, log, sqrt

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.checks import fraction, not_negative
from ostinato.confidence import SURE, Schedule
from ostinato.policies.algorithms import RepeatsByMiniMeta
from ostinato.policies.base import Proposal, WithBeta
from ostinato.policies.belief import Belief
from ostinato.policies.ei import EI
from ostinato.policies.limits import Cautious, Limit
from ostinato.records import STAYS

LAST_BATCHES = 6  # into which the last part of a budget is divided
ENOUGH_LOOKED_AT = 6.0  # candidates looked at, over the root of the measurements, from which the model has seen enough
LATE_BETA = 1.5  # β from then on
CHALLENGES = "is the likeliest to be better than the leader after all"
SHARE_LIMIT_FROM = 25  # measurements before which no candidate is said to have taken too many
WORTH_ASKED_FROM = (
    20  # candidates that were looked at, before which the model cannot say that nothing is worth a switch
)


@dataclass(frozen=True)
class ImprovementOnMeasured(EI):
    """Expected improvement on the best measured candidate, with a smaller β once enough candidates were looked at."""

    def width(self, belief: Belief) -> float:
        width = super().width(belief)
        return min(width, LATE_BETA) if belief.learned and looked_enough(belief) else width

    def target(self, belief: Belief) -> float:
        measured = np.array(sorted(belief.counts().keys() - belief.barred))
        return float(np.max(belief.means_at(measured))) if len(measured) else belief.top_in_use


@dataclass(frozen=True)
class CandidateShare(Limit):
    """No candidate takes more than a share of all measurements, while anything is learned and there is more to see."""

    share: float
    finish: float

    def closed(self, belief: Belief) -> list[int]:
        if not belief.learned or is_finishing(self.finish, belief) or looked_enough(belief):
            return []
        most = self.share * max(belief.taken, SHARE_LIMIT_FROM)
        return [candidate for candidate, n in belief.counts().items() if n > most]

    def most(self, candidate: int, belief: Belief) -> None:
        return None


@dataclass(frozen=True)
class LastPart(Limit):
    """The last part of the budget is divided between the best candidates."""

    finish: float
    cause = "the last measurements are divided between the best candidates"

    def most(self, candidate: int, belief: Belief) -> int | None:
        if not is_finishing(self.finish, belief) or len(belief.counts()) < 2:
            return None
        part = max(1, ceil(self.finish * (belief.progress.budget or 0) / LAST_BATCHES))
        return max(part, belief.repeat_value(candidate).paying())


@dataclass(frozen=True)
class Find(Cautious, WithBeta, RepeatsByMiniMeta):
    """The policy of goal="find".

    candidate_share: of all measurements so far, the most that one candidate may have to be measured again, while
    anything is learned and another one is worth a switch. finish: the share of the budget, at its end, that goes to
    telling the best candidates apart; without effect where the optimiser was given no budget. worth: the improvement,
    in standard deviations of the prior, that another candidate must promise to be measured in place of the leader; with
    0 it always goes on looking.
    """

    beta: float | Schedule = 2.5
    C: float = 1.5
    candidate_share: float = field(default=0.2, kw_only=True)
    finish: float = field(default=0.1, kw_only=True)
    worth: float = field(default=0.01, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        fraction("candidate_share", self.candidate_share)
        fraction("finish", self.finish)
        not_negative("worth", self.worth)

    @cached_property
    def score(self) -> ImprovementOnMeasured:
        return ImprovementOnMeasured(self.beta)

    def all_limits(self) -> list[Limit]:
        return [*super().all_limits(), CandidateShare(self.candidate_share, self.finish), LastPart(self.finish)]

    def width(self, belief: Belief) -> float | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self.score.width(belief)

    def propose(self, belief: Belief, limit: int | None = None) -> list[Proposal]:
        measured, closed = _array(belief.counts().keys() - belief.barred), self.closed(belief)
        possible = _array({*measured.tolist()} - closed)
        if is_finishing(self.finish, belief) and len(possible) >= 2:
            return self._instead(leader_or_challenger(belief, possible), CHALLENGES, belief, limit)
        best = super().propose(belief, limit)
        if (
            not belief.learned
            or belief.travels
            or len(measured) < WORTH_ASKED_FROM
            or self._is_worth_it(best[0].candidate, belief)
        ):
            return best
        lead = int(measured[_leading(*belief.at_each(measured), measured, belief)])
        return best if lead in closed or lead in belief.pending else self._instead(lead, STAYS, belief, limit)

    def _instead(self, candidate: int, seeks: str, belief: Belief, limit: int | None) -> list[Proposal]:
        """Another candidate than the best-scoring one, and in words why it."""
        proposal = self.proposal(candidate, self.repeats(belief.repeat_value(candidate)), belief, limit)
        return [replace(proposal, seeks=seeks)]

    def _is_worth_it(self, candidate: int, belief: Belief) -> bool:
        """Whether a candidate promises enough for a switch."""
        mean, variance = belief.at_each(np.array([candidate]))
        promised = float(self.score.improvement(belief)(mean, variance)[0])
        return promised >= log(max(self.worth * belief.kappa, np.finfo(np.float64).tiny))


def looked_enough(belief: Belief) -> bool:
    """Whether the model has seen enough candidates to be trusted."""
    return len(belief.counts()) >= min(ENOUGH_LOOKED_AT * sqrt(belief.taken), belief.candidates - len(belief.barred))


def is_finishing(finish: float, belief: Belief) -> bool:
    """Whether the last part of the budget has come."""
    budget = belief.progress.budget
    return budget is not None and belief.taken >= (1 - finish) * budget


def leader_or_challenger(belief: Belief, measured: NDArray[np.int64]) -> int:
    """Of the leader and its challenger, the one whose next measurement reduces the variance of their difference more.

    With d = f(c) − f(l), measuring x once takes cov(d, f(x))²/(σ²(x) + τ² + λ(x)) off the variance of d.
    """
    mean, variance = belief.at_each(measured)
    lead = _leading(mean, variance, measured, belief)
    covariance = belief.covariance(int(measured[lead]), measured)
    gap = np.sqrt(np.maximum(variance + variance[lead] - 2 * covariance, np.finfo(np.float64).tiny))
    likely = (mean - mean[lead]) / gap
    likely[lead] = -np.inf
    other = _first(likely, measured, belief)
    told = [
        (variance[place] - covariance[other]) ** 2 / (variance[place] + belief.setup + belief.noise[measured[place]])
        for place in (lead, other)
    ]
    return int(measured[lead if told[0] >= told[1] else other])


def _array(candidates: Collection[int]) -> NDArray[np.int64]:
    return np.array(sorted(candidates), dtype=np.int64)


def _leading(mean: Vector, variance: Vector, measured: NDArray[np.int64], belief: Belief) -> int:
    """The place of the candidate with the best lower bound."""
    return _first(mean - SURE * np.sqrt(variance), measured, belief)


def _first(values: Vector, candidates: NDArray[np.int64], belief: Belief) -> int:
    """The place of the highest value; ties as everywhere."""
    tied = np.flatnonzero(values >= np.max(values) - 1e-9 * (1 + abs(float(np.max(values)))))
    return int(tied[np.argmin(belief.priority[candidates[tied]])])
