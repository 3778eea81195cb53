"""A model in which measurements in flight count as if they had come, kept from one proposal of a plan to the next."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import cast

import numpy as np

from ostinato.arrays import Vector
from ostinato.optimizer.knowledge import Knowledge, Lot
from ostinato.posterior import (
    Ghost,
    Imagined,
    Indices,
    Model,
    PendingPointwise,
    PendingScreen,
    PendingVariances,
    Posterior,
)

RATIO_SCREENED_ABOVE, RATIO_FIRST_COMPUTED = (
    512,
    64,
)  # candidates whose ratio may be the largest, from which on so few of them come first
SHARE = 0.1  # of all candidates: where more may be it, all are computed


@dataclass(eq=False)
class ModelWithPending:
    """A model with what is in flight counted as if it had come, kept from one proposal of a plan to the next.

    A plan grows batch by batch: only what is new is imagined, as long as the model is the same. Variances only fall, so
    that those from earlier in the plan are bounds, and most candidates need not be looked at again (`screen`).
    """

    _model: Model | None = None
    _made: dict[Hashable, float] = field(
        default_factory=dict[Hashable, float]
    )  # how many measurements each lot is worth

    def bring_up_to_date(self, known: Knowledge, model: Model, lots: Mapping[Hashable, Lot]) -> "ModelWithPending":
        """To a model and what is in flight now."""
        return self.with_worths(model, worths_of(known, lots))

    def with_worths(self, model: Model, lots: Mapping[Hashable, tuple[int, float]]) -> "ModelWithPending":
        """The same, with how many measurements each lot of a candidate counts for."""
        worths = {key: worth for key, (_, worth) in lots.items()}
        if model is not self._model or any(worths.get(key, 0.0) < worth for key, worth in self._made.items()):
            self._start(model)
        for key, worth in worths.items():
            if worth > self._made.get(key, 0.0):
                self._imagined.add(lots[key][0], worth - self._made.get(key, 0.0))
        self._made = worths
        return self

    def _start(self, model: Model) -> None:
        self._model, self._made, self._imagined = model, dict[Hashable, float](), Imagined(model.ghost())
        for made in ("variances", "pointwise", "screen"):
            self.__dict__.pop(made, None)

    @property
    def ghost(self) -> Ghost:
        return self._imagined.ghost

    @cached_property
    def variances(self) -> PendingVariances:
        """Those of all candidates."""
        model = cast("Model", self._model)
        return PendingVariances(model.variances, self.ghost, self._imagined)

    @cached_property
    def pointwise(self) -> PendingPointwise | None:
        """Means and variances of few candidates, where those of all are not there."""
        return (
            PendingPointwise(self._model, self._imagined)
            if isinstance(self._model, Posterior) and self._model.blocks_outdated
            else None
        )

    @cached_property
    def screen(self) -> PendingScreen | None:
        """Bounds for all candidates, where the model has such. Those that wait are brought up to date first."""
        if isinstance(self._model, Posterior):
            self._model.disable_lazy_screen()
        found = self._model.screen if isinstance(self._model, Posterior) else None
        return None if found is None or self.pointwise is None else PendingScreen(found, self.pointwise)

    def covariance_between(self, model: Posterior, candidate: int, others: Indices) -> Vector:
        """Of some candidates with one: that of the model, less what the imagined measurements take off it."""
        C = self._imagined.covariances(0, np.append(others, candidate))
        return model.covariance_between(candidate, others) - C[:, -1] @ C[:, :-1]

    @property
    def imagined(self) -> Indices:
        """The candidates in flight, of those that the model has all numbers of."""
        size = len(cast("Model", self._model).features)
        return np.array(sorted(each for each in self._imagined.candidates if each < size), dtype=np.int64)


def worths_of(known: Knowledge, lots: Mapping[Hashable, Lot]) -> dict[Hashable, tuple[int, float]]:
    """The candidate of each lot, and how many measurements what is in flight of it counts for."""
    return {key: (lot.candidate, known.worth(lot)) for key, lot in lots.items()}


def largest_ratio(before: ModelWithPending, after: ModelWithPending) -> float:
    """By how much at most, over all candidates, what is in flight after shrinks a variance more than what is before.

    Of very many candidates: bounds say which may be the one, and these are computed.
    """
    found = _screened_ratio(before, after)
    return _highest_ratio(before.variances.everywhere(), after.variances.everywhere()) if found is None else found


def _screened_ratio(before: ModelWithPending, after: ModelWithPending) -> float | None:
    if before.screen is None or after.screen is None:
        return None
    bounds = before.screen.bounds(), after.screen.bounds()
    if bounds[0] is None or bounds[1] is None:
        return None
    most, least = bounds[0][1], bounds[1][0]
    few = cast("PendingPointwise", before.pointwise), cast("PendingPointwise", after.pointwise)

    def ratio(candidates: Indices) -> float:
        return _highest_ratio(*(each.at_each(candidates)[1] for each in few))

    best = ratio(after.imagined)  # 1 where none is
    if not isfinite(best):
        return None
    likely = np.flatnonzero(most > best * least)
    if len(likely) > RATIO_SCREENED_ABOVE:
        rough = most[likely] / np.maximum(least[likely], np.finfo(np.float32).tiny)
        best = max(best, ratio(likely[np.argpartition(-rough, RATIO_FIRST_COMPUTED)[:RATIO_FIRST_COMPUTED]]))
        likely = likely[most[likely] > best * least[likely]]
    return max(best, ratio(likely)) if len(likely) <= SHARE * len(most) else None


def _highest_ratio(before: Vector, after: Vector) -> float:
    ratios = np.divide(before, after, out=np.ones_like(before), where=after > 0)
    return float(np.max(ratios, initial=1.0))
