"""How often: requests by token, and failures of authentication by address."""

from collections import OrderedDict
from time import monotonic

MAX_BUCKETS = 10_000  # buckets that are kept: those that were used last


class Rate:
    """So many a second, and so many at once, for each key."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, key: str, cost: float = 1.0) -> float:
        """Take one; returns 0, or for how many seconds to wait where there is none."""
        now = monotonic()
        left = self._left(key, now)
        allowed = left >= cost
        self._keep(key, left - cost if allowed else left, now)
        return 0.0 if allowed else (cost - left) / self._rate

    def is_empty(self, key: str) -> bool:
        """Whether none is left; nothing is taken."""
        return self._left(key, monotonic()) < 1.0

    def _left(self, key: str, now: float) -> float:
        left, then = self._buckets.get(key, (self._burst, now))
        return min(self._burst, left + (now - then) * self._rate)

    def _keep(self, key: str, left: float, now: float) -> None:
        self._buckets[key] = left, now
        self._buckets.move_to_end(key)
        if len(self._buckets) > MAX_BUCKETS:
            self._buckets.popitem(last=False)
