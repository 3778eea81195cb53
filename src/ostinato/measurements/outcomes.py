"""What kind of number a measurement is: any, yes or no, a count, or an amount. It says which values there are, and how
the noise of a measurement follows its mean μ:

    real        any number                   noise that is the same everywhere, unless it is said to vary
    binary      0 or 1                       μ(1 − μ)
    count       0, 1, 2, …                   φ μ, φ ≥ 1: Poisson's law, or more scatter than that
    positive    0 or more                    φ μ²: noise in proportion to the value

An interval within the bounds is that of the normal law cut off at them. With a = (low − m)/s, b = (high − m)/s and
Z = Φ(b) − Φ(a) its mean is m + s (φ(a) − φ(b))/Z, and its quantile at u is m + s Φ⁻¹(Φ(a) + u Z).
"""

from dataclasses import dataclass, field
from math import inf, pi
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.checks import brief, from_truth, is_whole
from ostinato.errors import InvalidFeedback, InvalidSetting
from ostinato.measurements.tally import Statistics

OutcomeName: TypeAlias = Literal["real", "binary", "count", "positive"]
KINDS = {"b": "true and false", "U": "text", "S": "bytes", "c": "complex numbers", "M": "dates", "O": "other things"}
WHOLE = 1e-3  # successes of a trial: means are told with few digits
FAR = 8.0  # standard deviations beyond a bound, at most, where a mean is taken to lie


@dataclass(frozen=True)
class Outcome:
    """A kind of measurement. `words` say what its values are; `dispersed`: whether φ is to be learned."""

    name: str
    low: float = -inf
    high: float = inf
    whole: bool = False
    dispersed: bool = True
    words: str = "any finite number"
    real: bool = field(init=False)
    binary: bool = field(init=False)

    def __post_init__(self) -> None:
        vars(self).update(real=self.low == -inf, binary=self.high == 1)

    def variance(self, mean: Vector) -> Vector:
        """The noise of one measurement, over φ, where its mean is μ."""
        if self.whole:
            return mean * (1 - mean) if self.binary else mean
        return mean**2

    def scale(self, mean: float) -> float:
        """How far means differ where their logits, or their logarithms, differ by 1: dμ/dη."""
        return mean * (1 - mean) if self.binary else mean

    # What is told

    def single(self, given: Any) -> float:
        """One measurement, as a number; NaN for one that failed."""
        values = self.values([given])
        return float(values[0])

    def values(self, given: Any) -> Vector:
        """Measurements as a flat array, NaN for those that failed; an InvalidFeedback where one is not of this kind.

        They are not yet checked to be finite.
        """
        given = _from_truths(given) if self.binary else given
        try:
            y = np.asarray(given)
            if y.dtype.kind == "O":
                listed = [np.nan if each is None else each for each in y.ravel().tolist()]
                large = [float(each) if type(each) is int else each for each in listed]  # beyond NumPy's own integers
                y = np.asarray(large).reshape(y.shape)
            if y.dtype.kind not in "iuf":
                raise TypeError(f"they hold {KINDS.get(y.dtype.kind, y.dtype.name)}")
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidFeedback(
                f"The measurements {brief(given)} are not numbers ({error}): give one number a measurement. (For "
                "true and false there is outcome='binary'.)"
            ) from None
        if y.ndim > 1:
            raise InvalidFeedback(
                f"The measurements have shape {y.shape}: give a flat sequence, one number a measurement."
            )
        if y.size == 0:
            raise InvalidFeedback("No measurements were given: tell at least one, or close the batch to give it up.")
        y = y.astype(np.float64).ravel()
        if not self.real:
            wrong = np.flatnonzero(self._wrong(y))
            if len(wrong):
                raise self._refused(f"{y[wrong[0]]:g}")
        return y

    def has(self, value: float) -> bool:
        """Whether a finite number is one of this kind."""
        return self.real or not bool(self._wrong(np.array([value]))[0])

    def _wrong(self, y: Vector) -> NDArray[np.bool_]:
        """Which numbers are not of this kind."""
        return (y < self.low) | (y > self.high) | (self.whole & np.isfinite(y) & (y != np.floor(y)))

    def check(self, value: float) -> None:
        """Whether a value is one of this kind, and finite; NaN, a measurement that failed, is of every kind."""
        y = self.values([value])
        if not np.isnan(y[0]):
            Statistics.of_values(y)

    def summary(self, n: Any, mean: Any, std: Any) -> Statistics:
        """From count, mean and sample standard deviation; of yes and no the mean says all."""
        told = Statistics.of_summary(n, mean, 0.0 if self.binary and std is None else std)
        if not self.low <= told.mean <= self.high:
            raise self._refused(f"mean={mean!r}")
        if not self.binary:
            return told
        successes = told.n * told.mean
        if abs(successes - round(successes)) > WHOLE * told.n:
            raise self._refused(f"mean={mean!r} of n={n!r}, {successes:g} successes,")
        return Statistics(told.n, told.mean, told.n * told.mean * (1 - told.mean))

    def successes(self, successes: Any, trials: Any) -> Statistics:
        """From how often it was tried, and how often the answer was yes."""
        if not self.binary:
            raise InvalidFeedback(
                "successes= and trials= are for outcome='binary': set that, or give the values, or n=, mean= and std=."
            )
        if not (is_whole(successes) and is_whole(trials) and 0 <= successes <= trials and trials >= 1):
            raise InvalidFeedback(
                f"successes={successes!r}, trials={trials!r} are not counts: give whole numbers, at least one trial, "
                "and no more successes than trials."
            )
        return self.summary(int(trials), successes / trials, None)

    def _refused(self, what: str) -> InvalidFeedback:
        counts = ", or successes= and trials=" if self.binary else ""
        return InvalidFeedback(f"{what} is not a measurement of outcome={self.name!r}: give {self.words}{counts}.")

    # What is answered

    def inside(self, mean: Vector, std: Vector) -> tuple[Vector, Vector]:
        """Mean and standard deviation of what is believed, within the bounds."""
        if self.real:
            return mean, std
        m, s = self._reachable(mean, std)
        a, b = (self.low - m) / s, (self.high - m) / s
        Z = _between(a, b)
        at_a, at_b = _density(a), _density(b)
        shift = (at_a - at_b) / Z
        spread = 1 + (a * at_a - np.where(np.isfinite(b), b, 0.0) * at_b) / Z - shift**2
        inside = np.clip(m + s * shift, self.low, self.high)
        return inside, s * np.sqrt(np.maximum(spread, 0.0))

    def interval(self, mean: Vector, std: Vector, width: Any) -> tuple[Vector, Vector]:
        """The interval that without bounds would be mean ± width·std."""
        if self.real:
            return mean - width * std, mean + width * std
        m, s = self._reachable(mean, std)
        a, b = (self.low - m) / s, (self.high - m) / s
        Z = _between(a, b)
        ends = [self._quantile(m, s, a, Z, _below(u)) for u in (-np.asarray(width), np.asarray(width))]
        return np.clip(ends[0], self.low, self.high), np.clip(ends[1], self.low, self.high)

    def _quantile(self, m: Vector, s: Vector, a: Vector, Z: Vector, u: Any) -> Vector:
        """Counted from the tail that a lies in, which keeps the digits."""
        from scipy.special import ndtri

        above, below = cast("Vector", ndtri(_below(-a) - u * Z)), cast("Vector", ndtri(_below(a) + u * Z))
        return m + s * np.where(a > 0, -above, below)

    def _reachable(self, mean: Vector, std: Vector) -> tuple[Vector, Vector]:
        """Means no further outside than can be computed with, and standard deviations above 0."""
        s = np.maximum(np.asarray(std, dtype=np.float64), np.finfo(np.float64).tiny ** 0.25)
        return np.clip(mean, self.low - FAR * s, self.high + FAR * s), s


