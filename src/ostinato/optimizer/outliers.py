"""Single values that do not fit: a digit too many, another sample, a sensor that failed.

A value y is compared with what all else says of its candidate: the other candidates, by way of the model, μ ± s; and
its own repeats, of mean ȳ and noise λ,

    z_model = |y − μ|/√(s² + λ)            z_own = |y − ȳ|/√(λ (1 + 1/n))

An outlier is more than T off by both, T being the quantile of Student's t that is passed once in a million; and it is
one that does harm. Of a candidate with repeats, it is further from them than half of what nine tenths of all averages
lie apart; a lone value lies as far below all other averages as these range, or a quarter as far above. Repeats that
agree are believed, however odd: a narrow peak is found once, and true when found again. A lone value that does not
fit is therefore measured again before it counts (`decide.py`).

An outlier hides itself: it makes the noise seem loud, or the values seem to vary. So values are first looked over with
measures that one value cannot spoil (`suspects`), and those that stand out are judged by a model fitted without them.
Where many stand out alike they are not mistakes, but what the function is like.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from math import sqrt

import msgspec
import numpy as np
from msgspec.structs import replace
from scipy.special import stdtrit

from ostinato.arrays import Matrix, Vector
from ostinato.learning import Prior
from ostinato.measurements.history import History, Measured, Part
from ostinato.measurements.tally import Statistics, Tally
from ostinato.optimizer.calibration import calibration
from ostinato.posterior import Model, Posterior

RARE = 5e-7  # probability, on either side, with which a value that fits is that far off
SUSPECT = 4.0  # standard deviations from which a value is looked at
FAR = 5.0  # the same, where they are told from few values
TO_STD = 1.4826  # from the median of absolute deviations to a standard deviation
RECHECK_FACTOR, RECHECK_OFFSET = 2, 20  # value k is compared with all others until 2k + 20 are there
ALIKE = 1 / 3  # of the furthest one's distance: values that far off stand out alike
MAX_OUTLIERS, MAX_OUTLIER_SHARE = (
    3,
    0.02,
)  # values that may stand out, and the share of all, before they are taken for what is normal
BELOW, ABOVE = 1.0, 0.25  # of the range of all averages: how far beyond them a lone value is one that does harm
MIN_OTHERS = 5  # other measurements from which any can be judged
MIN_CANDIDATES = 4  # other candidates from which their averages say how far values vary
POOLED = 4.0  # degrees of freedom that the noise of all counts for, beside a candidate's own repeats
MIN_FREEDOM = 3.0  # degrees of freedom, at the least
CONFIRMED = 2  # other values of its candidate from which a value is judged for good


class Value(msgspec.Struct, frozen=True):
    """A single measurement, and what else was measured of its candidate."""

    number: int
    candidate: int
    batch: int
    y: float
    others: Statistics


class Misfit(msgspec.Struct, frozen=True):
    """A single measurement that does not fit, and between what it was expected."""

    value: Value
    low: float
    high: float


def values_of(history: History, numbers: Collection[int] | None = None) -> list[Value]:
    """The lowest and highest values of every batch; or those of some numbers."""
    told: dict[int, list[tuple[Part, Measured]]] = {}
    for part, measured in history:
        if not part.weighted:
            told.setdefault(part.candidate, []).append((part, measured))
    return [value for own in told.values() for value in _of_candidate(own, numbers)]


def _of_candidate(told: list[tuple[Part, Measured]], numbers: Collection[int] | None) -> Iterator[Value]:
    """Each value with all the others, which are added up and never taken off: beside a gross one no digit is lost."""
    wanted = [[point for point in each.points if numbers is None or point[0] in numbers] for _, each in told]
    if not any(wanted):
        return
    parts = [measured.statistics for _, measured in told]
    after = [*accumulate(reversed(parts), initial=Statistics())][::-1]  # all from each entry on
    before = Statistics()
    for place, ((part, measured), points) in enumerate(zip(told, wanted, strict=True)):
        elsewhere = before + after[place + 1]
        for number, y in points:
            yield Value(number, part.candidate, part.batch, y, elsewhere + measured.without({number}))
        before += parts[place]


def suspects(values: list[Value], told: int) -> frozenset[int]:
    """The numbers of those that stand out among all values, by measures that one of them cannot spoil.

    told: measurements in all. What was fine among so many is fine among many more: of the candidates of a run more and
    more are good ones, and bad ones then stand out.
    """
    if not values:
        return frozenset()
    y = np.array([value.y for value in values])
    recent = np.array([told < RECHECK_FACTOR * value.number + RECHECK_OFFSET for value in values])
    distance = np.maximum(np.where(recent, _from_all(values, y), 0.0), _from_own(values, y))
    furthest = float(np.max(distance))
    found = np.flatnonzero(distance > max(FAR, ALIKE * furthest))
    return _unless_many([values[place].number for place in found.tolist()], len(values))


def _unless_many(numbers: list[int], among: int) -> frozenset[int]:
    return frozenset(numbers) if len(numbers) <= max(MAX_OUTLIERS, MAX_OUTLIER_SHARE * among) else frozenset()


def _from_all(values: list[Value], y: Vector) -> Vector:
    """How far from the middle of all candidates, in standard deviations."""
    averages = {value.candidate: (value.others + Statistics(1, value.y)).mean for value in values}
    each = np.array(list(averages.values()))
    middle = float(np.median(each))
    spread = TO_STD * float(np.median(np.abs(each - middle)))
    return np.abs(y - middle) / spread if len(each) > MIN_CANDIDATES and spread > 0 else np.zeros(len(y))


def _from_own(values: list[Value], y: Vector) -> Vector:
    """How far from the repeats of its candidate, by the scatter of all repeats but this one."""
    n = np.array([value.others.n for value in values], dtype=np.float64)
    mean = np.array([value.others.mean for value in values])
    own = {value.candidate: value.others + Statistics(1, value.y) for value in values}
    squares, freedom = sum(each.squares for each in own.values()), sum(each.freedom for each in own.values())
    share = np.divide(n, n + 1)
    left = np.maximum(squares - share * (y - mean) ** 2, 0.0) / max(freedom - 1, 1)
    gap = np.abs(y - mean) * np.sqrt(share)
    enough = (n >= 1) & (left > 0) & (freedom - 1 >= MIN_FREEDOM)
    return np.divide(gap, np.sqrt(left), out=np.zeros(len(y)), where=enough)


class HarmThreshold:
    """How far off a value must be to change what is decided."""

    def __init__(self, tally: Tally) -> None:
        averages = np.array([statistics.mean for _, statistics in tally])
        self._averages, self._low, self._high = averages, float(averages.min()), float(averages.max())

    @cached_property
    def _apart(self) -> float:
        """What nine tenths of all averages lie apart."""
        near, far = np.quantile(self._averages, [0.05, 0.95])
        return float(far - near)

    def exceeds(self, value: Value) -> bool:
        """Whether a value may rule what is decided."""
        if value.others.n > 0:
            return abs(value.y - value.others.mean) > self._apart / 2
        beyond = max((self._low - value.y) / BELOW, (value.y - self._high) / ABOVE)
        return len(self._averages) >= MIN_CANDIDATES and beyond > self._high - self._low


def lone_leader(values: Iterable[Value]) -> frozenset[int]:
    """The number of the highest value, where nothing else was measured of its candidate."""
    best = max(values, key=lambda value: value.y, default=None)
    return frozenset() if best is None or best.others.n > 0 else frozenset({best.number})


def surprises(points: Sequence[tuple[int, int, float]], prior: Prior, model: Model) -> frozenset[int]:
    """The numbers of those that stand out from what the model says where they are left out.

    Of points (number, candidate, y). Leaving one value out of the mean m and the variance v of its candidate is
    1/v' = 1/v − 1/λ, m' = v'(m/v − y/λ).
    """
    if not points:
        return frozenset()
    numbers, y = np.array([candidate for _, candidate, _ in points]), np.array([y for _, _, y in points])
    m, v = model.at_each(numbers)
    noise, v = prior.noise[numbers] + prior.setup, np.maximum(v, 1e-300)
    without = 1 / np.maximum(1 / v - 1 / noise, 1 / (1e6 * v))
    mean = without * (m / v - y / noise)
    found = np.abs(y - mean) > SUSPECT * np.sqrt(without + noise)
    return _unless_many([points[place][0] for place in np.flatnonzero(found).tolist()], len(points))


def harmful(values: Iterable[Value], tally: Tally) -> list[Value]:
    """Those that may rule what is decided, each with what the tally, which knows none of them, says of its candidate.

    Most suspects are sorted out here, before a model is fitted for the others.
    """
    harm, found = HarmThreshold(tally), list[Value]()
    for value in values:
        clean = tally[value.candidate]
        value = replace(value, others=clean) if clean.n >= CONFIRMED and not clean.known else value
        if harm.exceeds(value):
            found.append(value)
    return found


def judged(
    values: Sequence[Value], prior: Prior, features: Matrix, tally: Tally, learned: tuple[str, ...]
) -> list[Misfit]:
    """Those that are far off by the model and by their own repeats. Prior and tally know none of them."""
    found: list[Misfit] = []
    others = _OtherCandidates(prior, features, tally, {value.candidate for value in values}, learned)
    limit = float(stdtrit(max(tally.steps - 1, MIN_FREEDOM), 1 - RARE))
    for value in values:
        noise = float(prior.noise[value.candidate]) + prior.setup
        mean, variance = others.say_of(value.candidate)
        std = sqrt(variance + noise)
        if abs(value.y - mean) <= limit * std or _agrees(value, noise, tally.steps):
            continue
        known = value.others.n > 0
        middle = value.others.mean if known else mean
        half = 2 * (sqrt(noise * (1 + 1 / value.others.n)) if known else std)
        found.append(Misfit(value, middle - half, middle + half))
    return found


class _OtherCandidates:
    """What all other candidates say of one: a posterior on those that matter here, and no others."""

    def __init__(self, prior: Prior, features: Matrix, tally: Tally, asked: set[int], learned: tuple[str, ...]) -> None:
        here = sorted({*asked, *(int(number) for number in tally.numbers)})
        self._place = {candidate: place for place, candidate in enumerate(here)}
        self._posterior = Posterior(features[here], prior.kernel, prior.noise[here], mean=prior.mean)
        evidence = Tally()
        for candidate, statistics in prior.evidence(tally):
            evidence.add(self._place[candidate], Statistics(statistics.n, statistics.mean))
        self._posterior.rebuild(evidence)
        self._trust = calibration(self._posterior, steps=tally.steps, learned=learned).others

    def say_of(self, candidate: int) -> tuple[float, float]:
        """Mean and variance of f there: where it was measured, M and α say what it would be without that."""
        posterior, place = self._posterior, self._place[candidate]
        slots, factor = np.flatnonzero(posterior.measured == place), posterior.factor
        if not len(slots):
            mean, variance = posterior.predict(posterior.features[[place]])
            return float(mean[0]), self._trust**2 * float(variance[0])
        slot = int(slots[0])
        M, alpha, m, w = (float(each[slot]) for each in (np.diagonal(factor.M), factor.alpha, factor.m, factor.w))
        return posterior.prior_mean + m - alpha / M, self._trust**2 * max(1 / M - 1 / w, 0.0)


def _agrees(value: Value, noise: float, steps: float) -> bool:
    """Whether a value is like the others of its candidate."""
    others = value.others
    if others.n < 1:
        return False
    freedom = POOLED + max(others.n - 1, 0.0)
    own = (POOLED * noise + others.squares) / freedom
    limit = float(stdtrit(max(min(freedom, steps - 1), MIN_FREEDOM), 1 - RARE))
    return abs(value.y - others.mean) <= limit * sqrt(max(own, noise) * (1 + 1 / others.n))
