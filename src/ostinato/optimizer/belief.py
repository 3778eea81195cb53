"""What the policy is shown: the model, with what is in flight counted as if it had come."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.confidence import Progress
from ostinato.learning import Learner
from ostinato.optimizer.knowledge import Knowledge, Lot
from ostinato.optimizer.problem import Problem
from ostinato.optimizer.state import State
from ostinato.policies import Belief, Proposal
from ostinato.posterior import BlockedVector, Ghost, PendingVariances


class Present(Belief):
    """The belief of one moment. What costs something is computed when a policy looks at it.

    planned: proposals of the same plan, which count as in flight. barred: candidates that must not be asked for.
    """

    def __init__(
        self,
        problem: Problem,
        state: State,
        known: Knowledge,
        rng: np.random.Generator,
        planned: Sequence[Proposal],
        barred: frozenset[int],
    ) -> None:
        self._problem, self._state, self._known, self._planned = problem, state, known, planned
        self.rng, self.barred = rng, barred
        self.priority, self.cost = problem.priority, problem.settings.measurement_cost
        model = self._model = known.model
        self.means, self.noise, self.centre, self.kappa = model.means, model.noise, model.prior_mean, sqrt(model.kappa2)
        self.top, self.bottom = model.means.highest, model.means.lowest
        self.setup, self.learned = known.prior.setup, isinstance(known.learner, Learner)
        self.pending = pending_with(state, planned)
        here = planned[-1].candidate if planned else state.ledger.position
        self._costs = problem.costs_from(here)
        self.travels = self._costs is not None

    @cached_property
    def _lots(self) -> list[Lot]:
        return lots_with(self._state, self._planned)

    @cached_property
    def _with_pending(self) -> PendingVariances | None:
        """The model's variances with what is in flight; None where nothing is."""
        return self._known.pending_variances(self._lots) if self.pending else None

    @cached_property
    def _ghost(self) -> Ghost:
        return self._model.ghost() if self._with_pending is None else self._with_pending.ghost

    @cached_property
    def _honest(self) -> Ghost:
        """The same of the model that knows nothing but what was measured."""
        honest = self._known.honest
        if honest is self._model:
            return self._ghost
        return self._known.pending_variances(self._lots, honest).ghost if self.pending else honest.ghost()

    @cached_property
    def _variances(self) -> BlockedVector:
        found = self._model.variances
        return found if self._with_pending is None else found.like(self._with_pending.everywhere())

    @property
    def variances(self) -> BlockedVector:
        return self._variances

    @cached_property
    def _progress(self) -> Progress:
        table, known = self._problem.table, self._known
        steps = int(known.tally.steps)
        return Progress(steps, known.honest.log_det, len(table), len(table.columns), self._affordable(steps))

    @property
    def progress(self) -> Progress:
        return self._progress

    def _affordable(self, steps: int) -> int | None:
        """Measurements that the budget allows for, those that failed left out.

        Where old ones fade, these are the ones that count now, and those to come within the time they take to fade.
        """
        if self._state.budget is None:
            return None
        left, lasting = self._state.budget - self._state.told, self._problem.settings.half_life
        return steps + (left if lasting is None else min(left, round(lasting / log(2))))

    def variance(self, candidate: int) -> float:
        return self._honest.variance(candidate)

    def covariance(self, candidate: int) -> Vector:
        before = self._model.covariance_with
        return before(candidate) if self._with_pending is None else self._with_pending.covariance(before, candidate)

    @cached_property
    def _counts(self) -> dict[int, int]:
        return self._known.counts(self.pending)

    def counts(self) -> Mapping[int, int]:
        return self._counts

    def averages(self) -> Mapping[int, float]:
        return {candidate: statistics.mean for candidate, statistics in self._known.tally}

    def draw(self) -> BlockedVector:
        return self._known.draw_with_pending(self._ghost, self._lots, self.rng)

    def pending_variances(self) -> PendingVariances:
        return self._known.pending_variances(self._lots)

    def costs(self, candidates: NDArray[np.int64]) -> Vector:
        return np.zeros(len(candidates)) if self._costs is None else self._costs(candidates)


def pending_with(state: State, planned: Sequence[Proposal]) -> dict[int, int]:
    """Repeats in flight by candidate, and those of a plan."""
    pending = state.ledger.pending
    for proposal in planned:
        pending[proposal.candidate] = pending.get(proposal.candidate, 0) + proposal.repeats
    return pending


def lots_with(state: State, planned: Sequence[Proposal]) -> list[Lot]:
    """The same, set-up by set-up: each batch is one."""
    leases = [(lease.candidate, lease.values, lease.pending) for lease in state.ledger.in_flight]
    return leases + [(proposal.candidate, 0, proposal.repeats) for proposal in planned]
