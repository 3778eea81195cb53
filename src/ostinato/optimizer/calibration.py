"""How far the model's own standard deviations can be trusted, where its kernel is learned from the same measurements.

A model that is fitted to few candidates, chosen because they looked good, is too sure of the others. How well it
predicts shows when candidates are left out in turn: z_i is how far the average of candidate i lies from what all others
say of it, in standard deviations. Of most use are those that the others say least about, since they are most like the
candidates never measured. With the half of the measured candidates that have the largest variance when left out,

    z² = (Σ z_i² + 3)/(n + 3)            c = max(1, 1.25 z^2.5)

What is known of a candidate from others is c times as uncertain as the model says: its standard deviation is c σ. At a
measured candidate, others have said m_i with variance σ_i², and its own measurements ȳ_i with variance ℓ_i = λ/n.
Together they leave c²σ_i²ℓ_i/(c²σ_i² + ℓ_i), and a tenth more standard deviation for what its noise was mistaken for.

The interval of a candidate that is recommended goes further: the further apart m_i and ȳ_i are, the less others know of
this candidate (a peak that is sharper than the kernel thinks). With

    c_i² = c² max(1, (1 + z_i²)/2)

in place of c², it lies about (c_i²σ_i² ȳ_i + ℓ_i m_i)/(c_i²σ_i² + ℓ_i).

Rates of yes and no spread by their logits rather than evenly: where a rate μ is far above the prior mean μ₀, values
differ by a = μ(1 − μ)/(μ₀(1 − μ₀)) times as much as on average, and a kernel of one variance pulls the few high rates
down to the many low ones. The interval of such a candidate is that of a² times the kernel, a > 1. With M = (K + D)⁻¹,
D the noise of the averages and α = M(ȳ − μ₀),

    (K + D/a²)⁻¹ = (I − β M D)⁻¹ M,      β = 1 − 1/a²

of which one row is needed: M v with (I − β D M) v = e_i.

It was chosen for its measurements. Where it is the best of those measured with a chance of w only, it was chosen for
its luck: its interval lies 0.45 (1 − w) standard deviations further down.

The chance u that no candidate is better by more than a gap, by joint draws, is worse where candidates are many: it
hangs on the tails of thousands of them at once, where a learned kernel knows nothing. There the size of the gap in
standard deviations of the recommended candidate's value says more, and so do v, the share of the prior's variance that
is left at candidates never measured, on average, and q, the share of the candidates that were measured. With N
candidates (of more than 5,000, as if there were so many) and n = log(N/5000), which is 0 for many and about −4 for a
hundred:

    logit p = 1.73 + (0.13 − 0.21 n) logit u + 0.50 log(√(gap² + (std/10)²)/std) − 0.49 log(v + 0.005) + 0.51 log q
              + 0.26 n

Of a hundred candidates it is mostly the draws that count, and of thousands hardly. It grows with the gap, as it must.
Of fewer than ten measured candidates nothing was learned, and u stays as it is.

All constants were found on the development set of `benchmarks/outofthebox` (those of chances also on the small sets of
`benchmarks/chances.py`); docs/results.md, "How sure it is", has how often what is said then holds elsewhere. Where the
kernel is given, nothing is changed.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, hypot, log, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from ostinato.arrays import Matrix, Vector, to_numpy
from ostinato.posterior import Posterior
from ostinato.posterior.chance import others_than

LEAST, SCALE, POWER = 1.0, 1.25, 2.5  # c
PSEUDO = 3.0  # left-out candidates that are taken to have been predicted as they should
MEASURED = 1.1  # of the standard deviation at measured candidates
LUCKY = 0.45  # standard deviations
UNSURE = 0.01  # keeps logit u finite
NEGLIGIBLE_VARIANCE = 0.005  # of the prior's variance: less of it says no more
MAX_INDEPENDENT = 5_000  # candidates: that there are more says no more
SAMPLE = 20_000  # candidates, at most, of which an average is taken
CHANCES_CORRECTED_FROM = 10  # measured candidates below which chances stay as drawn
NO_GAP = 0.1  # standard deviations that no gap counts as
SOLVED, SOLVER_STEPS = 1e-8, 200  # the residual at which conjugate gradients end, and the steps after which they do
T_QUANTILE = 0.975  # the quantile at which Student's t is compared with the normal law


@dataclass(frozen=True, eq=False)
class Calibration:
    """Factors on standard deviations: `others`, c, and one for each of the measured candidates.

    widened: c without what few measurements leave unknown of the scales.
    own: for each of them, how far the middle of its own interval lies from the model's mean, and how much wider it is.
    """

    others: float
    widened: float
    measured: NDArray[np.int64]
    at_measured: Vector
    own: tuple[Vector, Vector]
    posterior: Posterior
    learned: bool

    @cached_property
    def unknown(self) -> float | None:
        """v; None where the kernel is given, or every candidate was measured."""
        return _unknown(self.posterior, self.measured) if self.learned else None

    def over_candidates(self, size: int) -> Vector:
        """The factor at every candidate."""
        factors = np.full(size, self.others)
        factors[self.measured] = self.at_measured
        return factors

    def of(self, numbers: NDArray[np.int64]) -> Vector:
        """The factor at some candidates."""
        return self._with_own(numbers, self.others)

    def for_chances(self, numbers: NDArray[np.int64]) -> Vector:
        """The same for joint draws: what they say of candidates never measured is corrected by `chance`."""
        return self._with_own(numbers, 1.0)

    def _with_own(self, numbers: NDArray[np.int64], others: float) -> Vector:
        order = np.argsort(self.measured)
        known = self.measured[order]
        places = np.minimum(np.searchsorted(known, numbers), max(len(known) - 1, 0))
        if not len(known):
            return np.full(len(numbers), others)
        return np.where(known[places] == numbers, self.at_measured[order][places], others)

    def interval(self, number: int, stretch: float = 1.0) -> tuple[float, float]:
        """How far the middle of a candidate's own interval lies from the model's mean, and how much wider it is.

        stretch: a, where values differ by a times as much as the kernel says.
        """
        place = np.flatnonzero(self.measured == number)
        if not len(place):
            return 0.0, 1.0
        shift, wider = self.own
        if stretch > 1 and self.learned:
            return self._stretched(int(place[0]), stretch)
        return float(shift[place[0]]), float(wider[place[0]])

    def _stretched(self, place: int, stretch: float) -> tuple[float, float]:
        """The same under a² times the kernel."""
        factor = self.posterior.factor
        M, alpha, noise = to_numpy(factor.M), to_numpy(factor.alpha), to_numpy(factor.l)
        slot = int(np.flatnonzero(noise > 0)[place])
        own, less = noise[slot : slot + 1], 1 / stretch**2
        v = _damped(M, noise, 1 - less, slot)
        stretched = np.array([less * float(v @ alpha)]), np.array([less * float(v @ M[slot])])
        shift, std = _own_interval(*stretched, own, self.widened)
        _, before = _own_interval(alpha[slot : slot + 1], M[slot, slot : slot + 1], own, self.widened)
        wider = self.own[1][place] * std / np.maximum(before, np.finfo(np.float64).tiny)
        return float((own * (alpha[slot] - stretched[0]) + shift)[0]), float(wider[0])

    def luck(self, best_of_measured: float) -> float:
        """By how many standard deviations the recommended candidate is worse than it looks, from the chance w."""
        return LUCKY * (1 - best_of_measured) if self.learned else 0.0

    @property
    def corrects(self) -> bool:
        """Whether chances are other than drawn."""
        return len(self.measured) >= CHANCES_CORRECTED_FROM and self.unknown is not None

    def chance(self, drawn: float, gap: float, std: float) -> float:
        """From the share of draws in which no candidate is better by more than a gap to the chance of it."""
        if self.unknown is None or not self.corrects or not std > 0:
            return drawn
        logit, size = log((drawn + UNSURE) / (1 + UNSURE - drawn)), log(hypot(gap / std, NO_GAP))
        candidates = min(len(self.posterior.features), MAX_INDEPENDENT)
        n, share = log(candidates / MAX_INDEPENDENT), log(len(self.measured) / candidates)
        p = (
            1.73
            + (0.13 - 0.21 * n) * logit
            + 0.50 * size
            - 0.49 * log(self.unknown + NEGLIGIBLE_VARIANCE)
            + 0.51 * share
            + 0.26 * n
        )
        return 1 / (1 + exp(-p))

    def at(self, points: Matrix) -> Vector:
        """The factor at any points: rows of measured candidates are found among them."""
        factors = np.full(len(points), self.others)
        rows = self.posterior.features[self.measured]
        known = {row.tobytes(): factor for row, factor in zip(rows, self.at_measured, strict=True)}
        for place, row in enumerate(points):
            factors[place] = known.get(row.tobytes(), self.others)
        return factors


def calibration(posterior: Posterior, *, steps: float, learned: tuple[str, ...]) -> Calibration:
    """From what is left when each candidate is left out in turn. Where nothing was learned all factors are 1."""
    few = (
        float(stdtrit(max(steps - 1, 1), T_QUANTILE) / ndtri(T_QUANTILE)) if learned else 1.0
    )  # Student's t for the scales
    factor = posterior.factor
    weights = to_numpy(factor.w)
    slots = np.flatnonzero(weights > 0)
    measured = posterior.measured[slots]
    if "kernel" not in learned or not len(slots):
        as_they_are = np.zeros(len(slots)), np.ones(len(slots))
        return Calibration(few, 1.0, measured, np.full(len(slots), few), as_they_are, posterior, learned=False)
    M, alpha, own = np.diagonal(to_numpy(factor.M))[slots], to_numpy(factor.alpha)[slots], 1 / weights[slots]
    variance: Vector = np.maximum(1 / M - own, 0.0)  # of f at each candidate, as the others leave it
    z2 = alpha**2 / M
    far = z2[variance >= np.median(variance)]
    z = sqrt((float(np.sum(far)) + PSEUDO) / (len(far) + PSEUDO))
    c = max(LEAST, SCALE * z**POWER)
    widened = c * np.sqrt((variance + own) / (c**2 * variance + own))  # of what both leave, in place of σ²ℓ/(σ² + ℓ)
    c_i = c * np.sqrt(np.maximum(1.0, (1 + z2) / 2))
    doubted = c_i**2 * variance
    shift = alpha / M * (doubted / (doubted + own) - variance / (variance + own))
    wider = c_i / c * np.sqrt((c**2 * variance + own) / (doubted + own))
    return Calibration(few * c, c, measured, few * MEASURED * widened, (shift, wider), posterior, learned=True)


def _own_interval(alpha: Vector, M: Vector, own: Vector, c: float) -> tuple[Vector, Vector]:
    """The shift of a candidate's own interval, and its standard deviation before the tenth that is added."""
    variance: Vector = np.maximum(1 / M - own, 0.0)
    doubted: Vector = c**2 * np.maximum(1.0, (1 + alpha**2 / M) / 2) * variance
    shift = alpha / M * (doubted / (doubted + own) - variance / (variance + own))
    return shift, np.sqrt(doubted * own / (doubted + own))


