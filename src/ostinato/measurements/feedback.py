"""What was told of one candidate, read: values or statistics, measurements that failed, standard errors, outliers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.errors import InvalidFeedback
from ostinato.measurements.history import ENDS, Measured
from ostinato.measurements.outcomes import Outcome
from ostinato.measurements.tally import Statistics, Tally

Limits: TypeAlias = tuple[float, float, float]  # what is expected, its standard deviation, and that of noise alone
FAR = 3.0  # standard deviations of the noise beyond which a value counts as just so far
ENOUGH = 5  # first values of a run from which their median says what is far off
WIDENED = 2.5  # the median deviation of normal values is their standard deviation over 1.48; of few it is uncertain
FEW = 3  # values below which their median says nothing, and what was expected takes its place


@dataclass(frozen=True)
class Feedback:
    """Statistics of what succeeded, how many failed, and the values themselves where they were told.

    `places` are those of the values among all that was told, the failed ones included; `failed_at` those of the others.
    """

    statistics: Statistics
    failed: int = 0
    values: Vector | None = None
    places: NDArray[np.int64] | None = None
    failed_at: NDArray[np.int64] | None = None

    @property
    def n(self) -> int:
        """Measurements that succeeded."""
        return int(self.statistics.n)

    @property
    def answered(self) -> int:
        return self.n + self.failed

    @property
    def singly(self) -> bool:
        """Whether its measurements are known one by one."""
        return self.places is not None

    @property
    def all_places(self) -> list[int]:
        """Places of all measurements, those that failed included, in order."""
        return sorted([*self._places.tolist(), *self._failed.tolist()])

    @property
    def all_values(self) -> list[float]:
        """Their values, NaN for those that failed."""
        by_place = dict(zip(self._places.tolist(), np.asarray(self.values).tolist(), strict=True))
        return [by_place.get(place, np.nan) for place in self.all_places]

    @property
    def _places(self) -> NDArray[np.int64]:
        return np.zeros(0, dtype=np.int64) if self.places is None else self.places

    @property
    def _failed(self) -> NDArray[np.int64]:
        return np.zeros(0, dtype=np.int64) if self.failed_at is None else self.failed_at

    def measured(self, sign: int, told: int, failed: int, limits: Limits | None = None) -> Measured:
        """With the lowest and highest values by themselves, numbered on from what was told before, or failed."""
        statistics, at = self.turned(sign, limits), told + failed + self.answered
        if self.values is None or not self.n:
            return Measured(statistics, (), statistics, at if self.n else 0)
        y = sign * self.values
        order, backwards = np.argsort(y, kind="stable"), np.argsort(-y, kind="stable")
        ends = order if len(y) <= 2 * ENDS else np.unique(np.concatenate([order[:ENDS], backwards[:ENDS]]))
        places = np.arange(len(y)) if self.places is None else self.places
        points = sorted((told + failed + int(places[place]) + 1, float(y[place])) for place in ends.tolist())
        rest = np.delete(y, ends)
        return Measured(statistics, tuple(points), Statistics.of_values(rest) if len(rest) else Statistics(), at)

    def turned(self, sign: int, limits: Limits | None) -> Statistics:
        """With the sign of values turned, and values that are far off brought near, where limits are given."""
        if limits is None or self.values is None:
            return self.statistics if sign > 0 else -self.statistics
        return Statistics.of_values(limited(sign * self.values, *limits))


class Early:
    """The first feedback of a run, kept as it came: what is far off shows only when there is more of it."""

    def __init__(self, sign: int) -> None:
        self._sign = sign
        self._entries: list[tuple[int, int, Feedback]] = []

    def add(self, feedback: Mapping[int, Feedback], setup: int) -> None:
        self._entries += [(candidate, setup, each) for candidate, each in feedback.items() if each.n]

    def tally(self, *, by_setup: bool) -> Tally:
        """All of it, with values that are far off brought near: from their own median, or where they are few, from
        that of all."""
        told = [each.values for _, _, each in self._entries if each.values is not None]
        everything = self._sign * np.concatenate(told) if told else np.empty(0)
        tally = Tally(by_setup=by_setup)
        for candidate, setup, each in self._entries:
            own = each.values if each.values is None else self._sign * each.values
            among = everything if own is None or len(own) < FEW else own
            middle, spread = _middle(among)
            few = len(among) < (ENOUGH if among is everything else FEW)
            certain = own is None or few or spread == 0
            tally.add(candidate, each.turned(self._sign, None if certain else (middle, spread, spread)), setup)
        return tally


def _middle(values: Vector) -> tuple[float, float]:
    """Median, and the standard deviation that the median of the deviations stands for, widened while values are few."""
    if not len(values):
        return 0.0, 0.0
    middle = float(np.median(values))
    return middle, WIDENED * float(np.median(np.abs(values - middle)))


def limited(values: Vector, expected: float, expected_std: float, noise_std: float) -> Vector:
    """Values no further off than the noise explains: from their median, or where they are few, from what was expected.

    A lone value may be a surprise that is true; it then moves what is expected, and is believed when it comes again.
    """
    if len(values) >= FEW:
        middle, std = float(np.median(values)), noise_std
    else:
        middle, std = expected, expected_std
    return np.clip(values, middle - FAR * std, middle + FAR * std)


class Given(msgspec.Struct, frozen=True):
    """What a user said of one candidate: values, with standard errors or without, or statistics of them."""

    values: Any = None
    stderr: Any = None
    n: Any = None
    mean: Any = None
    std: Any = None
    successes: Any = None
    trials: Any = None

    def read(self, outcome: Outcome) -> Feedback:
        """Checked, as an outcome of its kind."""
        summed = not (self.n is None and self.mean is None and self.std is None)
        tried = not (self.successes is None and self.trials is None)
        if (self.values is not None) + summed + tried > 1:
            raise InvalidFeedback(
                "Both values and statistics were given: give the values, or n=, mean= and std=, or successes= and "
                "trials=."
            )
        if self.values is not None:
            return _of_values(self.values, self.stderr, outcome)
        if self.stderr is not None:
            raise InvalidFeedback("stderr was given without values: give the values that it belongs to.")
        if tried:
            return Feedback(outcome.successes(self.successes, self.trials))
        if self.n is None or self.mean is None:
            raise InvalidFeedback("No feedback was given: give the measured values, or n=, mean= and std=.")
        return Feedback(outcome.summary(self.n, self.mean, self.std))


def read_many(candidates: list[int], given: Given, outcome: Outcome) -> dict[int, Feedback]:
    """The feedback for each candidate, from one value for each place in the list, or successes of so many trials."""
    if given.successes is not None and given.trials is not None and given.values is None:
        return _successes_of_many(candidates, given, outcome)
    if given.values is None:
        raise InvalidFeedback(
            f"{len(candidates)} candidates were given without values: give one for each, or successes= and trials= "
            "for each; other statistics are told for one candidate at a time."
        )
    _one_each("values", given.values, candidates)
    if given.stderr is not None:
        raise InvalidFeedback("stderr goes with one candidate at a time: observe them one by one.")
    values = given.values
    y = outcome.values(values)
    if not np.isnan(y).all():
        Statistics.of_values(y[~np.isnan(y)])  # every one that succeeded is a finite number
    by_candidate: dict[int, list[int]] = {}
    for place, candidate in enumerate(candidates):
        by_candidate.setdefault(candidate, []).append(place)
    return {candidate: told(y[places], np.array(places)) for candidate, places in by_candidate.items()}


def _successes_of_many(candidates: list[int], given: Given, outcome: Outcome) -> dict[int, Feedback]:
    _one_each("successes", given.successes, candidates)
    trials: Any = [given.trials] * len(candidates) if np.ndim(given.trials) == 0 else given.trials
    _one_each("trials", trials, candidates)
    told: dict[int, Statistics] = {}
    for candidate, successes, each in zip(candidates, list(given.successes), list(trials), strict=True):
        told[candidate] = told.get(candidate, Statistics()) + outcome.successes(successes, each)
    return {candidate: Feedback(statistics) for candidate, statistics in told.items()}


def _one_each(name: str, given: Any, candidates: list[int]) -> None:
    if np.shape(given) != (len(candidates),):
        raise InvalidFeedback(
            f"{len(candidates)} candidates came with {name} of shape {np.shape(given)}: give one for each."
        )


def _of_values(values: Any, stderr: Any, outcome: Outcome) -> Feedback:
    y = outcome.values(values)
    if stderr is None:
        return told(y, np.arange(len(y)))
    fine = ~np.isnan(y)
    failed = int(len(y) - np.count_nonzero(fine))
    if failed and np.ndim(stderr) == 1 and len(stderr) == len(y):
        stderr = np.asarray(stderr)[fine]
    return Feedback(Statistics.of_weighted(y[fine], stderr) if fine.any() else Statistics(), failed)


def told(y: Vector, places: NDArray[np.int64]) -> Feedback:
    """Values, NaN for those that failed."""
    fine = ~np.isnan(y)
    failed = int(len(y) - np.count_nonzero(fine))
    statistics = Statistics.of_values(y[fine]) if fine.any() else Statistics()
    return Feedback(statistics, failed, y[fine], places[fine], places[~fine])
