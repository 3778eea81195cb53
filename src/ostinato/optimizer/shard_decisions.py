"""A decision over candidates that are on workers: each finds the best few of its own.

A question holds the facts, what is in flight and a score of which all that depends on other candidates is settled (β,
the target, the highest and the lowest mean): about as many numbers as candidates were measured, however many there
are. The answer is the candidates that may be chosen. Of those never measured these are the ones that are first in the
order that settles ties among all that score as high: whatever bar the best of all shards sets, the one that is chosen
is among them, and they are few.
"""

from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import cached_property
from math import sqrt
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.candidates.shard import Shard
from ostinato.confidence import Progress
from ostinato.errors import InvalidSetting
from ostinato.optimizer.model_with_pending import ModelWithPending, largest_ratio
from ostinato.optimizer.order import Order
from ostinato.policies import RepeatValue
from ostinato.policies.belief import Belief, Scores, SettledScore
from ostinato.posterior import BlockedVector, Indices, ListedVector, PendingVariances, Posterior, Screen
from ostinato.posterior.sharded import EVERYWHERE, ShardedPosterior
from ostinato.posterior.worker_posterior import Facts, FeaturesWithVisitors, WorkerPosterior, model_of

Lots = Mapping[Hashable, tuple[int, Vector, float]]  # in flight: a candidate, its features, and n/λ


class ShardContext(NamedTuple):
    """What a decision needs to know that is the same for all shards. counts: measured and in flight."""

    top: float
    bottom: float
    travels: bool
    counts: dict[int, int]
    order: Order


class Question(NamedTuple):
    """What may be chosen? barred: of this shard's candidates."""

    facts: Facts
    lots: Lots
    score: Any
    context: ShardContext
    barred: Indices


class Leaders(NamedTuple):
    """Candidates that may be chosen: numbers, features, scores, and how far apart scores count as different."""

    numbers: Indices
    rows: Matrix
    values: Vector
    tolerance: float


class WorkerBelief(Belief):
    """What a score needs to know of a shard's own candidates, which have numbers from 0 on here."""

    def __init__(self, shard: Shard, question: Question) -> None:
        self._model, features = model_of(shard, question.facts)
        self._start, self._outline = shard.start, question.context
        self.centre, self.kappa, self.travels = (
            self._model.prior_mean,
            sqrt(self._model.kappa2),
            question.context.travels,
        )
        self.priority = cast("Any", shard_order(shard, question.context.order))
        stop = shard.start + len(shard)
        self._counts = {n - shard.start: c for n, c in question.context.counts.items() if shard.start <= n < stop}
        self.barred = frozenset((question.barred - shard.start).tolist())
        self._pending = foreseen(shard, self._model, features, question.lots) if question.lots else None

    @property
    def candidates(self) -> int:
        return len(self._model.features)

    @cached_property
    def means(self) -> BlockedVector:  # pyright: ignore[reportIncompatibleMethodOverride]
        return self._model.means

    @cached_property
    def variances(self) -> BlockedVector:  # pyright: ignore[reportIncompatibleMethodOverride]
        found = self._model.variances
        return found if self._pending is None else found.like(self._pending.variances.everywhere())

    @property
    def span(self) -> tuple[float, float]:
        return self._outline.bottom, self._outline.top

    @property
    def screen(self) -> Screen | None:
        return self._model.screen if self._pending is None else self._pending.screen

    def at_each(self, candidates: NDArray[np.int64]) -> tuple[Vector, Vector]:
        if self._pending is None:
            return self._model.at_each(candidates)
        few = self._pending.pointwise
        return super().at_each(candidates) if few is None else few.at_each(candidates)

    def means_at(self, candidates: NDArray[np.int64]) -> Vector:
        return self.at_each(candidates)[0]

    def at(self, candidate: int) -> tuple[float, float]:
        mean, variance = self.at_each(np.array([candidate]))
        return float(mean[0]), float(variance[0])

    def counts(self) -> Mapping[int, int]:
        return self._counts

    def drop_double_precision(self) -> None:
        """Once all is answered."""
        if self._pending is None:
            self._model.drop_double_precision()

    # What only the driver knows, and no score of one moment asks for

    @property
    def progress(self) -> Progress:
        raise InvalidSetting(EVERYWHERE)

    def repeat_value(self, candidate: int) -> RepeatValue:
        raise InvalidSetting(EVERYWHERE)

    def covariance(self, candidate: int, others: NDArray[np.int64] | None = None) -> Vector:
        raise InvalidSetting(EVERYWHERE)

    def averages(self) -> Mapping[int, float]:
        raise InvalidSetting(EVERYWHERE)

    def draw(self) -> BlockedVector:
        raise InvalidSetting(EVERYWHERE)

    def pending_variances(self) -> PendingVariances:
        raise InvalidSetting(EVERYWHERE)

    def honest_variances(self) -> PendingVariances | None:
        raise InvalidSetting(EVERYWHERE)

    def costs(self, candidates: NDArray[np.int64]) -> Vector:
        raise InvalidSetting(EVERYWHERE)


