"""One decision: what is learned for it, what the policy is shown, what it proposes, and why."""

from collections.abc import Sequence
from math import sqrt

import msgspec
import numpy as np
from msgspec.structs import replace

from ostinato.checks import brief
from ostinato.errors import InvalidSetting
from ostinato.learning import Learner
from ostinato.optimizer.belief import CurrentBelief
from ostinato.optimizer.facts import Asked, DecisionState
from ostinato.optimizer.knowledge import INITIAL, Knowledge
from ostinato.optimizer.model_with_pending import ModelWithPending
from ostinato.optimizer.order import Order, lowest
from ostinato.optimizer.settings import checked_round
from ostinato.policies import Belief, Proposal
from ostinato.posterior import Model, Nystrom
from ostinato.records import Batch, Reason

DOUBTED = "gave a value that does not fit, and is measured again to see whether that was a mistake"


class Planned(msgspec.Struct, frozen=True):
    """A proposal that will be asked for: of which round it is, and why."""

    proposal: Proposal
    reason: Reason
    round: int


class Decision(msgspec.Struct, frozen=True, eq=False):
    """Batches; what the next decision rests on if this one is taken, and what is known then, of a problem with all
    that was asked for.

    ratio: by how much, within the batches, some standard deviation shrinks.
    """

    asked: list[Asked]
    decision_state: DecisionState
    known: Knowledge
    ratio: float = 1.0


