"""How far the model's own standard deviations can be trusted, where its kernel is learned from the same measurements.

A model that is fitted to few candidates, chosen because they looked good, is too sure of the others. How well it
predicts shows when candidates are left out in turn: z_i is how far the average of candidate i lies from what all others
say of it, in standard deviations. Of most use are those that the others say least about, since they are most like the
candidates never measured. With the half of the measured candidates that have the largest variance when left out,

    z² = (Σ z_i² + 3)/(n + 3)            c = max(1, 1.25 z^2.5)

What is known of a candidate from others is c times as uncertain as the model says: its standard deviation is c σ. At a
measured candidate, others have said σ_i² and its own measurements ℓ_i = λ/n; together they leave c²σ_i²ℓ_i/(c²σ_i² + ℓ_i), and a
tenth more standard deviation for what its noise was mistaken for. The constants were found on the development set of
`benchmarks/outofthebox`; what they do on other problems is in docs/results.md, "How sure it is".
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from ostinato.arrays import Matrix, Vector, to_numpy
from ostinato.posterior import Posterior

LEAST, SCALE, POWER = 1.0, 1.25, 2.5  # c
PSEUDO = 3.0  # left-out candidates that are taken to have been predicted as they should
MEASURED = 1.1  # of the standard deviation at measured candidates
HIGH = 0.975  # the quantile at which Student's t is compared with the normal law


@dataclass(frozen=True, eq=False)
class Calibration:
    """Factors on standard deviations: `others`, c, and one for each of the measured candidates."""

    others: float
    measured: NDArray[np.int64]
    at_measured: Vector

    def over_candidates(self, size: int) -> Vector:
        """The factor at every candidate."""
        factors = np.full(size, self.others)
        factors[self.measured] = self.at_measured
        return factors

    def at(self, points: Matrix, posterior: Posterior) -> Vector:
        """The factor at any points: rows of measured candidates are found among them."""
        factors = np.full(len(points), self.others)
        known = {posterior.features[c].tobytes(): f for c, f in zip(self.measured, self.at_measured, strict=True)}
        for place, row in enumerate(points):
            factors[place] = known.get(row.tobytes(), self.others)
        return factors


def calibration(posterior: Posterior, *, steps: float, learned: tuple[str, ...]) -> Calibration:
    """From what is left when each candidate is left out in turn. Where nothing was learned all factors are 1."""
    few = float(stdtrit(max(steps - 1, 1), HIGH) / ndtri(HIGH)) if learned else 1.0  # Student's t, as scales are learned
    factor = posterior.factor
    weights = to_numpy(factor.w)
    slots = np.flatnonzero(weights > 0)
    measured = posterior.measured[slots]
    if "kernel" not in learned or not len(slots):
        return Calibration(few, measured, np.full(len(slots), few))
    M, alpha, own = np.diagonal(to_numpy(factor.M))[slots], to_numpy(factor.alpha)[slots], 1 / weights[slots]
    variance: Vector = np.maximum(1 / M - own, 0.0)  # of f at each candidate, as the others leave it
    z2 = alpha**2 / M
    far = z2[variance >= np.median(variance)]
    z = sqrt((float(np.sum(far)) + PSEUDO) / (len(far) + PSEUDO))
    c = max(LEAST, SCALE * z**POWER)
    before, after = (k * variance * own / (k * variance + own) for k in (1.0, c**2))
    widened = np.sqrt(np.divide(after, before, out=np.ones_like(after), where=before > 0))
    return Calibration(few * c, measured, few * MEASURED * widened)