def shard_order(shard: Shard, order: Order) -> NDArray[np.int64]:
    """The order that settles ties, of a shard's candidates; found out once."""
    kept = shard.held.get("order")
    if kept is None or kept[0] != order:
        kept = shard.held["order"] = order, order[np.arange(shard.start, shard.start + len(shard))]
    return kept[1]


def foreseen(
    shard: Shard, model: WorkerPosterior, features: FeaturesWithVisitors, lots: Lots, name: str = "foresight"
) -> ModelWithPending:
    """A shard's model with what is in flight; kept from one question of a plan to the next."""
    foresight: ModelWithPending = shard.held.pop(name, None) or ModelWithPending()
    here = {key: (features.place_of(number, shard.start, row), worth) for key, (number, row, worth) in lots.items()}
    foresight.with_worths(cast("Posterior", model), here)
    shard.held[name] = foresight
    return foresight


def leaders_of(shard: Shard, question: Question) -> Leaders:
    """On a worker: the best few of a shard's candidates."""
    belief = WorkerBelief(shard, question)
    scores = replace(question.score, belief=belief).scores(belief)
    listed, values = _listed(scores.values)
    open_ = np.array([each not in belief.barred for each in listed.tolist()], dtype=np.bool_)
    listed, values = listed[open_], values[open_]
    known = np.array([each in belief.counts() for each in listed.tolist()], dtype=np.bool_)
    few = np.concatenate([np.flatnonzero(known), _first(values, belief.priority[listed], ~known)])
    belief.drop_double_precision()
    return Leaders(listed[few] + shard.start, shard.features[listed[few]], values[few], scores.tolerance)


def _listed(values: BlockedVector | ListedVector) -> tuple[Indices, Vector]:
    if isinstance(values, ListedVector):
        return values.candidates, values.values
    flat = values.flat()
    there = np.flatnonzero(flat > -np.inf)
    return there, flat[there]


def _first(values: Vector, priority: NDArray[np.int64], free: NDArray[np.bool_]) -> Indices:
    """Of some places those that are first in order among all whose values are as high: from the best on, the records.

    They are few: of n in a random order, about log n.
    """
    places = np.flatnonzero(free)
    places = places[np.lexsort((priority[places], -values[places]))]
    lowest = np.minimum.accumulate(priority[places])
    return places[priority[places] == lowest]


# On the driver


def ask_leaders(
    model: ShardedPosterior, score: SettledScore, outline: ShardContext, barred: frozenset[int], lots: Lots
) -> Scores:
    """The scores of the candidates that may be chosen, of all shards."""
    features = model._shards
    asked = Question(model.facts, lots, replace(cast("Any", score), belief=None), outline, np.zeros(0, dtype=np.int64))
    starts = features.shards.starts
    apart = np.split(out := np.array(sorted(barred), dtype=np.int64), np.searchsorted(out, starts[1:]))
    found = features.shards.ask_each(leaders_of, [asked._replace(barred=each) for each in apart])
    numbers, values = (np.concatenate([each[field] for each in found]) for field in (0, 2))
    for each in found:
        features.shards.remember(each.numbers, each.rows)
    best = max(found, key=lambda each: float(np.max(each.values, initial=-np.inf)))
    order = np.argsort(numbers)
    return Scores(ListedVector(numbers[order], values[order], len(features)), best.tolerance)


def ratio_of(shard: Shard, asked: tuple[Facts, Lots, Lots]) -> float:
    """On a worker: by how much at most lots in flight shrink a variance more than those before."""
    facts, before, after = asked
    model, features = model_of(shard, facts)
    then = foreseen(shard, model, features, before, "before")
    return largest_ratio(then, foreseen(shard, model, features, after, "after"))


def ask_ratio(model: ShardedPosterior, before: Lots, after: Lots) -> float:
    return max(model._shards.ask(ratio_of, (model.facts, before, after)))


def lots_for(model: ShardedPosterior, worths: Mapping[Hashable, tuple[int, float]]) -> Lots:
    """What is in flight, as workers have to know it."""
    rows = model.features[[candidate for candidate, _ in worths.values()]] if worths else ()
    noise = model.noise
    return {
        key: (candidate, row, worth / float(noise[candidate]))
        for (key, (candidate, worth)), row in zip(worths.items(), rows, strict=True)
    }
