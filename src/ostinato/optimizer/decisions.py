"""What to ask next: from what is known, and what is in flight, to proposals with the reasons for them."""

from collections.abc import Sequence
from functools import cache, partial
from math import log, sqrt
from typing import Any, TypeAlias, cast

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ostinato.arrays import Vector, gathered, highest, lowest
from ostinato.candidates import Candidates
from ostinato.confidence import Progress
from ostinato.errors import NothingToAsk
from ostinato.learning import Learner
from ostinato.optimizer.costs import SwitchCost, shortest_way
from ostinato.optimizer.knowledge import Knowledge, Lot
from ostinato.optimizer.ledger import Ledger
from ostinato.optimizer.settings import checked_round
from ostinato.policies import Belief, Policy, Proposal
from ostinato.records import Reason

INITIAL = 5  # random candidates with which a run begins where scales are learned
HOPELESS = 3  # failures, and more failures than values, from which a candidate is not asked for again
DOUBTED = "gave a value that does not fit, and is measured again to see whether that was a mistake"
Decided: TypeAlias = tuple[Proposal, Reason]


class Decisions:
    """The policy, shown what it may know. `round` holds what was decided and not handed out yet."""

    def __init__(
        self,
        table: Candidates,
        policy: Policy,
        knowledge: Knowledge,
        ledger: Ledger,
        switch_cost: SwitchCost | None,
        measurement_cost: float,
        budget: int | None,
        sign: int,
        priority: NDArray[np.int64],
        rng: np.random.Generator,
    ) -> None:
        self._table, self._policy, self._known, self._ledger = table, policy, knowledge, ledger
        self._switch_cost, self._measurement_cost, self.budget = switch_cost, measurement_cost, budget
        self._sign, self._priority, self._rng = sign, priority, rng
        self.round: list[Proposal] = []

    def plan(self, least: int, most: int | None) -> tuple[list[Decided], float]:
        """Batches until there are `least` measurements; each counts those before it as if they had come.

        With the factor by which, within the plan, some standard deviation shrinks.
        """
        planned: list[Decided] = []
        before = self._variances(())
        while (total := sum(proposal.repeats for proposal, _ in planned)) < least:
            try:
                new = self.next(None if most is None else most - total, [proposal for proposal, _ in planned])
            except NothingToAsk:
                if not planned:
                    raise
                break
            planned = self._with_one_more(planned, new)
        after = self._variances([proposal for proposal, _ in planned])
        ratios = np.divide(before, after, out=np.ones_like(before), where=after > 0)
        stops = list(dict.fromkeys(proposal.candidate for proposal, _ in planned))
        order = shortest_way(self._ledger.position, stops, self._switch_cost)
        decided = sorted(planned, key=lambda each: order.index(each[0].candidate))
        return decided, sqrt(float(np.max(ratios)))

    def _with_one_more(self, planned: list[Decided], new: Decided) -> list[Decided]:
        """Proposals for one candidate are one batch, unless a cap on batches or set-ups keep them apart.

        What was planned last comes last.
        """
        more, _ = new
        cap = getattr(self._policy, "cap_per_batch", None)
        for place, (last, reason) in enumerate(planned):
            repeats = last.repeats + more.repeats
            if last.candidate != more.candidate or self._known.prior.setup > 0 or repeats > (cap or repeats):
                continue
            wanted = max(last.wanted or 0, last.repeats + (more.wanted or more.repeats))
            joined = Proposal(
                last.candidate, repeats, wanted, more.capped, last.truncated or more.truncated, more.cause
            )
            return [*planned[:place], *planned[place + 1 :], (joined, reason)]
        return [*planned, new]

    def _variances(self, extra: Sequence[Proposal]) -> Vector:
        """Of all candidates, with what is in flight, and more, counted as if it had come."""
        return self._known.ahead(self._lots(extra)).everywhere().copy()

    def next(self, most: int | None, extra: Sequence[Proposal] = ()) -> Decided:
        """The next proposal of the round, or of a new one, cut at `most`; and why."""
        first = False
        belief: Belief | None = None
        if not self.round:
            proposals = self._first_candidates(extra)
            first = bool(proposals)
            if not first:
                self._known.learn()
                proposals = self._checks(extra)
            with self._known.whole():
                belief = self.belief(extra)
                proposals = proposals or self._policy.propose(belief, most)
                proposals = self._at_least_twice(proposals)
            self.round = checked_round(self._policy, proposals, len(self._table))
            self._ledger.rounds += 1
        proposal = self.round.pop(0)
        if most is not None and proposal.repeats > most:
            proposal = replace(proposal, repeats=most, truncated=True)
        return proposal, self._reason(proposal, belief or self.belief(extra), first=first)

    def _checks(self, extra: Sequence[Proposal]) -> list[Proposal]:
        """A value that does not fit, with no repeats that say the same or another, is measured again first."""
        pending = self._pending(extra)
        wanted = {c: n - pending.get(c, 0) for c, n in self._known.unconfirmed.items() if c not in self._barred}
        return [Proposal(c, n, n, seeks=DOUBTED) for c, n in wanted.items() if n > 0][:1]

    def prepare(self) -> None:
        """Learn what the next decision rests on, where one is to be made."""
        if not self.round and not self._first_candidates(()):
            self._known.learn()

    def _at_least_twice(self, proposals: list[Proposal]) -> list[Proposal]:
        """While the error of set-ups is being learned, batches have repeats: without any it is not told from noise."""
        learner = self._known.learner
        if not (isinstance(learner, Learner) and learner.wants_repeats(self._known.tally)):
            return proposals
        return [replace(each, repeats=max(each.repeats, 2), wanted=max(each.wanted or 0, 2)) for each in proposals]

    def _reason(self, proposal: Proposal, belief: Belief, *, first: bool) -> Reason:
        """What is believed now, for `explain`."""
        candidate, policy = proposal.candidate, self._policy
        mean, variance = belief.at(candidate)
        stake = belief.stake(candidate)
        leader = self._leading()
        width = cast("Any", policy).width(belief) if hasattr(policy, "width") else None
        return Reason(
            mean=self._sign * mean,
            std=sqrt(max(variance, 0.0)),
            noise_std=sqrt(stake.noise),
            setup_std=sqrt(stake.setup),
            staleness=stake.staleness(proposal.repeats),
            leads=leader is not None and leader[0] == candidate,
            measured=int(self._known.tally[candidate].n),
            leader=None if leader is None else self._table[self._table.index_of(leader[0])],
            leader_mean=None if leader is None else self._sign * leader[1],
            first=first or (self._known.learner is not None and leader is None),
            beta=width,
            C=getattr(policy, "C", None),
            switch_cost=stake.switch if belief.costs is not None else None,
            cause=proposal.cause,
            policy=repr(policy),
            seeks=proposal.seeks or getattr(policy, "seeks", "").format(width=width),
        )

    def _leading(self) -> tuple[int, float] | None:
        """Number and mean of the best measured candidate, in the policy's own model."""
        if len(self._known.tally) == 0:
            return None
        model, numbers = self._known.model, self._known.tally.numbers
        means = gathered(model.means, model.starts, numbers)
        place = int(np.argmax(means))
        return int(numbers[place]), float(means[place])

    def _pending(self, extra: Sequence[Proposal]) -> dict[int, int]:
        """Repeats in flight by candidate, and more."""
        pending = self._ledger.pending
        for proposal in extra:
            pending[proposal.candidate] = pending.get(proposal.candidate, 0) + proposal.repeats
        return pending

    def _lots(self, extra: Sequence[Proposal]) -> list[Lot]:
        """The same, set-up by set-up: each batch is one."""
        leases = [(lease.candidate, lease.values, lease.pending) for lease in self._ledger.in_flight]
        return leases + [(proposal.candidate, 0, proposal.repeats) for proposal in extra]

    def belief(self, extra: Sequence[Proposal] = ()) -> Belief:
        model, pending, lots = self._known.model, self._pending(extra), self._lots(extra)
        model.refresh(self._rng)
        ghost, means, variances, covariance = model.ghost(), model.means, model.variances, model.covariance_with
        if pending:
            ahead = self._known.ahead(lots)
            ghost, variances = ahead.ghost, self._known.in_blocks(ahead.everywhere())
            covariance = partial(ahead.covariance, model.covariance_with)
        here = extra[-1].candidate if extra else self._ledger.position
        costs = self._switch_cost
        return Belief(
            means=means,
            variances=variances,
            top=max(map(highest, means)),
            bottom=min(map(lowest, means)),
            starts=model.starts,
            noise=model.noise,
            kappa=sqrt(model.kappa2),
            progress=Progress(
                int(self._known.tally.steps),
                model.log_det,
                len(self._table),
                len(self._table.columns),
                self._affordable,
            ),
            priority=self._priority,
            rng=self._rng,
            variance=ghost.variance,
            covariance=covariance,
            counts=cache(lambda: self._known.counts(pending)),
            pending=pending,
            averages=lambda: {candidate: statistics.mean for candidate, statistics in self._known.tally},
            draw=lambda: self._known.draw_ahead(ghost, lots, self._rng),
            ahead=lambda: self._known.ahead(lots),
            centre=model.prior_mean,
            setup=self._known.prior.setup,
            barred=self._barred,
            learned=isinstance(self._known.learner, Learner),
            costs=None if costs is None or here is None else partial(costs, here),
            cost=self._measurement_cost,
        )

    @property
    def _affordable(self) -> int | None:
        """Measurements that the budget allows for, those that failed left out.

        Where old ones fade, these are the ones that count now, and those to come within the time they take to fade.
        """
        if self.budget is None:
            return None
        left = self.budget - self._known.failures.total() - self._known.history.steps
        lasting = self._known.half_life
        return int(self._known.tally.steps) + (left if lasting is None else min(left, round(lasting / log(2))))

    @property
    def _barred(self) -> frozenset[int]:
        """Candidates whose measurements fail."""
        return frozenset(
            candidate
            for candidate, failed in self._known.failures.items()
            if failed >= HOPELESS and failed > self._known.history.counts[candidate]
        )

    def _first_candidates(self, extra: Sequence[Proposal]) -> list[Proposal]:
        """While scales are unknown: random candidates, once each; a few, and more while all outcomes are the same."""
        if not isinstance(self._known.learner, Learner):
            return []
        known = self._known.counts(self._pending(extra))
        if len(known) >= INITIAL and (self._switch_cost is not None or not self._known.tally.constant):
            return []
        tried = known.keys() | self._known.failures.keys()
        new = (int(candidate) for candidate in np.argsort(self._priority)[: len(tried) + 1])
        return [Proposal(candidate, 1, 1) for candidate in new if candidate not in tried][:1]
