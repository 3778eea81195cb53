"""Facts taken back or corrected: from the facts that were told to those that should have been.

The state is then made anew from them, so that everything is as if they had been told in the first place. A repeat that
is taken back from a batch still in flight is waited for again; from one that was over, it will not come. Every
measurement keeps its number; those of what was taken back are gaps.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isfinite, isnan

import msgspec
import numpy as np

from ostinato.arrays import Vector
from ostinato.errors import InvalidFeedback
from ostinato.measurements.batches import number_at, place_among
from ostinato.measurements.feedback import Feedback, told, told_weighted
from ostinato.measurements.outcomes import Outcome
from ostinato.optimizer.facts import Asked, Closed, DecisionState, Fact, OutlierReview, Told
from ostinato.optimizer.state import State


class Single(msgspec.Struct, frozen=True):
    """One measurement: its place among all that count, which fact told it, and its place in that; NaN if it failed."""

    among: int
    fact: int
    candidate: int
    place: int
    value: float

    @property
    def failed(self) -> bool:
        return not isfinite(self.value)


def singles(facts: Sequence[Fact]) -> Iterator[Single]:
    """All measurements that were told one by one, in the order of their places within each fact."""
    before = 0
    for at, fact in enumerate(facts):
        if not isinstance(fact, Told):
            continue
        for candidate, feedback in fact.feedback.items():
            if feedback.singly:
                for place, value in zip(feedback.all_places, feedback.all_values, strict=True):
                    yield Single(before + place + 1, at, candidate, place, value)
        before += sum(feedback.answered for feedback in fact.feedback.values())


def revised(
    state: State, changes: Mapping[Single, float | None], outcome: Outcome, whole: Collection[int] = ()
) -> tuple[list[Fact], DecisionState]:
    """Other facts, and what the next decision then rests on.

    changes: measurements, each with its new value; None takes it back. whole: facts that are taken back whole.
    """
    by_fact: dict[int, dict[int, float | None]] = {}
    for single, value in changes.items():
        by_fact.setdefault(single.fact, {})[single.place] = value
    facts: list[Fact] = []
    for at, fact in enumerate(state.facts):
        if isinstance(fact, Told) and at in by_fact:
            fact = _changed(fact, by_fact[at], outcome)
        if at not in whole and not (isinstance(fact, Told) and not fact.feedback):
            facts.append(fact)
    touched = {fact.batch for fact in (state.facts[at] for at in (*by_fact, *whole)) if isinstance(fact, Told)}
    facts += [Closed(batch) for batch in sorted(touched) if batch >= 0 and batch not in state.ledger.open]
    return _each_closed_once(facts), DecisionState(
        state.decision_state.random, [], None, OutlierReview(), _began(facts)
    )


def _changed(fact: Told, changes: Mapping[int, float | None], outcome: Outcome) -> Told:
    """A fact whose measurements at some places are others, or none."""
    feedback: dict[int, Feedback] = {}
    gone = sorted(place for place, value in changes.items() if value is None)
    for candidate, each in fact.feedback.items():
        if not each.singly:
            feedback[candidate] = each
            continue
        kept = [(p, y) for p, y in zip(each.all_places, each.all_values, strict=True) if p not in gone]
        if kept:
            values = outcome.values([changes.get(place, value) for place, value in kept])
            feedback[candidate] = _told_of(each, values, [place for place, _ in kept], gone)
    return Told(fact.batch, feedback, fact.limits)


def _told_of(before: Feedback, values: Vector, kept: list[int], gone: list[int]) -> Feedback:
    """What was told at the places that are kept, with other values; standard errors stay with their places."""
    if before.weighted is not None:
        return told_weighted(values, before.weighted[1][kept])
    return told(values, np.array([place - int(np.searchsorted(gone, place)) for place in kept]))


def _each_closed_once(facts: list[Fact]) -> list[Fact]:
    """Batches that wait for nothing need no closing; none is closed twice."""
    left, kept = dict[int, int](), list[Fact]()
    for fact in facts:
        if isinstance(fact, Asked):
            left[fact.batch.id] = fact.batch.repeats
        elif isinstance(fact, Told) and fact.batch in left:
            left[fact.batch] -= sum(each.answered for each in fact.feedback.values())
        elif isinstance(fact, Closed):
            if left.get(fact.batch, 0) <= 0:
                continue
            left[fact.batch] = 0
        kept.append(fact)
    return kept


def _began(facts: Sequence[Fact]) -> int | None:
    """Measurements before the first decision."""
    before = 0
    for fact in facts:
        if isinstance(fact, Asked):
            return before
        before += sum(each.answered for each in fact.feedback.values()) if isinstance(fact, Told) else 0
    return None


def check_named(*ways: tuple[str, bool]) -> None:
    """Whether measurements are named in one way at most; each way with whether it was given."""
    given = [name for name, there in ways if there]
    if len(given) > 1:
        raise InvalidFeedback(
            f"Measurements are named by {' and by '.join(given)}: name them in one way. `history` and `outliers` have "
            "the number of each."
        )


def found(state: State, candidate: int, value: float) -> Single:
    """The last measurement of a candidate that gave this value."""
    own = [single for single in singles(state.facts) if single.candidate == candidate]
    same = [single for single in own if single.value == value or (single.failed and isnan(value))]
    if not same:
        last = ", ".join(f"{single.value:g}" for single in own[-5:])
        told_so = f"Its last values are {last}" if own else "No single values of it were told"
        raise InvalidFeedback(f"No measurement of this candidate gave {value!r}. {told_so}.")
    return same[-1]


def gaps_after(state: State, changes: Mapping[Single, float | None], whole: Collection[int] = ()) -> list[int]:
    """The numbers that are taken back, once these changes are made."""
    gone, before = [single.among for single, value in changes.items() if value is None], 0
    for at, fact in enumerate(state.facts):
        told = sum(feedback.answered for feedback in fact.feedback.values()) if isinstance(fact, Told) else 0
        gone += range(before + 1, before + told + 1) if at in whole else ()
        before += told
    return sorted({*state.gaps, *(number_at(place, state.gaps) for place in gone)})


def failed_of(facts: Sequence[Fact], repeats: Collection[tuple[int, int]]) -> list[Single]:
    """Those of some repeats, by batch and place in what was told of it, that failed."""
    batches = {at: fact.batch for at, fact in enumerate(facts) if isinstance(fact, Told)}
    return [each for each in singles(facts) if each.failed and (batches[each.fact], each.place) in repeats]


def numbered(state: State, number: int) -> Single:
    """The measurement of this number."""
    if number in state.gaps:
        raise InvalidFeedback(f"Measurement {number} was taken back already.")
    place = place_among(number, state.gaps)
    for single in singles(state.facts):
        if single.among == place:
            return single
    raise InvalidFeedback(
        f"There is no single measurement {number}: {state.told + len(state.gaps)} were told, and averages cannot be "
        "taken apart."
    )
