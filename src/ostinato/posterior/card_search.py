# pyright: basic, reportMissingImports=false
"""The candidates that may be chosen, found on a GPU, however many may be: bounds first, then double precision.

While little is known, millions of candidates are equal but for the errors of single precision. So they are listed,
computed in double precision and compared where they are. Of those that are equal then, too, only the ones that are
first in the order that settles ties among all that score as high are kept (`optimizer/shard_decisions.py` does the same
for shards): whatever bar the best sets, the one that is chosen is among them, and they are few.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from ostinato.posterior.cache import Indices
from ostinato.posterior.screen_block import ErrorBounds, LeadingCandidates, SearchCriterion

CHUNK = 2**23  # candidates whose bounds are computed at a time
FIRST_COMPUTED = 64  # candidates that are computed in double precision at first; the best of them is the first bar
AT_ONCE = 2**20  # candidates that are computed in double precision at a time
TIES_DROPPED_ABOVE = 2**14  # candidates that may be chosen, from which those that lose all ties are left out

Tensor = torch.Tensor
Exact = Callable[[Tensor], tuple[Tensor, Tensor]]


class EvaluatedCandidates(NamedTuple):
    """Candidates whose mean, variance and value were computed in double precision."""

    places: Tensor
    mean: Tensor
    variance: Tensor
    values: Tensor

    def at(self, which: Tensor) -> "EvaluatedCandidates":
        return EvaluatedCandidates(*(each[which] for each in self))


class CardSearch:
    """One search for the candidates that may be chosen.

    mean, variance: as they are on the card; exact: of places, about the prior mean.
    """

    def __init__(
        self, mean: Tensor, variance: Tensor, criterion: SearchCriterion, off: ErrorBounds, taken: Indices, exact: Exact
    ) -> None:
        self._mean, self._variance, self._criterion, self._off, self._exact = mean, variance, criterion, off, exact
        self._taken = taken
        self._bar = -np.inf
        self._kept: EvaluatedCandidates | None = None

    def found(self) -> LeadingCandidates:
        first, chunks = self._first()
        self._compute(first)
        self._taken = np.union1d(self._taken, first.cpu().numpy())  # which need not be computed again
        for start, highest in chunks:
            if highest >= self._bar:
                for part in torch.split(self._reaching(start), AT_ONCE):
                    self._compute(part)
        if self._kept is None:
            return LeadingCandidates(*(np.zeros(0, dtype=kind) for kind in (np.int64, float, float, float)))
        order = torch.argsort(self._kept.places)
        return LeadingCandidates(*(each.cpu().numpy() for each in self._kept.at(order)))

    def _first(self) -> tuple[Tensor, list[tuple[int, float]]]:
        """The candidates of the highest bounds, and the highest bound in each chunk."""
        found, values = list[Tensor](), list[Tensor]()
        for start in self._starts():
            best = torch.topk(bounds := self._bounds(start), min(FIRST_COMPUTED, len(bounds)))
            found.append(best.indices + start)
            values.append(best.values)
        highest = torch.stack([each[0] for each in values]).tolist()
        best = torch.topk(together := torch.cat(values), min(FIRST_COMPUTED, len(together)))
        first = torch.cat(found)[best.indices][best.values > -torch.inf]
        return first, list(zip(self._starts(), highest, strict=True))

    def _starts(self) -> Iterator[int]:
        yield from range(0, len(self._mean), CHUNK)

    def _bounds(self, start: int) -> Tensor:
        """The most that the candidates of a chunk may score; minus infinity for those that are taken."""
        stop, kappa = min(start + CHUNK, len(self._mean)), self._criterion.kappa
        mean = (self._mean[start:stop].double() + self._off.mean) * kappa + self._criterion.centre
        variance = (self._variance[start:stop].double() + self._off.variance).clamp_(min=0) * kappa**2
        bounds = self._criterion.bound(mean, variance)
        low, high = np.searchsorted(self._taken, (start, stop))
        if low < high:
            bounds[torch.from_numpy(self._taken[low:high] - start).to(bounds.device)] = -torch.inf
        return bounds

    def _reaching(self, start: int) -> Tensor:
        return torch.nonzero(self._bounds(start) >= self._bar)[:, 0] + start

    def _compute(self, places: Tensor) -> None:
        """In double precision; the bar rises with the best."""
        if not len(places):
            return
        mean, variance = self._exact(places)
        mean = mean + self._criterion.centre
        new = EvaluatedCandidates(places, mean, variance, self._criterion.value(mean, variance, places))
        kept = new if self._kept is None else EvaluatedCandidates(*map(torch.cat, zip(self._kept, new, strict=True)))
        best = kept.at(torch.argmax(kept.values))
        self._bar = max(self._bar, self._criterion.least(float(best.values), float(best.mean), float(best.variance)))
        kept = kept.at(kept.values >= self._bar)
        self._kept = (
            self._records(kept) if self._criterion.order is not None and len(kept.places) > TIES_DROPPED_ABOVE else kept
        )

    def _records(self, kept: EvaluatedCandidates) -> EvaluatedCandidates:
        """From the best on, those that come before all better ones in the order that settles ties."""
        priority = self._criterion.order(kept.places)
        by_priority = torch.argsort(priority)
        order = by_priority[torch.argsort(kept.values[by_priority], descending=True, stable=True)]
        priority = priority[order]
        return kept.at(order[priority == torch.cummin(priority, 0).values])


def highest_mean(mean: Tensor, bar: float, taken: Indices, exact: Callable[[Tensor], Tensor]) -> float:
    """The highest mean in double precision, of those whose mean in single precision reaches a bar, but for some."""
    best, out = -np.inf, torch.from_numpy(taken).to(mean.device)
    for start in range(0, len(mean), 4 * CHUNK):
        places = torch.nonzero(mean[start : start + 4 * CHUNK] >= bar)[:, 0] + start
        for part in torch.split(places[~torch.isin(places, out)], AT_ONCE):
            if len(part):
                best = max(best, float(exact(part).max()))
    return best
