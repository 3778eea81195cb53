"""What was measured, as the likelihood sees it: groups of measurements that share a set-up.

A group b has n_b measurements of one unique candidate, their mean ȳ_b and their squared deviations Q_b. Its mean has
variance

    v_b = c_b + τ² + λ a_b        a_b = r_b/n_b

around the candidate's value: λ the noise (times r_b where candidates differ in noise), τ² the variance of set-ups,
c_b what measurements with known standard errors bring along (they have a_b = 0). Without set-ups a candidate is one
group. Together the groups of a candidate are one measurement of weight w_i = Σ 1/v_b and mean m_i = Σ (ȳ_b/v_b)/w_i.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector


@dataclass(frozen=True)
class Sample:
    """Groups, one a row; `slot` is the unique candidate of each, numbered from 0."""

    slot: NDArray[np.int64]
    n: Vector
    mean: Vector
    squares: Vector
    relative: Vector  # r_b: noise in units of λ; 0 for groups of known variance
    known: Vector  # c_b

    @cached_property
    def size(self) -> int:
        """q, the number of unique candidates."""
        return int(np.max(self.slot)) + 1

    @cached_property
    def alone(self) -> bool:
        """Whether every candidate is one group."""
        return np.array_equal(self.slot, np.arange(len(self.slot)))

    @cached_property
    def per_measurement(self) -> Vector:
        """a_b."""
        return self.relative / self.n

    def variances(self, noise: float, setup: float) -> Vector:
        """v_b."""
        return self.known + setup + noise * self.per_measurement

    def merged(self, v: Vector) -> tuple[Vector, Vector]:
        """w_i and m_i of every unique candidate."""
        if self.alone:
            return 1 / v, self.mean
        w = self.summed(1 / v)
        return w, self.summed(self.mean / v) / w

    def summed(self, values: Vector) -> Vector:
        """Sums over the groups of each unique candidate."""
        return cast("Vector", np.bincount(self.slot, weights=values, minlength=self.size))

    def standardised(self, centre: float, spread: float) -> "Sample":
        """In units of `spread` around `centre`."""
        mean, squares, known = (self.mean - centre) / spread, self.squares / spread**2, self.known / spread**2
        return replace(self, mean=mean, squares=squares, known=known)

    @cached_property
    def repeats(self) -> tuple[float, float, float]:
        """What repeats within groups say of λ: Σ (n_b − 1), Σ Q_b/r_b, and Σ ½(n_b − 1) log r_b + ½ log n_b."""
        free = (self.relative > 0) & (self.n > 1)  # what has faded to less than one measurement says nothing of it
        n, r = self.n[free], self.relative[free]
        rest = 0.5 * float(np.sum((n - 1) * np.log(r) + np.log(n)))
        return float(np.sum(n - 1)), float(np.sum(self.squares[free] / r)), rest

    @property
    def pooled(self) -> float:
        """The noise λ that repeats within groups show; NaN for none."""
        freedom, squares, _ = self.repeats
        return squares / freedom if freedom else np.nan
