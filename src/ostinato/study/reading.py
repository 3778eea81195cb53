"""What a study was told, read: values, values with standard errors, averages, successes of so many trials."""

from collections.abc import Mapping
from math import isfinite
from typing import Any, cast

import numpy as np
from msgspec import UNSET

from ostinato.checks import brief, counted
from ostinato.errors import InvalidFeedback
from ostinato.measurements.outcomes import REAL, Outcome
from ostinato.measurements.tally import LARGEST
from ostinato.storage.values import StoredFeedback, told_summary, told_value, told_values

NAMES = ("value", "stderr", "count", "std", "successes", "trials")  # of what `read_one` takes
GIVE_VALUES = "give values, with None or nan for a measurement that failed; or successes and trials"
GIVE_VALUE = "give a value, None or nan for a measurement that failed; or successes and trials"


def read_values(values: Any, stderr: Any, outcome: Outcome = REAL) -> StoredFeedback:
    if stderr is None and outcome.real and isinstance(values, list) and (one := _one_of(cast("list[Any]", values))):
        return one
    y = outcome.values(values)
    if stderr is None:
        return told_values(y)
    try:
        errors = np.broadcast_to(np.asarray(stderr, dtype=np.float64), y.shape)
    except (TypeError, ValueError):
        raise InvalidFeedback(
            f"stderr={brief(stderr)} does not fit {counted(len(y), 'measurement')}: give one number for all, or one "
            "for each."
        ) from None
    return told_values(y, errors)


def _one_of(values: list[Any]) -> StoredFeedback | None:
    """A single number, as most answers of instruments are, in a tenth of the time; None for all else."""
    value = values[0] if len(values) == 1 else None
    return told_value(value) if type(value) is float and abs(value) <= LARGEST else None


def read_answer(values: Any, stderr: Any, successes: Any, trials: Any, outcome: Outcome) -> StoredFeedback:
    """Values, or successes of so many trials, of a task; UNSET for values that were left out."""
    if successes is None and trials is None:
        if values is UNSET:
            raise InvalidFeedback(f"No values were given: {GIVE_VALUES}.")
        return read_values(values, stderr, outcome)
    if values is not None and values is not UNSET:
        raise InvalidFeedback("Both values and successes were given: give one of them.")
    return read_trials(successes, trials, outcome)


def read_trials(successes: Any, trials: Any, outcome: Outcome) -> StoredFeedback:
    """One value a trial, successes first: so that the same answer is told in the same words."""
    counts = outcome.successes(successes, trials)
    return told_values(np.repeat([1.0, 0.0], [int(successes), int(counts.n) - int(successes)]))


def read_pair(given: Any, outcome: Outcome) -> tuple[Any, StoredFeedback]:
    """A candidate, and what was measured of it by its names."""
    pair: Any = cast("Any", given) if isinstance(given, (tuple, list)) else ()
    if len(pair) != 2 or not isinstance(pair[1], Mapping):
        raise InvalidFeedback(
            f"{brief(given)} is not an observation: give a candidate and what was measured of it, as in "
            "(0, {'value': 1.5})."
        )
    unknown = sorted(map(str, pair[1].keys() - set(NAMES)))
    if unknown:
        raise InvalidFeedback(f"{unknown[0]!r} says nothing of a measurement: give {', '.join(NAMES)}.")
    return pair[0], read_one(**pair[1], outcome=outcome)


def read_one(
    value: Any = UNSET,
    stderr: float | None = None,
    count: float | None = None,
    std: float | None = None,
    successes: float | None = None,
    trials: float | None = None,
    *,
    outcome: Outcome = REAL,
) -> StoredFeedback:
    """A value, None for one that failed; an average of so many; or successes of so many trials."""
    if successes is not None or trials is not None:
        return told_summary(outcome.successes(_whole("successes", successes), _whole("trials", trials)))
    if value is UNSET:
        raise InvalidFeedback(f"An observation came without a value: {GIVE_VALUE}.")
    if count is None or count == 1:
        return read_values([value], stderr, outcome)
    return told_summary(outcome.summary(_whole("count", count), value, std))


def _whole(name: str, value: float | None) -> int:
    if value is None or not isfinite(value) or value != int(value):
        raise InvalidFeedback(f"{name}={value} is not a count of measurements: give a whole number.")
    return int(value)