def _damped(M: Matrix, noise: Vector, beta: float, slot: int) -> Vector:
    """v with (I − β D M) v = e_i, by conjugate gradients.

    With v = √D u the matrix is I − β √D M √D, which has no eigenvalue below 1 − β.
    """
    root = np.sqrt(noise)
    u, direction = np.zeros(len(noise)), np.zeros(len(noise))
    direction[slot] = 1 / root[slot]
    left = direction.copy()
    size = first = float(left @ left)
    for _ in range(SOLVER_STEPS):
        image: Vector = direction - beta * root * (M @ (root * direction))
        step = size / float(direction @ image)
        u, left = u + step * direction, left - step * image
        size, before = float(left @ left), size
        if size <= SOLVED**2 * first:
            break
        direction = left + size / before * direction
    return root * u


def _unknown(posterior: Posterior, measured: NDArray[np.int64]) -> float | None:
    """The share of the prior's variance that is left at candidates never measured, on average; None if all were.

    Of very many candidates, a sample says it.
    """
    never = len(posterior.features) - len(measured)
    places = np.linspace(0, never - 1, SAMPLE).astype(np.int64) if never > SAMPLE else np.arange(never)
    others = others_than(np.sort(measured), places)
    _, variance = posterior.answer_at(others)
    share: Vector = variance / posterior.kernel.diag(posterior.features[others])
    return float(np.mean(share)) if len(others) else None