class DecisionInProgress:
    """A decision while it is made.

    It changes only what it owns: a random generator, the round, and, once it learns anything, a fork of what is known.
    """

    def __init__(self, known: Knowledge) -> None:
        problem, state = known.problem, known.state
        self.problem, self.state, self.known = problem, state, known
        self.round = list(state.decision_state.round)
        self._rounds = state.ledger.rounds
        self._model: Model = known.model  # of the last round, as long as nothing was learned since
        self._proposed: list[Proposal] = []
        self.excluded: frozenset[int] = frozenset()  # candidates that are out of the question in this plan
        self.barred = state.retired  # candidates that must not be asked for: these, and those apart
        if state.failures:
            self.barred |= state.hopeless
        self._closed = self.barred  # those that do not lead either: what is apart does so only in this plan
        self._rng: np.random.Generator | None = None  # of the run, where anything was drawn from it
        self.foresights = ModelWithPending(), ModelWithPending()  # of the policy's model, and of the honest one

    def next(self, most: int | None, extra: Sequence[Proposal] = ()) -> Planned:
        """The next proposal of the round, or of a new one, cut at `most`; and why.

        extra: what is planned already.
        """
        first, belief = (False, self.belief(extra)) if self.round else self._new_round(most, extra)
        proposal, self.round = self.round[0], self.round[1:]
        cap = self.problem.settings.max_repeats
        if cap is not None and proposal.repeats > cap:
            wanted = proposal.wanted or proposal.repeats
            proposal = replace(proposal, repeats=cap, wanted=wanted, capped=True, cause="of the cap on repeats")
        if most is not None and proposal.repeats > most:
            wanted = proposal.wanted or proposal.repeats
            proposal = replace(proposal, repeats=most, wanted=wanted, truncated=True)
        self._proposed.append(proposal)
        return Planned(proposal, self.reason(proposal, belief, first=first), self._rounds)

    def _new_round(self, most: int | None, extra: Sequence[Proposal]) -> tuple[bool, Belief]:
        """What the policy proposes; whether it is one of the first candidates instead, and what it was shown."""
        first, proposals = (False, []) if self.known.learner is None else self.learn(extra)
        if isinstance(self.known.model, Nystrom):
            self._draw_inducing_set(self.known.model)
        belief = self.belief(extra) if proposals else self.belief_for_policy(extra)
        proposals = proposals or self.problem.policy.propose(belief, most)
        if self.known.learner is not None:
            proposals = self._at_least_twice(proposals)
        self.round = checked_round(self.problem.policy, proposals, len(self.problem.table.features))
        for each in self.round:
            if each.candidate in self.state.retired:  # a policy of the user's own may not know of them
                raise InvalidSetting(
                    f"The policy {self.problem.policy!r} proposed {brief(self.problem.table.point(each.candidate))}, "
                    "which was retired: leave out what is in belief.barred."
                )
        self._rounds += 1
        return first, belief

    def learn(self, extra: Sequence[Proposal]) -> tuple[bool, list[Proposal]]:
        """Learn what is due; and propose what comes before the policy is asked, if anything does.

        That is one of the first candidates, as (True, …), or another measurement of a value that is doubted.
        """
        first = self._first_candidates(extra)
        if first:
            return True, first
        self.known = self.known.fork()
        self.known.learn()
        return False, self._outlier_checks(extra) if self.known.outlier_review.outliers else []

    def _first_candidates(self, extra: Sequence[Proposal]) -> list[Proposal]:
        """While length-scales are unknown: a few random candidates, once each; more while all outcomes are equal."""
        if not isinstance(self.known.learner, Learner):
            return []
        known = self.known.counts(self.state.ledger.pending_with(extra))
        if len(known) >= INITIAL and (self.problem.switch_cost is not None or not self.known.tally.constant):
            return []
        tried = known.keys() | self.state.failures.keys() | self.barred
        priority, few = self.problem.priority, len(tried) + 1
        new = map(int, priority.lowest(few) if isinstance(priority, Order) else lowest(priority, few))
        return [Proposal(candidate, 1, 1) for candidate in new if candidate not in tried][:1]

    def _outlier_checks(self, extra: Sequence[Proposal]) -> list[Proposal]:
        """A candidate with a value that does not fit, and too few repeats to confirm it, is measured again first."""
        pending = self.state.ledger.pending_with(extra)
        wanted = {c: n - pending.get(c, 0) for c, n in self.known.unconfirmed.items() if c not in self.barred}
        return [Proposal(c, n, n, seeks=DOUBTED) for c, n in wanted.items() if n > 0][:1]

    def _at_least_twice(self, proposals: list[Proposal]) -> list[Proposal]:
        """While the set-up error is learned, each batch has two repeats or more, to tell that error from noise."""
        learner = self.known.learner
        if not (isinstance(learner, Learner) and learner.wants_repeats(self.known.tally)):
            return proposals
        return [replace(each, repeats=max(each.repeats, 2), wanted=max(each.wanted or 0, 2)) for each in proposals]

    def _draw_inducing_set(self, model: Nystrom) -> None:
        """An inducing set for this round, where there are more measurements than when the last one was drawn."""
        drawn = self.state.decision_state.drawn if model is self._model else None
        self.known = self.known.fork()
        self.known.model = self.known.honest = self._model = model.refreshed(self.randomness(), drawn)

    def randomness(self) -> np.random.Generator:
        """The random generator of the run, as the last decision left it."""
        if self._rng is None:
            self._rng = self.state.generator()
        return self._rng

    def belief(self, extra: Sequence[Proposal] = ()) -> Belief:
        """What the policy is shown."""
        return CurrentBelief(self.known, extra, self.barred, self.randomness, self.foresights)

    belief_for_policy = belief  # what it is shown to choose by; in a space, some points are looked for first

    def exclude_after(self, candidate: int, columns: list[int], *, distinct: bool) -> None:
        """Exclude from the rest of the plan what may not follow a planned candidate."""
        if distinct:
            self._exclude(frozenset({candidate}))
        if columns:
            self.share_columns(columns, candidate)
        self.round = [each for each in self.round if each.candidate not in self.excluded]

    def share_columns(self, columns: list[int], candidate: int) -> None:
        """Exclude from the rest of the plan all candidates that differ from this one in some columns."""
        self._exclude(frozenset(np.flatnonzero(~self.problem.table.alike(candidate, columns)).tolist()))

    def _exclude(self, candidates: frozenset[int]) -> None:
        self.excluded |= candidates
        self.barred |= candidates

    def reason(self, proposal: Proposal, belief: Belief, *, first: bool) -> Reason:
        """What is believed now, for `explain`."""
        candidate, problem, known, sign = proposal.candidate, self.problem, self.known, self.problem.sign
        mean, variance = (float(each[0]) for each in belief.at_each(np.array([candidate])))
        repeat_value, width = belief.repeat_value(candidate), problem.policy.width(belief)
        measured = known.tally.numbers
        if self._closed:  # a candidate that is not asked for again does not lead
            measured = measured[~np.isin(measured, list(self._closed))]
        means = known.model.at_each(measured)[0] if len(measured) else None  # in the policy's own model
        leader = None if means is None else int(measured[means.argmax()])
        return Reason(
            mean=sign * mean,
            std=sqrt(max(variance, 0.0)),
            noise_std=sqrt(repeat_value.noise),
            setup_std=sqrt(repeat_value.setup),
            staleness=repeat_value.staleness(proposal.repeats),
            leads=leader == candidate,
            measured=int(known.tally[candidate].n),
            leader=None if leader is None else problem.table.point(leader),
            leader_mean=None if means is None else sign * float(means.max()),
            first=first or (known.learner is not None and not len(known.tally)),
            beta=width,
            C=problem.keeps_within,
            switch_cost=repeat_value.switch if belief.travels else None,
            cause=proposal.cause,
            policy=problem.policy_name,
            seeks=proposal.seeks or problem.seeks.format(width=width),
            limits=known.limits(candidate) if problem.settings.robust else None,
        )

    def conclude(self, decided: list[Planned], ratio: float = 1.0) -> Decision:
        """What was decided, as batches, with what the next decision rests on once this one is taken."""
        state, known, table, asked = self.state, self.known, self.problem.table, list[Asked]()
        for each in decided:
            proposal, index = each.proposal, table.index_of(each.proposal.candidate)
            how = (proposal.repeats, proposal.wanted or proposal.repeats, proposal.capped, proposal.truncated)
            row = table.point(proposal.candidate)
            batch = Batch(state.ledger.asked + len(asked), index, row, *how, each.reason, each.round)
            asked.append(Asked(batch, proposal.candidate, each.reason.limits))
        before, drawn = state.decision_state, None
        if isinstance(known.model, Nystrom):
            measured = {each.candidate for each in (*self.round, *self._proposed)}
            drawn = known.model.drawn(measured.union(state.ledger.pending))
        decision_state = DecisionState(
            before.random if self._rng is None else dict(self._rng.bit_generator.state),
            self.round,
            None if known.learner is None else known.learner.fit_state,
            known.outlier_review,
            state.told if before.began is None else before.began,
            drawn,
        )
        return Decision(asked, decision_state, known, ratio)
