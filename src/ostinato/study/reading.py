"""What a study was told, read: values, values with standard errors, averages."""

from typing import Any

import numpy as np

from ostinato.checks import counted, shown
from ostinato.errors import InvalidFeedback
from ostinato.storage.values import Told, told_summary, told_values
from ostinato.tally import Statistics, as_values


def read_values(values: Any, stderr: Any) -> Told:
    y = as_values(values)
    if stderr is None:
        return told_values(y)
    try:
        errors = np.broadcast_to(np.asarray(stderr, dtype=np.float64), y.shape)
    except (TypeError, ValueError):
        raise InvalidFeedback(
            f"stderr={shown(stderr)} does not fit {counted(len(y), 'measurement')}: give one number for all, or one "
            "for each."
        ) from None
    return told_values(y, errors)


def read_one(value: float, stderr: float | None = None, count: float | None = None, std: float | None = None) -> Told:
    if count is None or count == 1:
        return read_values([value], stderr)
    if count != int(count):
        raise InvalidFeedback(f"count={count} is no count of measurements: give a whole number.")
    return told_summary(Statistics.of_summary(int(count), value, std))
