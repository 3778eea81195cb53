"""What to ask next: from the problem, what happened and what is known to batches, with the reasons for them.

`decide` changes nothing. What it learned for the decision, and the randomness it drew on, come with its answer, for
whoever commits it; thrown away, it leaves nothing behind.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import sqrt
from typing import cast

import msgspec
import numpy as np
from msgspec.structs import replace

from ostinato.arrays import Matrix, Vector
from ostinato.candidates import Candidates, Sampled
from ostinato.checks import brief, counted, flag, whole
from ostinato.errors import InvalidSetting, NothingToAsk
from ostinato.learning import Learner
from ostinato.optimizer.belief import Present, lots_with, pending_with
from ostinato.optimizer.certified import Region, ceiling_of, certified
from ostinato.optimizer.costs import shortest_way
from ostinato.optimizer.facts import Asked, Mind
from ostinato.optimizer.foresight import Foresight, largest_ratio, worths_of
from ostinato.optimizer.knowledge import INITIAL, Knowledge
from ostinato.optimizer.order import Order, lowest
from ostinato.optimizer.parts import ask_ratio, lots_for
from ostinato.optimizer.problem import Problem
from ostinato.optimizer.search import search
from ostinato.optimizer.settings import checked_round
from ostinato.optimizer.state import State
from ostinato.policies import UCB, Belief, Proposal
from ostinato.policies.belief import Scores
from ostinato.policies.scored import ScoredPolicy
from ostinato.posterior import Model, Posterior, ShardedPosterior
from ostinato.records import Batch, Reason

ALIKE = 512  # points of a space that are like the first of a plan in the columns that it shares
HOPELESS = 3  # failures, and more failures than values, from which a candidate is not asked for again
DOUBTED = "gave a value that does not fit, and is measured again to see whether that was a mistake"


class Planned(msgspec.Struct, frozen=True):
    """A proposal that will be asked for: of which round it is, and why."""

    proposal: Proposal
    reason: Reason
    round: int

    def asked(self, number: int, table: Candidates) -> Asked:
        """As a batch of this number."""
        proposal, index = self.proposal, table.index_of(self.proposal.candidate)
        how = (proposal.repeats, proposal.wanted or proposal.repeats, proposal.capped, proposal.truncated)
        batch = Batch(number, index, table[index], *how, self.reason, self.round)
        return Asked(batch, proposal.candidate, self.reason.limits)


class Decision(msgspec.Struct, frozen=True, eq=False):
    """Batches; what the next decision rests on if this one is taken, the problem with all that was asked for, and what
    is known then.

    ratio: by how much, within the batches, some standard deviation shrinks.
    """

    asked: list[Asked]
    mind: Mind
    problem: Problem
    known: Knowledge
    ratio: float = 1.0


class Wish(msgspec.Struct, frozen=True):
    """A plan of several batches: that fills so many slots, or gives work to so many workers.

    distinct: each is of another candidate. shared: columns in which all are alike.
    """

    slots: int | None = None
    workers: int | None = None
    distinct: bool = False
    shared: tuple[str | int, ...] = ()

    def __post_init__(self) -> None:
        if (self.slots is None) == (self.workers is None):
            both = "Both workers= and slots= were given: give one of them."
            none = "distinct= and shared= are for plans: give slots= or workers= too."
            raise InvalidSetting(none if self.slots is None else both)
        whole("slots", self.slots) if self.slots is not None else whole("workers", cast("int", self.workers))

    @classmethod
    def of(
        cls,
        slots: int | None,
        workers: int | None,
        distinct: bool,
        shared: str | Sequence[str | int],
        limit: int | None = None,
    ) -> "Wish | None":
        """As a user says it; None where no plan is wanted. limit: the most measurements in all."""
        if slots is None and workers is None and not distinct and not shared:
            return None
        columns = (shared,) if isinstance(shared, str) else tuple(shared)
        most = slots if slots is None or limit is None else min(slots, limit)
        return cls(most, workers, flag("distinct", distinct), columns)

    def short_of(self, planned: int) -> str:
        """How many slots are empty where so many measurements were planned; nothing where none is."""
        if self.slots is None or planned >= self.slots:
            return ""
        return f"{planned:,} of {counted(self.slots, 'slot')} {'is' if planned == 1 else 'are'} filled"

    def least(self, in_flight: int) -> int:
        """How many measurements are wanted, with so many under way."""
        return self.slots if self.slots is not None else max(1, cast("int", self.workers) - in_flight)


def decide(problem: Problem, state: State, known: Knowledge, most: int | None, wish: Wish | None = None) -> Decision:
    """The next batch, of at most so many repeats; or a plan of several, of at most so many measurements in all."""
    thinking = Thinking(problem, state, known.fork())
    decided, ratio = ([thinking.next(most)], 1.0) if wish is None else thinking.plan(wish, most)
    decided = thinking.named(decided)
    first, table = state.ledger.asked, thinking.problem.table
    asked = [each.asked(first + place, table) for place, each in enumerate(decided)]
    return Decision(asked, thinking.mind, thinking.problem, thinking.known, ratio)


class Thinking:
    """One decision in the making. It owns all that it changes: a copy of what is known, randomness, the round."""

    def __init__(self, problem: Problem, state: State, known: Knowledge) -> None:
        self.problem, self.state, self.known = problem, state, known
        self.round = list(state.mind.round)
        self._rounds = state.ledger.rounds
        self._model: Model = known.model  # of the last round, as long as nothing was learned since
        self._asked: list[Proposal] = []
        self._apart: frozenset[int] = frozenset()  # candidates that are out of the question in this plan
        self._kept: tuple[Problem, Knowledge] | None = None  # without points that are only looked at
        self._looked_at = 0  # points of a space, or boxes
        self._shared: dict[int, float] = {}  # columns in which all points of this plan are alike
        self._top: tuple[float, float] | None = None  # a bound on the score of all points, and the β that it is for
        self._rng = state.generator()
        self._foresights = Foresight(), Foresight()  # of the policy's model, and of the honest one
        self._widen(problem.table.with_pool())

    @property
    def mind(self) -> Mind:
        """What the next decision rests on, once this one is taken."""
        learner, began = self.known.learner, self.state.mind.began
        return Mind(
            dict(self._rng.bit_generator.state),
            self.round,
            None if learner is None else learner.fit_state,
            self.known.looked,
            self.state.told if began is None else began,
            self.known.model.drawn({each.candidate for each in (*self.round, *self._asked)} | self._in_flight),
        )

    @property
    def _in_flight(self) -> set[int]:
        return set(self.state.ledger.pending)

    def plan(self, wish: Wish, most: int | None) -> tuple[list[Planned], float]:
        """Batches until there are enough measurements; each counts those before it as if they had come.

        With the factor by which, within the plan, some standard deviation shrinks.
        """
        planned: list[Planned] = []
        wanted, columns = wish.least(sum(self.state.ledger.pending.values())), self._columns(wish)
        least = min(wanted, most or wanted)
        most = least if wish.slots is not None else most
        self._learn(())
        while (total := sum(each.proposal.repeats for each in planned)) < least:
            left = None if most is None else most - total
            try:
                new = self.next(1 if wish.distinct else left, [each.proposal for each in planned])
            except NothingToAsk:
                if not planned:
                    raise
                break
            planned = self._with_one_more(planned, new)
            self._set_apart(new.proposal.candidate, columns, distinct=wish.distinct)
        ratio = self._ratio([each.proposal for each in planned])
        stops = list(dict.fromkeys(each.proposal.candidate for each in planned))
        order = shortest_way(self.state.ledger.position, stops, self.problem.switch_cost)
        decided = sorted(planned, key=lambda each: order.index(each.proposal.candidate))
        return decided, ratio

    def _columns(self, wish: Wish) -> list[int]:
        """The places of columns that a plan shares."""
        names = [column.name for column in self.problem.table.columns]
        for name in wish.shared:
            if name not in names:
                raise InvalidSetting(f"shared={name!r} is not a column: they are {', '.join(map(repr, names))}.")
        return [names.index(name) for name in wish.shared]

    def _set_apart(self, candidate: int, columns: list[int], *, distinct: bool) -> None:
        """What is out of the question once a candidate is planned."""
        if distinct:
            self._apart |= {candidate}
        if columns:
            self._share(columns, self.problem.features[candidate])
        self.round = [each for each in self.round if each.candidate not in self._apart]

    def _share(self, columns: list[int], point: Vector) -> None:
        """All candidates from now on are like this one in some columns; of a space, there are more such points."""
        if isinstance(self.problem.table, Sampled) and not self._shared:
            alike = self.problem.features[:ALIKE].copy()
            alike[:, columns] = point[columns]
            self._look_at(alike)
        self._shared = {column: float(point[column]) for column in columns}
        self._apart |= frozenset(np.flatnonzero((self.problem.features != point)[:, columns].any(axis=1)).tolist())

    def _with_one_more(self, planned: list[Planned], new: Planned) -> list[Planned]:
        """Proposals for one candidate are one batch, unless a cap on batches or set-ups keep them apart.

        What was planned last comes last.
        """
        more = new.proposal
        caps = [each for each in (self.problem.settings.max_repeats, self.problem.policy.longest_batch) if each]
        cap = min(caps, default=None)
        for place, each in enumerate(planned):
            last, repeats = each.proposal, each.proposal.repeats + more.repeats
            if last.candidate != more.candidate or self.known.prior.setup > 0 or repeats > (cap or repeats):
                continue
            wanted = max(last.wanted or 0, last.repeats + (more.wanted or more.repeats))
            joined = Proposal(
                last.candidate, repeats, wanted, more.capped, last.truncated or more.truncated, more.cause
            )
            reason = replace(each.reason, staleness=each.reason.staleness_of(repeats))
            return [*planned[:place], *planned[place + 1 :], replace(new, proposal=joined, reason=reason)]
        return [*planned, new]

    def _ratio(self, planned: Sequence[Proposal]) -> float:
        """By how much a plan shrinks some standard deviation, on top of what is in flight."""
        honest = self.known.honest
        if isinstance(honest, ShardedPosterior):
            lots = [worths_of(self.known, lots_with(self.state, each)) for each in ((), planned)]
            return sqrt(ask_ratio(honest, *(lots_for(honest, each) for each in lots)))
        own = self._foresights[0 if honest is self.known.model else 1]
        after = own.brought_up(self.known, honest, lots_with(self.state, planned))
        before = Foresight().brought_up(self.known, honest, lots_with(self.state, ()))
        return sqrt(largest_ratio(before, after))

    def next(self, most: int | None, extra: Sequence[Proposal] = ()) -> Planned:
        """The next proposal of the round, or of a new one, cut at `most`; and why."""
        first, self._looked_at, self._top = False, 0, None
        if not self.round:
            proposals = self._learn(extra)
            first = bool(proposals)
            drawn = self.state.mind.drawn if self.known.model is self._model else None
            self.known.model = self._model = self.known.model.refreshed(self._rng, drawn)
            proposals = proposals or self._checks(extra)
            if not proposals:
                self._search(extra)
            belief = self.belief(extra)
            proposals = self._at_least_twice(proposals or self.problem.policy.propose(belief, most))
            self.round = checked_round(self.problem.policy, proposals, len(self.problem.table))
            self._check_retired()
            self._rounds += 1
        else:
            belief = self.belief(extra)
        proposal, self.round = self.round[0], self.round[1:]
        cap = self.problem.settings.max_repeats
        if cap is not None and proposal.repeats > cap:
            wanted = proposal.wanted or proposal.repeats
            proposal = replace(proposal, repeats=cap, wanted=wanted, capped=True, cause="of the cap on repeats")
        if most is not None and proposal.repeats > most:
            wanted = proposal.wanted or proposal.repeats
            proposal = replace(proposal, repeats=most, wanted=wanted, truncated=True)
        self._asked.append(proposal)
        return Planned(proposal, self._reason(proposal, belief, first=first), self._rounds)

    def _search(self, extra: Sequence[Proposal]) -> None:
        """Where candidates are points of a space: the best that is found among them is one more."""
        table, policy = self.problem.table, self.problem.policy
        if not (isinstance(table, Sampled) and isinstance(self.known.model, Posterior) and policy.searched):
            return
        found = None if extra else search(table, partial(self._scores, policy.searched, table), self._barred)
        if found is not None:  # the first of a plan; the others take what is there, if they need not be certified
            self._looked_at = found[1]
            self._look_at(found[0][None, :])
        if self.problem.settings.search == "certified":
            self._certify(cast("ScoredPolicy", policy), extra)

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
        problem = self.problem.over(table.with_trials(points))
        known = self.known.over(problem)
        belief = Present(problem, self.state, known, self._rng, (), self._barred)
        return score(belief).values.flat()

    def _widen(self, table: Candidates) -> None:
        """More candidates, for this decision and those to come."""
        if table is not self.problem.table:
            same = self.known.model is self._model
            self.problem = self.problem.over(table)
            self.known = self.known.over(self.problem)
            self._model = self.known.model if same else self._model

    def named(self, decided: list[Planned]) -> list[Planned]:
        """What was decided, and the rest of the round, with indices; points that were only looked at are dropped."""
        numbers = [*(each.proposal.candidate for each in decided), *(each.candidate for each in self.round)]
        if self._kept is None:
            self._widen(self.problem.table.naming(numbers))
            return decided
        points = [self.problem.table.point(number) for number in numbers]
        self.problem, self.known = self._kept
        self._widen(cast("Sampled", self.problem.table).with_named(points))
        known = dict(zip(numbers, cast("Sampled", self.problem.table).numbers_of(points), strict=True))
        self.round = [replace(each, candidate=known[each.candidate]) for each in self.round]
        self._asked = [replace(each.proposal, candidate=known[each.proposal.candidate]) for each in decided]
        return [replace(each, proposal=asked) for each, asked in zip(decided, self._asked, strict=True)]

    def _check_retired(self) -> None:
        """A policy of the user's own may not know of them."""
        gone = [each.candidate for each in self.round if each.candidate in self.state.retired]
        if gone:
            row = self.problem.table.point(gone[0])
            raise InvalidSetting(
                f"The policy {self.problem.policy!r} proposed {brief(row)}, which was retired: leave out what is in "
                "belief.barred."
            )

    def _learn(self, extra: Sequence[Proposal]) -> list[Proposal]:
        """The first candidates; or where there were enough of them, what the next decision rests on is learned."""
        if self.round:
            return []
        first = self._first_candidates(extra)
        if not first:
            self.known.learn()
        return first

    def _checks(self, extra: Sequence[Proposal]) -> list[Proposal]:
        """A value that does not fit, with no repeats that say the same or another, is measured again first."""
        if not self.known.looked.aside:
            return []
        pending = pending_with(self.state, extra)
        wanted = {c: n - pending.get(c, 0) for c, n in self.known.unconfirmed.items() if c not in self._barred}
        return [Proposal(c, n, n, seeks=DOUBTED) for c, n in wanted.items() if n > 0][:1]

    def _at_least_twice(self, proposals: list[Proposal]) -> list[Proposal]:
        """While the error of set-ups is being learned, batches have repeats: without any it is not told from noise."""
        learner = self.known.learner
        if not (isinstance(learner, Learner) and learner.wants_repeats(self.known.tally)):
            return proposals
        return [replace(each, repeats=max(each.repeats, 2), wanted=max(each.wanted or 0, 2)) for each in proposals]

    def _reason(self, proposal: Proposal, belief: Belief, *, first: bool) -> Reason:
        """What is believed now, for `explain`."""
        candidate, policy, sign, table = proposal.candidate, self.problem.policy, self.problem.sign, self.problem.table
        mean, variance = belief.at(candidate)
        repeat_value = belief.repeat_value(candidate)
        leader = self._leading()
        width = policy.width(belief)
        return Reason(
            mean=sign * mean,
            std=sqrt(max(variance, 0.0)),
            noise_std=sqrt(repeat_value.noise),
            setup_std=sqrt(repeat_value.setup),
            staleness=repeat_value.staleness(proposal.repeats),
            leads=leader is not None and leader[0] == candidate,
            measured=int(self.known.tally[candidate].n),
            leader=None if leader is None else table.point(leader[0]),
            leader_mean=None if leader is None else sign * leader[1],
            first=first or (self.known.learner is not None and leader is None),
            beta=width,
            C=policy.keeps_within,
            switch_cost=repeat_value.switch if belief.travels else None,
            cause=proposal.cause,
            policy=repr(policy),
            seeks=proposal.seeks or policy.seeks.format(width=width),
            limits=self.known.limits(candidate),
            searched=self._looked_at,
            gap=self._gap(candidate, belief),
        )

    def _leading(self) -> tuple[int, float] | None:
        """Number and mean of the best measured candidate, in the policy's own model."""
        if len(self.known.tally) == 0:
            return None
        numbers = self.known.tally.numbers
        means, _ = self.known.model.at_each(numbers)
        place = int(np.argmax(means))
        return int(numbers[place]), float(means[place])

    def belief(self, extra: Sequence[Proposal] = ()) -> Belief:
        """What the policy is shown."""
        return Present(self.problem, self.state, self.known, self._rng, extra, self._barred, self._foresights)

    @property
    def _barred(self) -> frozenset[int]:
        """Candidates that must not be asked for: whose measurements fail, and that were retired."""
        counts = self.state.history.counts
        failing = (c for c, failed in self.state.failures.items() if failed >= HOPELESS and failed > counts[c])
        return self.state.retired | self._apart | frozenset(failing)

    def _first_candidates(self, extra: Sequence[Proposal]) -> list[Proposal]:
        """While scales are unknown: random candidates, once each; a few, and more while all outcomes are the same."""
        if not isinstance(self.known.learner, Learner):
            return []
        known = self.known.counts(pending_with(self.state, extra))
        if len(known) >= INITIAL and (self.problem.switch_cost is not None or not self.known.tally.constant):
            return []
        tried = known.keys() | self.state.failures.keys() | self.state.retired | self._apart
        priority, few = self.problem.priority, len(tried) + 1
        new = map(int, priority.lowest(few) if isinstance(priority, Order) else lowest(priority, few))
        return [Proposal(candidate, 1, 1) for candidate in new if candidate not in tried][:1]