def _between(a: Vector, b: Vector) -> Vector:
    """Φ(b) − Φ(a), by the tails."""
    return np.where(a > 0, _below(-a) - _below(-b), _below(b) - _below(a))


def _below(z: Any) -> Vector:
    """Φ(z)."""
    from scipy.special import ndtr  # it takes a fifth of a second to import, and what is read of a study needs none

    return cast("Vector", ndtr(z))


def _density(z: Vector) -> Vector:
    return np.exp(-0.5 * z * z) / np.sqrt(2 * pi)


def _from_truths(given: Any) -> Any:
    """True and False as 1 and 0, among numbers and None too."""
    if isinstance(given, (list, tuple)):
        return [from_truth(each) for each in cast("list[Any]", given)]
    return given.astype(np.float64) if getattr(given, "dtype", None) == np.bool_ else from_truth(given)


REAL = Outcome("real")
OUTCOMES: dict[str, Outcome] = {
    "real": REAL,
    "binary": Outcome("binary", 0.0, 1.0, True, False, "0 or 1, True or False"),
    "count": Outcome("count", 0.0, inf, True, True, "whole numbers, 0 or more"),
    "positive": Outcome("positive", 0.0, inf, False, True, "numbers, 0 or more"),
}


def outcome_of(name: Any) -> Outcome:
    if not isinstance(name, str) or name not in OUTCOMES:
        raise InvalidSetting(
            f"outcome={brief(name)} is unknown: give 'real' (any number), 'binary' (0 or 1), 'count' (0, 1, 2, …) or "
            "'positive' (0 or more, noise in proportion)."
        )
    return OUTCOMES[name]
