"""Whether failures in a row are news about candidates, or an outage. A rule about counts: it knows no clock, no study.

Each candidate has a chance p of failing, of its own. Before anything is known of a candidate, p ~ Beta(m, 1 − m), where
m is the share of measurements that failed, averaged over the candidates measured so far: most candidates then fail
either always or never. One that gave s values and failed f times fails the next time with probability
(m + f)/(1 + s + f), and so on with each failure. The product over a row of failures is the probability of such a row
while nothing has changed. It falls quickly where candidates differ, or gave values before; it hardly falls while one
candidate that never gave a value fails again and again.

A small product makes a row suspicious. Then candidates that gave values are measured once more: a value says that the
failures were news; a failure makes the product smaller, until it is an outage beyond doubt.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from math import log

FEWEST = 5  # failures in a row, before which none is suspicious
SUSPICIOUS, CERTAIN = log(1e-3), log(1e-6)  # probabilities of a row, while nothing has changed
PRIOR_SHARE, PRIOR_WEIGHT = 0.1, 5.0  # the share of failures, and how many candidates' worth of evidence that is


class Evidence:
    """A row of failures, against how often each candidate gave a value, and failed, before it."""

    def __init__(self, values: Mapping[int, int], failures: Mapping[int, int], row: Iterable[int] = ()) -> None:
        self._values, self._failures = values, failures
        self._row: Counter[int] = Counter()
        self._mean = _mean_share(values, failures)
        self.log_chance = 0.0
        for candidate in row:
            self.add(candidate)

    def add(self, candidate: int) -> None:
        """One more failure."""
        failed = self._failures.get(candidate, 0) + self._row[candidate]
        self.log_chance += log((self._mean + failed) / (1 + self._values.get(candidate, 0) + failed))
        self._row[candidate] += 1

    @property
    def suspicious(self) -> bool:
        """Whether the row asks for an explanation. Where nothing ever worked, nothing can have stopped to."""
        return bool(self._values) and self._row.total() >= FEWEST and self.log_chance <= SUSPICIOUS

    @property
    def certain(self) -> bool:
        """Whether chance does not explain it. Candidates may: one that gave values has to be among those that fail."""
        return self.suspicious and self.log_chance <= CERTAIN

    def probe(self, barred: Collection[int] = ()) -> int | None:
        """The candidate that says most by failing once more: one that gave values, none that is barred; if any did."""
        known = [candidate for candidate in self._values if candidate not in barred]
        if not known:
            return None
        return min(known, key=lambda each: (self._row[each], self._failures.get(each, 0) - self._values[each], each))


def _mean_share(values: Mapping[int, int], failures: Mapping[int, int]) -> float:
    """The share of measurements that failed, averaged over candidates."""
    tried = values.keys() | {candidate for candidate, failed in failures.items() if failed}
    shares = (failures.get(each, 0) / (failures.get(each, 0) + values.get(each, 0)) for each in tried)
    return (PRIOR_SHARE * PRIOR_WEIGHT + sum(shares)) / (PRIOR_WEIGHT + len(tried))
