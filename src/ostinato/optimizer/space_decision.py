"""Deciding in a space that cannot be listed: the best point that a search finds is one more candidate.

Points that were only looked at are dropped once it is decided which of them are asked for.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt
from typing import cast

import numpy as np
from msgspec.structs import replace

from ostinato.arrays import Matrix, Vector
from ostinato.candidates import Sampled
from ostinato.optimizer.belief import CurrentBelief, lots_with
from ostinato.optimizer.certified import Region, ceiling_of, certified
from ostinato.optimizer.decision import Decision, DecisionInProgress, Planned
from ostinato.optimizer.knowledge import Knowledge
from ostinato.optimizer.problem import Problem
from ostinato.optimizer.search import search
from ostinato.policies import UCB, Belief, Proposal
from ostinato.policies.belief import Scores
from ostinato.policies.scored import ScoredPolicy
from ostinato.posterior import Posterior
from ostinato.records import Reason

SHARED_POINTS = 512  # points of a space that are like the first of a plan in the columns that it shares


class SpaceDecision(DecisionInProgress):
    """A decision while it is made, where candidates are points of a space."""

    def __init__(self, known: Knowledge) -> None:
        super().__init__(known)
        self._kept: tuple[Problem, Knowledge] | None = None  # without points that are only looked at
        self._looked_at = 0  # points of the space, or boxes
        self._shared: dict[int, float] = {}  # columns in which all points of this plan are alike
        self._top: tuple[float, float] | None = None  # a bound on the score of all points, and the β that it is for
        self._widen(cast("Sampled", self.problem.table).with_pool())

    def next(self, most: int | None, extra: Sequence[Proposal] = ()) -> Planned:
        self._looked_at, self._top = 0, None
        return super().next(most, extra)

    def belief_for_policy(self, extra: Sequence[Proposal] = ()) -> Belief:
        """What the policy is shown, with the best point that is found."""
        policy, table = self.problem.policy, cast("Sampled", self.problem.table)
        if isinstance(self.known.model, Posterior) and policy.searched:
            found = None if extra else search(table, partial(self._scores, policy.searched, table), self.barred)
            if found is not None:  # the first of a plan; the others take what is there, if they need not be certified
                self._looked_at = found[1]
                self._look_at(found[0][None, :])
            if self.problem.settings.search == "certified":
                self._certify(cast("ScoredPolicy", policy), extra)
        return self.belief(extra)

    def reason(self, proposal: Proposal, belief: Belief, *, first: bool) -> Reason:
        known = super().reason(proposal, belief, first=first)
        return replace(known, searched=self._looked_at, gap=self._gap(proposal.candidate, belief))

    def conclude(self, decided: list[Planned], ratio: float = 1.0) -> Decision:
        return super().conclude(self._named(decided), ratio)

    def share_columns(self, columns: list[int], candidate: int) -> None:
        """All candidates from now on are like this one in some columns, and there are more such points."""
        point = self.problem.features[candidate]
        if not self._shared:
            alike = self.problem.features[:SHARED_POINTS].copy()
            alike[:, columns] = point[columns]
            self._look_at(alike)
        self._shared = {column: float(point[column]) for column in columns}
        super().share_columns(columns, candidate)

    def _certify(self, policy: ScoredPolicy, extra: Sequence[Proposal]) -> None:
        """From the best of these on, with a bound on what any point scores."""
        belief, score, table = self.belief(extra), cast("UCB", policy.score), cast("Sampled", self.problem.table)
        known, out = score(belief).values.flat(), policy.closed(belief)
        known[list(out)] = -np.inf
        start = int(np.argmax(known))
        if known[start] == -np.inf:
            return
        pending: dict[int, float] = {}
        for lot in lots_with(self.state, extra).values():
            pending[lot.candidate] = pending.get(lot.candidate, 0.0) + self.known.worth(lot)
        beta = score.width(belief)
        region = Region(table, out, self._shared)
        found = certified(ceiling_of(cast("Posterior", self.known.model), pending, beta), region, table.features[start])
        self._looked_at, self._top = found.boxes, None if self._shared else (found.upper, beta)
        self._look_at(found.point[None, :])

    def _gap(self, candidate: int, belief: Belief) -> float | None:
        """By how much at most a point of the space scores higher than this candidate.

        β may depend on how many candidates there are, and one more was found: the bound is carried over to it.
        """
        if self._top is None:
            return None
        (upper, then), now = self._top, cast("float", self.problem.policy.width(belief))
        mean, variance = belief.at(candidate)
        upper += max(now - then, 0.0) * belief.kappa + belief.resolution(now)
        return max(upper - mean - now * sqrt(max(variance, 0.0)), 0.0)

    def _look_at(self, points: Matrix) -> None:
        """More candidates for this decision alone."""
        if self._kept is None:
            self._kept = self.problem, self.known
        self._widen(cast("Sampled", self.problem.table).with_points(points))

    def _scores(self, score: Callable[[Belief], Scores], table: Sampled, points: Matrix) -> Vector:
        """Of all candidates, and of more points."""
        known = self.known.for_problem(self.problem.for_table(table.with_trials(points)))
        return score(CurrentBelief(known, (), self.barred, self.randomness)).values.flat()

    def _widen(self, table: Sampled) -> None:
        """More candidates, for this decision and those to come."""
        if table is not self.problem.table:
            same = self.known.model is self._model
            self.problem = self.problem.for_table(table)
            self.known = self.known.for_problem(self.problem)
            self._model = self.known.model if same else self._model

    def _named(self, decided: list[Planned]) -> list[Planned]:
        """What was decided, and the rest of the round, with indices; points that were only looked at are dropped."""
        numbers = [*(each.proposal.candidate for each in decided), *(each.candidate for each in self.round)]
        if self._kept is None:
            self._widen(cast("Sampled", self.problem.table).naming(numbers))
            return decided
        points = [self.problem.table.point(number) for number in numbers]
        self.problem, self.known = self._kept
        self._widen(cast("Sampled", self.problem.table).with_named(points))
        known = dict(zip(numbers, cast("Sampled", self.problem.table).numbers_of(points), strict=True))
        self.round = [replace(each, candidate=known[each.candidate]) for each in self.round]
        self._proposed = [replace(each.proposal, candidate=known[each.proposal.candidate]) for each in decided]
        return [replace(each, proposal=asked) for each, asked in zip(decided, self._proposed, strict=True)]
