"""Rounds of several candidates, decided before any of them is measured.

Within a round means are frozen and variances shrink with each pick (hallucination), so that a round needs no feedback
and spreads out by itself. Since upper bounds only fall within a round, most candidates need not be looked at: a bound
from earlier in the round that is below the best fresh one settles it (`LazyBounds`). The picks are the same as if all
bounds were brought up to date each time.
"""

from collections import Counter
from collections.abc import Callable

import numpy as np

from ostinato.errors import NothingToAsk
from ostinato.policies.base import Proposal
from ostinato.policies.belief import NOTHING_LEFT, Belief
from ostinato.posterior import Indices, PendingVariances

LONGEST = 10_000  # picks of a round
SCREENED_ABOVE, FIRST_COMPUTED = 64, 16  # candidates that may be the best, from which on so few of them come first


class LazyBounds:
    """μ + β σ at every candidate, brought up to date only where it may matter."""

    def __init__(self, belief: Belief, pending_variances: PendingVariances, beta: float) -> None:
        self._belief, self._with_pending, self._beta = belief, pending_variances, beta
        self._tolerance = belief.resolution(beta)
        self._means = belief.means.flat()
        self._bounds = self._means + beta * np.sqrt(pending_variances.variances)
        if len(belief.barred) == len(self._means):
            raise NothingToAsk(NOTHING_LEFT)
        self._means[list(belief.barred)] = -np.inf
        self._bounds[list(belief.barred)] = -np.inf
        self._last = int(np.argmax(self._bounds))

    def first_best(self) -> int:
        """The candidate with the highest bound; ties as everywhere.

        The last pick brought up to date shows how high the best is at least: only candidates with a bound above it,
        from whenever, can be it. Where they are many, the highest of them come first and show more.
        """
        leading = self._above(self._last)
        if len(leading) > SCREENED_ABOVE:
            highest = leading[np.argpartition(-self._bounds[leading], FIRST_COMPUTED)[:FIRST_COMPUTED]]
            self._update(highest)
            leading = self._above(int(highest[np.argmax(self._bounds[highest])]))
        self._update(leading)
        bounds = self._bounds[leading]
        self._last = self._belief.first(leading[bounds >= np.max(bounds) - self._tolerance])
        return self._last

    def _above(self, candidate: int) -> Indices:
        """Those that may be as good as this one, itself brought up to date."""
        self._update(np.array([candidate]))
        return np.flatnonzero(self._bounds >= self._bounds[candidate] - self._tolerance)

    def _update(self, candidates: Indices) -> None:
        stale = self._with_pending.update(candidates)
        self._bounds[stale] = self._means[stale] + self._beta * np.sqrt(self._with_pending.variances[stale])


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
