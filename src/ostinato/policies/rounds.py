"""Rounds of several candidates, decided before any of them is measured.

Within a round means are frozen and variances shrink with each pick (hallucination), so that a round needs no feedback
and spreads out by itself. Since upper bounds only fall within a round, most candidates need not be looked at: a bound
from earlier in the round that is below the best fresh one settles it (`LazyBounds`). The picks are the same as if all
bounds were brought up to date each time.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector, to_numpy
from ostinato.policies.base import Belief, Proposal
from ostinato.posterior import Ahead

LONGEST = 10_000  # picks of a round
FIRST, GROWTH = 4, 4  # candidates brought up to date at first, and how that number grows


class LazyBounds:
    """μ + β σ at every candidate, brought up to date only where it may matter."""

    def __init__(self, belief: Belief, ahead: Ahead, beta: float) -> None:
        self._belief, self._ahead, self._beta = belief, ahead, beta
        self._tolerance = belief.resolution(beta)
        self._means: Vector = np.concatenate([to_numpy(mean) for mean in belief.means])
        self._bounds = self._means + beta * np.sqrt(ahead.variances)

    def first_best(self) -> int:
        """The candidate with the highest bound; ties as everywhere."""
        count = FIRST
        while True:
            fresh = self._ahead.fresh
            bar = np.max(self._bounds, where=fresh, initial=-np.inf) - self._tolerance
            stale = np.flatnonzero((self._bounds >= bar) & ~fresh)
            if not len(stale):
                return self._belief.first(np.flatnonzero(self._bounds >= bar))
            self._update(_highest(stale, self._bounds, count))
            count *= GROWTH

    def _update(self, candidates: NDArray[np.int64]) -> None:
        self._ahead.update(candidates)
        self._bounds[candidates] = self._means[candidates] + self._beta * np.sqrt(self._ahead.variances[candidates])


def _highest(candidates: NDArray[np.int64], bounds: Vector, count: int) -> NDArray[np.int64]:
    """Those of the candidates with the highest bounds."""
    if len(candidates) <= count:
        return candidates
    return candidates[np.argpartition(-bounds[candidates], count)[:count]]


def decided(step: Callable[[], tuple[int, bool]], limit: int | None) -> list[Proposal]:
    """A round: picks until a step says that it is full, or the limit is reached.

    Equal picks make one proposal, so that a round switches as rarely as it can.
    """
    picks: Counter[int] = Counter()
    full, most = False, min(limit or LONGEST, LONGEST)
    while not full and picks.total() < most:
        candidate, full = step()
        picks[candidate] += 1
    return [Proposal(candidate, n, n, truncated=not full) for candidate, n in picks.items()]
