"""Whether failures in a row are news about candidates, or an outage. A rule about counts: it knows no clock, no study.

Two things explain failures while nothing has changed. How likely a row of n failures is by either:

- *measurements fail at random*, whatever the candidate. Of N so far F failed (and 1 of 10 before the first):
  (F + 1)/(N + 10) · (F + 2)/(N + 11) · … · (F + n)/(N + 9 + n).
- *candidates fail*, each with a chance p ~ Beta(m, 1 − m) of its own, so that most fail either always or never. m is
  the share of failures, averaged over candidates (as if 5 more had failed in a tenth of their measurements). One that
  gave s values and failed f times fails again with probability (m + f)/(1 + s + f); the k-th new one that fails has
  m = (M + k − 1)/(C + k − 1), M of C candidates having failed before.

The larger of the two counts. It falls quickly where measurements rarely failed and candidates differ or gave values
before; it hardly falls while one candidate that never gave a value fails again and again. A small one makes a row
suspicious. Then candidates that gave values are measured once more: a value says that the failures were news; a failure
makes the row less likely, until it is an outage beyond doubt.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from math import log

FEWEST = 5  # failures in a row, before which none is suspicious
SUSPICIOUS, CERTAIN = log(1e-3), log(1e-7)  # probabilities of a row, while nothing has changed
SHARE = 0.1  # of measurements fail, for all that is known beforehand; that is worth
MEASUREMENTS, CANDIDATES = 10.0, 5.0  # so many of them


class Evidence:
    """A row of failures, against how often each candidate gave a value, and failed, before it."""

    def __init__(self, values: Mapping[int, int], failures: Mapping[int, int], row: Iterable[int] = ()) -> None:
        self._values, self._failures = values, {each: failed for each, failed in failures.items() if failed}
        self._row: Counter[int] = Counter()
        self._failed = SHARE * MEASUREMENTS + sum(failures.values())
        self._measured = MEASUREMENTS + sum(failures.values()) + sum(values.values())
        self._failing, self._tried = _shares(values, self._failures)
        self._new = 0  # candidates of the row that were never measured before
        self._at_random = self._by_candidate = 0.0
        for candidate in row:
            self.add(candidate)

    def add(self, candidate: int) -> None:
        """One more failure."""
        done = self._row.total()
        self._at_random += log((self._failed + done) / (self._measured + done))
        self._by_candidate += log(self._chance_of(candidate))
        self._new += self._is_new(candidate) and candidate not in self._row
        self._row[candidate] += 1

    def _chance_of(self, candidate: int) -> float:
        if self._is_new(candidate) and candidate not in self._row:
            return (self._failing + self._new) / (self._tried + self._new)
        failed = self._failures.get(candidate, 0) + self._row[candidate]
        return (self._failing / self._tried + failed) / (1 + self._values.get(candidate, 0) + failed)

    def _is_new(self, candidate: int) -> bool:
        return candidate not in self._values and candidate not in self._failures

    @property
    def log_chance(self) -> float:
        """Of the row, while nothing has changed."""
        return max(self._at_random, self._by_candidate)

    @property
    def suspicious(self) -> bool:
        """Whether the row asks for an explanation. Where nothing ever worked, nothing can have stopped to."""
        return self._row.total() >= FEWEST and self.improbable

    @property
    def improbable(self) -> bool:
        """The same of a row of any length: enough where there will be no other measurement to tell."""
        return bool(self._values) and self.log_chance <= SUSPICIOUS

    @property
    def suspicious_when_over(self) -> bool:
        """The same of a row that is over, of which no measurement can tell any more whether it was chance.

        So it must not be likely that measurements which fail at random make such a row anywhere among all of them.
        """
        return self.suspicious and self._at_random + log(self._measured) <= SUSPICIOUS

    @property
    def certain(self) -> bool:
        """Whether chance does not explain it. Candidates may: one that gave values has to be among those that fail."""
        return self.suspicious and self.log_chance <= CERTAIN

    def __str__(self) -> str:
        return f"log chance {self._at_random:.1f} at random, {self._by_candidate:.1f} by candidate"

    def probe(self, barred: Collection[int] = ()) -> int | None:
        """The candidate that says most by failing once more: one that gave values, none that is barred; if any did."""
        known = [candidate for candidate in self._values if candidate not in barred]
        if not known:
            return None
        return min(known, key=lambda each: (self._row[each], self._failures.get(each, 0) - self._values[each], each))


def _shares(values: Mapping[int, int], failures: Mapping[int, int]) -> tuple[float, float]:
    """How many candidates failed, each by the share of its measurements that did; and how many there are."""
    tried = values.keys() | failures.keys()
    shares = (failures.get(each, 0) / (failures.get(each, 0) + values.get(each, 0)) for each in tried)
    return SHARE * CANDIDATES + sum(shares), CANDIDATES + len(tried)
