"""What was told of one candidate, read: values or statistics, measurements that failed, standard errors."""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.checks import brief, counted
from ostinato.errors import InvalidFeedback
from ostinato.measurements.history import ENDS, Measured
from ostinato.measurements.outcomes import REAL, Outcome
from ostinato.measurements.tally import Statistics


@dataclass(frozen=True)
class Feedback:
    """Statistics of what succeeded, how many failed, and the values themselves where they were told.

    `places` are those of the values among all that was told, the failed ones included; `failed_at` those of the others.
    `weighted`: values that came with standard errors, NaN for those that failed, and these. They are kept to be taken
    back or corrected; only their statistics count.
    """

    statistics: Statistics
    failed: int = 0
    values: Vector | None = None
    places: NDArray[np.int64] | range | None = None  # a range where none failed: ten million places take no room
    failed_at: NDArray[np.int64] | None = None
    weighted: tuple[Vector, Vector] | None = None

    @property
    def answered(self) -> int:
        """Measurements that succeeded, or failed."""
        return int(self.statistics.n) + self.failed

    @property
    def singly(self) -> bool:
        """Whether its measurements are known one by one."""
        return self.places is not None or self.weighted is not None

    @property
    def all_places(self) -> list[int]:
        """Places of all measurements, those that failed included, in order."""
        if self.weighted is not None:
            return list(range(self.answered))
        return sorted([*self._places.tolist(), *self._failed.tolist()])

    @property
    def all_values(self) -> list[float]:
        """Their values, NaN for those that failed."""
        if self.weighted is not None:
            return self.weighted[0].tolist()
        by_place = dict(zip(self._places.tolist(), np.asarray(self.values).tolist(), strict=True))
        return [by_place.get(place, np.nan) for place in self.all_places]

    @property
    def _places(self) -> NDArray[np.int64]:
        return np.asarray(() if self.places is None else self.places, dtype=np.int64)

    @property
    def _failed(self) -> NDArray[np.int64]:
        return np.zeros(0, dtype=np.int64) if self.failed_at is None else self.failed_at

    def measured(self, sign: int, told: int, failed: int) -> Measured:
        """With the lowest and highest values by themselves, numbered on from what was told before, or failed."""
        statistics, at = self.statistics if sign > 0 else -self.statistics, told + failed + self.answered
        if self.values is None or not statistics.n:
            return Measured(statistics, (), statistics, at if statistics.n else 0)
        y = sign * self.values
        places: Any = range(len(y)) if self.places is None else self.places
        if len(y) <= 2 * ENDS:
            alone, rest = range(len(y)), Statistics()
        else:
            ends = _ends(y)
            alone, rest = np.flatnonzero(ends).tolist(), Statistics.of_values(y[~ends])
        points = tuple(sorted((told + failed + int(places[place]) + 1, float(y[place])) for place in alone))
        return Measured(statistics, points, rest, at)


class FeedbackInput(msgspec.Struct, frozen=True):
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
            y = outcome.values(self.values)
            alone = self.stderr is None
            return told(y, range(len(y))) if alone else told_weighted(y, _of_all(self.stderr, ~np.isnan(y)))
        if self.stderr is not None:
            raise InvalidFeedback("stderr was given without values: give the values that it belongs to.")
        if tried:
            return Feedback(outcome.successes(_only(self.successes), _only(self.trials)))
        if self.n is None or self.mean is None:
            raise InvalidFeedback(
                "No values were given: give values, with nan for a measurement that failed; or n=, mean= and std=."
            )
        return Feedback(outcome.summary(self.n, self.mean, self.std))


def _only(given: Any) -> Any:
    """The one item of a sequence of one, as a day's table of a single candidate gives it; anything else as it is."""
    return given if np.ndim(given) != 1 or len(given) != 1 else next(iter(given))


def read_none(given: FeedbackInput) -> None:
    """An error where something was measured, and no candidates are given of which."""
    for name in ("values", "successes", "trials", "n", "mean"):
        said = getattr(given, name)
        if said is not None and (name != "trials" or np.ndim(said) > 0) and np.size(said) > 0:
            raise InvalidFeedback(f"No candidates were given, and {name}={brief(said)}: say which were measured.")
    if given.values is None and given.successes is None:
        given.read(REAL)  # says what is missing


def read_many(candidates: list[int], given: FeedbackInput, outcome: Outcome) -> dict[int, Feedback]:
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


def _successes_of_many(candidates: list[int], given: FeedbackInput, outcome: Outcome) -> dict[int, Feedback]:
    _one_each("successes", given.successes, candidates)
    trials: Any = [given.trials] * len(candidates) if np.ndim(given.trials) == 0 else given.trials
    _one_each("trials", trials, candidates)
    told: dict[int, Statistics] = {}
    for candidate, successes, each in zip(candidates, list(given.successes), list(trials), strict=True):
        told[candidate] = told.get(candidate, Statistics()) + outcome.successes(successes, each)
    return {candidate: Feedback(statistics) for candidate, statistics in told.items()}


def _ends(y: Vector) -> NDArray[np.bool_]:
    """Whether each is among the lowest or the highest values; of equal ones the first are."""
    ends = np.zeros(len(y), dtype=np.bool_)
    for values in (y, -y):
        few = np.flatnonzero(values <= np.partition(values, ENDS - 1)[ENDS - 1])
        ends[few[np.argsort(values[few], kind="stable")[:ENDS]]] = True
    return ends


def _one_each(name: str, given: Any, candidates: list[int]) -> None:
    try:
        shape = f"shape {np.shape(given)}"
    except ValueError:  # lists of different lengths
        shape = f"no shape, {brief(given)}"
    if shape != f"shape {(len(candidates),)}":
        raise InvalidFeedback(f"{len(candidates)} candidates came with {name} of {shape}: give one for each.")


def _of_all(stderr: Any, fine: NDArray[np.bool_]) -> Vector:
    """The standard error of every measurement; NaN for failed ones, where they were given for the others only."""
    errors = np.full(fine.shape, np.nan)
    try:
        given = np.asarray(stderr, dtype=np.float64)
        errors[fine if given.shape == (np.count_nonzero(fine),) else slice(None)] = given
    except (TypeError, ValueError):
        raise InvalidFeedback(
            f"stderr={brief(stderr)} does not fit {counted(len(fine), 'measurement')}: give one standard error above 0 "
            "for all, or one for each."
        ) from None
    return errors


def told_weighted(y: Vector, errors: Vector) -> Feedback:
    """Values, NaN for those that failed, with the standard error of each."""
    fine = ~np.isnan(y)
    statistics = Statistics.of_weighted(y[fine], errors[fine]) if fine.any() else Statistics()
    return Feedback(statistics, int(np.count_nonzero(~fine)), weighted=(y, errors))


def told(y: Vector, places: NDArray[np.int64] | range) -> Feedback:
    """Values, NaN for those that failed."""
    fine = ~np.isnan(y)
    if fine.all():
        return Feedback(Statistics.of_values(y), 0, y, places)
    among = np.asarray(places, dtype=np.int64)
    statistics = Statistics.of_values(y[fine]) if fine.any() else Statistics()
    return Feedback(statistics, int(np.count_nonzero(~fine)), y[fine], among[fine], among[~fine])
