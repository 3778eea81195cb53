"""What the policy is shown: the model, with what is in flight counted as if it had come."""

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property, partial
from math import isfinite, log, sqrt
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.confidence import Progress
from ostinato.learning import Learner
from ostinato.optimizer.knowledge import Knowledge, Lot
from ostinato.optimizer.model_with_pending import ModelWithPending, worths_of
from ostinato.optimizer.shard_decisions import Lots, ShardContext, ask_leaders, lots_for
from ostinato.optimizer.state import State
from ostinato.policies import Belief, Proposal, RepeatValue
from ostinato.policies.belief import Scores, SettledScore
from ostinato.policies.scored import CHEAPER_WITHIN
from ostinato.policies.screened import measured_or_barred, tie_order_on_card
from ostinato.posterior import BlockedVector, Ghost, ListedVector, PendingVariances, Posterior, Screen, ShardedPosterior
from ostinato.posterior.mean_range import highest_mean, range_of_means
from ostinato.posterior.screen_block import SearchCriterion


class CurrentBelief(Belief):
    """What an optimiser believes at one moment, for a policy. Anything costly is computed when the policy asks for it.

    planned: proposals of the same plan, which count as in flight. barred: candidates that must not be asked for.
    randomness: where the generator of the run is, for a policy that draws. foresights: of the policy's model and of the
    honest one, as they were for the last proposal of the plan.
    """

    def __init__(
        self,
        known: Knowledge,
        planned: Sequence[Proposal],
        barred: frozenset[int],
        randomness: Callable[[], np.random.Generator],
        foresights: tuple[ModelWithPending, ModelWithPending] | None = None,
    ) -> None:
        self._known, self._planned, self.barred, self._randomness = known, planned, barred, randomness
        problem, state = self._problem, self._state = known.problem, known.state
        self._own, self._of_honest = foresights or (ModelWithPending(), ModelWithPending())
        self.retired = state.retired
        self.priority, self.cost = problem.priority, problem.settings.measurement_cost
        model = self._model = known.model
        self.noise, self.centre, self.kappa = model.noise, model.prior_mean, sqrt(model.kappa2)
        self.setup, self.learned = known.prior.setup, isinstance(known.learner, Learner)
        self.pending = state.ledger.pending_with(planned) if planned or state.ledger.open else {}
        self._repeat_values: dict[int, RepeatValue] = {}
        here = planned[-1].candidate if planned else state.ledger.position
        costs = problem.switch_cost
        self._costs = None if costs is None or here is None else partial(costs, here)  # of going from here
        self.travels = self._costs is not None

    @property
    def rng(self) -> np.random.Generator:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self._randomness()

    @cached_property
    def _lots(self) -> dict[Hashable, Lot]:
        return lots_with(self._state, self._planned)

    @cached_property
    def _with_pending(self) -> ModelWithPending:
        """The model with what is in flight; for where anything is."""
        return self._own.bring_up_to_date(self._known, self._model, self._lots)

    @cached_property
    def _ghost(self) -> Ghost:
        return self._with_pending.ghost if self.pending else self._model.ghost()

    @property
    def variances(self) -> BlockedVector:
        return self._variances_with_pending if self.pending else self._model.blocks.variances

    @cached_property
    def _variances_with_pending(self) -> BlockedVector:
        return self._model.variances.like(self._with_pending.variances.everywhere())

    @property
    def means(self) -> BlockedVector:
        return self._model.blocks.means

    @cached_property
    def span(self) -> tuple[float, float]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The lowest mean and the highest; of many candidates the lowest as it is in single precision."""
        if isinstance(self._model, ShardedPosterior):
            return self._model.range
        if (screen := self.screen) is None:
            return self.means.span
        return range_of_means(cast("Posterior", self._model), screen)

    @cached_property
    def top_in_use(self) -> float:  # pyright: ignore[reportIncompatibleMethodOverride]
        if not self.retired:
            return self.top
        out, model, screen = np.array(sorted(self.retired), dtype=np.int64), self._model, self.screen
        if isinstance(model, ShardedPosterior):
            found = model.highest_but(out)
        elif screen is not None:
            found = highest_mean(cast("Posterior", model), screen, out)
        else:
            found = self.means.without(self.retired).highest
        return found if isfinite(found) else self.top

    def leaders(self, score: SettledScore) -> Scores:
        """Most of very many may wait, where that pays, and none is cheaper to go to; workers find their own."""
        model = self._model
        if isinstance(model, ShardedPosterior):
            outline = ShardContext(self.top, self.bottom, self.travels, self._counts, self._problem.priority)
            lots: Lots = lots_for(model, worths_of(self._known, self._lots)) if self.pending else {}
            return ask_leaders(model, score, outline, self.barred, lots)
        if isinstance(model, Posterior) and model.may_be_lazy and score.linear and not (self.pending or self.travels):
            model.enable_lazy_screen(score.beta)
        return score.scores(self)

    @cached_property
    def screen(self) -> Screen | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        if self.pending:
            return self._with_pending.screen
        return self._model.screen if isinstance(self._model, Posterior) and self._model.screened else None

    def at_each(self, candidates: NDArray[np.int64]) -> tuple[Vector, Vector]:
        if not self.pending:
            return self._model.at_each(candidates)
        few = self._with_pending.pointwise
        return super().at_each(candidates) if few is None else few.at_each(candidates)

    def means_at(self, candidates: NDArray[np.int64]) -> Vector:
        few = self._with_pending.pointwise if self.pending else None
        return self._model.at_each(candidates)[0] if few is None else few.means(candidates)

    def at(self, candidate: int) -> tuple[float, float]:
        mean, variance = self.at_each(np.array([candidate]))
        return float(mean[0]), float(variance[0])

    @cached_property
    def progress(self) -> Progress:  # pyright: ignore[reportIncompatibleMethodOverride]
        (candidates, columns), known = self._problem.table.features.shape, self._known
        steps = int(known.tally.steps)
        budget = None if self._state.budget is None else self._affordable(steps, self._state.budget)
        return Progress(steps, known.honest.log_det, candidates, columns, budget)

    def _affordable(self, steps: int, budget: int) -> int:
        """Measurements that the budget allows for, those that failed left out.

        Where old ones fade, these are the ones that count now, and those to come within the time they take to fade.
        """
        left, lasting = budget - self._state.told, self._problem.settings.half_life
        return steps + (left if lasting is None else min(left, round(lasting / log(2))))

    def repeat_value(self, candidate: int) -> RepeatValue:
        """By the model that knows nothing but what was measured.

        Kept, since the reason for a batch is told in the same terms as it is decided.
        """
        if candidate not in self._repeat_values:
            model = self._known.honest
            if self.pending:
                own = model is self._model
                model = self._ghost if own else self._of_honest.bring_up_to_date(self._known, model, self._lots).ghost
            switch = float(self.costs(np.array([candidate]))[0]) if self.travels else 0.0
            what = model.variance(candidate), float(self.noise[candidate]), self.setup
            self._repeat_values[candidate] = RepeatValue(*what, switch, self.cost)
        return self._repeat_values[candidate]

    def covariance(self, candidate: int, others: NDArray[np.int64] | None = None) -> Vector:
        before, pending = self._model.covariance_with, self._with_pending if self.pending else None
        if others is not None and pending is None and isinstance(self._model, Posterior):
            return self._model.covariance_between(candidate, others)
        if others is not None and isinstance(self._model, ShardedPosterior):
            return cast("ModelWithPending", pending).covariance_between(self._model, candidate, others)
        found = before(candidate) if pending is None else pending.variances.covariance(before, candidate)
        return found if others is None else found[others]

    @cached_property
    def _counts(self) -> dict[int, int]:
        return self._known.counts(self.pending)

    def counts(self) -> Mapping[int, int]:
        return self._counts

    def averages(self) -> Mapping[int, float]:
        return {candidate: statistics.mean for candidate, statistics in self._known.tally}

    def draw(self) -> BlockedVector | ListedVector:
        model = self._model
        screen = model.screen if isinstance(model, Posterior) else None
        if screen is not None and screen.settles:
            return self._leading_draw()
        return self._known.draw_with_pending(self._ghost, self._lots.values(), self.rng)

    def _leading_draw(self) -> ListedVector:
        """The candidates on a card that may be the highest in a draw; with costs, those nearly as high, too."""
        slack = 2 * self.resolution(1.0) + self.travels * CHEAPER_WITHIN * self.kappa
        order = None if self.travels else tie_order_on_card(self)
        criterion = SearchCriterion(
            bound=lambda mean, variance: mean,
            value=lambda mean, variance, places: mean,
            least=lambda value, mean, variance: value - slack,
            order=order,
            centre=self.centre,
            kappa=self.kappa,
        )
        taken = np.array(sorted(each for each in measured_or_barred(self) if each < self.candidates), dtype=np.int64)
        return self._known.leading_draw(self._ghost, self.rng, (criterion, taken))

    def pending_variances(self) -> PendingVariances:
        return self._known.pending_variances(self._lots.values())

    def honest_variances(self) -> PendingVariances | None:
        honest = self._known.honest
        return None if honest is self._model else self._known.pending_variances(self._lots.values(), honest)

    def costs(self, candidates: NDArray[np.int64]) -> Vector:
        return np.zeros(len(candidates)) if self._costs is None else self._costs(candidates)


def lots_with(state: State, planned: Sequence[Proposal]) -> dict[Hashable, Lot]:
    """Repeats in flight and those of a plan, set-up by set-up: each batch is one, and each proposal, by its candidate
    and its place among those.
    """
    lots: dict[Hashable, Lot] = {
        open_.batch.id: Lot(open_.candidate, open_.values, open_.pending) for open_ in state.ledger.in_flight
    }
    seen: Counter[int] = Counter()
    for proposal in planned:
        seen[proposal.candidate] += 1
        lots[proposal.candidate, seen[proposal.candidate]] = Lot(proposal.candidate, 0, proposal.repeats)
    return lots
