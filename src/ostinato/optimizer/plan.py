"""Plans of several batches. Each batch is decided as if the values of those before it had come."""

from collections.abc import Sequence
from math import sqrt
from typing import cast

import msgspec
from msgspec.structs import replace

from ostinato.checks import counted, flag, whole
from ostinato.errors import InvalidSetting, NothingToAsk
from ostinato.optimizer.belief import lots_with
from ostinato.optimizer.costs import shortest_way
from ostinato.optimizer.decision import DecisionInProgress, Planned
from ostinato.optimizer.model_with_pending import ModelWithPending, largest_ratio, worths_of
from ostinato.optimizer.shard_decisions import ask_ratio, lots_for
from ostinato.policies import Proposal
from ostinato.posterior import ShardedPosterior


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
        most = slots if slots is None or limit is None else min(whole("slots", slots), limit)
        return cls(most, workers, flag("distinct", distinct), columns)

    def short_of(self, planned: int) -> str:
        """How many slots are empty where so many measurements were planned; nothing where none is."""
        if self.slots is None or planned >= self.slots:
            return ""
        return f"{planned:,} of {counted(self.slots, 'slot')} {'is' if planned == 1 else 'are'} filled"

    def least(self, in_flight: int) -> int:
        """How many measurements are wanted, with so many under way."""
        return self.slots if self.slots is not None else max(1, cast("int", self.workers) - in_flight)


def plan(decision: DecisionInProgress, wish: Wish, most: int | None) -> tuple[list[Planned], float]:
    """Decide batches until there are enough measurements, each as if the values of those before it had come.

    With the factor by which, within the plan, some standard deviation shrinks.
    """
    planned: list[Planned] = []
    ledger, columns = decision.state.ledger, _columns(decision, wish)
    wanted = wish.least(sum(ledger.pending.values()))
    least = min(wanted, most or wanted)
    most = least if wish.slots is not None else most
    while (total := sum(each.proposal.repeats for each in planned)) < least:
        left = None if most is None else most - total
        try:
            new = decision.next(1 if wish.distinct else left, [each.proposal for each in planned])
        except NothingToAsk:
            if not planned:
                raise
            break
        planned = _with_one_more(decision, planned, new)
        decision.exclude_after(new.proposal.candidate, columns, distinct=wish.distinct)
    ratio = _ratio(decision, [each.proposal for each in planned])
    stops = list(dict.fromkeys(each.proposal.candidate for each in planned))
    order = shortest_way(ledger.position, stops, decision.problem.switch_cost)
    return sorted(planned, key=lambda each: order.index(each.proposal.candidate)), ratio


def _columns(decision: DecisionInProgress, wish: Wish) -> list[int]:
    """The places of columns that a plan shares."""
    names = [column.name for column in decision.problem.table.columns]
    for name in wish.shared:
        if name not in names:
            raise InvalidSetting(f"shared={name!r} is not a column: they are {', '.join(map(repr, names))}.")
    return [names.index(name) for name in wish.shared]


def _with_one_more(decision: DecisionInProgress, planned: list[Planned], new: Planned) -> list[Planned]:
    """Join proposals for one candidate into one batch, unless a cap on batches or a set-up error keeps them apart.

    What was planned last comes last.
    """
    more = new.proposal
    caps = [each for each in (decision.problem.settings.max_repeats, decision.problem.policy.longest_batch) if each]
    cap = min(caps, default=None)
    for place, each in enumerate(planned):
        last, repeats = each.proposal, each.proposal.repeats + more.repeats
        if last.candidate != more.candidate or decision.known.prior.setup > 0 or repeats > (cap or repeats):
            continue
        wanted = max(last.wanted or 0, last.repeats + (more.wanted or more.repeats))
        joined = Proposal(last.candidate, repeats, wanted, more.capped, last.truncated or more.truncated, more.cause)
        reason = replace(each.reason, staleness=each.reason.staleness_of(repeats))
        return [*planned[:place], *planned[place + 1 :], replace(new, proposal=joined, reason=reason)]
    return [*planned, new]


def _ratio(decision: DecisionInProgress, planned: Sequence[Proposal]) -> float:
    """By how much a plan shrinks some standard deviation, on top of what is in flight."""
    honest = decision.known.honest
    if isinstance(honest, ShardedPosterior):
        lots = [worths_of(decision.known, lots_with(decision.state, each)) for each in ((), planned)]
        return sqrt(ask_ratio(honest, *(lots_for(honest, each) for each in lots)))
    own = decision.foresights[0 if honest is decision.known.model else 1]
    after = own.bring_up_to_date(decision.known, honest, lots_with(decision.state, planned))
    before = ModelWithPending().bring_up_to_date(decision.known, honest, lots_with(decision.state, ()))
    return sqrt(largest_ratio(before, after))
