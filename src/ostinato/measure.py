"""The user's function, called for some repeats of a candidate, and what it returns, checked."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any, cast

import numpy as np

from ostinato.checks import number
from ostinato.errors import Failed, InvalidFeedback, InvalidSetting


@dataclass(frozen=True)
class Measure:
    """Calls the user's function for repeats of a candidate; measurements that failed are NaN."""

    f: Callable[..., Any]
    vectorized: bool
    catch: tuple[type[Exception], ...]

    def __call__(self, candidate: Any, repeats: int, values: list[Any], report: Callable[[int], object] = int) -> None:
        """Append what comes to `values`, one by one, so that what came before an error is not lost."""
        if self.vectorized:
            values.extend(self._all(candidate, repeats))
            return
        for _ in range(repeats):
            values.append(self._one(candidate))
            report(len(values))

    def _one(self, candidate: Any) -> float:
        try:
            value = self.f(candidate)
        except (Failed, *self.catch):
            return nan
        result = nan if value is None else number(value)
        if not isfinite(result) and not _is_nan(value):
            raise InvalidFeedback(
                f"f returned {value!r} for {candidate}: it must return one finite number a call, or NaN or None where "
                "the measurement failed."
            )
        return result

    def _all(self, candidate: Any, repeats: int) -> Any:
        try:
            answer = np.asarray(self.f(candidate, repeats))
        except (Failed, *self.catch):
            return [nan] * repeats
        if answer.shape != (repeats,):
            raise InvalidFeedback(
                f"f returned shape {answer.shape} for {repeats} repeats of {candidate}: with vectorized=True it must "
                f"return {repeats} numbers."
            )
        return answer.tolist()


def _is_nan(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and value != value)


def exceptions(catch: Any) -> tuple[type[Exception], ...]:
    given: tuple[Any, ...] = tuple(cast("list[Any]", catch)) if isinstance(catch, (list, tuple)) else (catch,)
    if not all(isinstance(each, type) and issubclass(each, Exception) for each in given):
        raise InvalidSetting(f"catch={catch!r} names no exceptions: give classes, as in catch=(TimeoutError, OSError).")
    return given
