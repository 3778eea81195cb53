"""The user's function, called for some repeats of a candidate, and what it returns, checked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite, nan
from threading import Event
from time import perf_counter
from typing import Any, cast

import numpy as np

from ostinato.checks import from_truth, number
from ostinato.errors import Failed, InvalidFeedback, InvalidSetting
from ostinato.measurements.outcomes import REAL, Outcome
from ostinato.measurements.tally import LARGEST


class Enough(Event):
    """A sign to threads. What is sent to other processes is a sign of their own."""

    def __reduce__(self) -> tuple[type["Enough"], tuple[()]]:
        return Enough, ()


@dataclass(frozen=True)
class Measure:
    """Calls the user's function for repeats of a candidate; measurements that failed are NaN."""

    f: Callable[..., Any]
    vectorized: bool
    catch: tuple[type[Exception], ...]
    outcome: Outcome = REAL
    enough: Enough = field(default_factory=Enough, repr=False, compare=False)

    def __call__(
        self,
        candidate: Any,
        repeats: int,
        values: list[Any],
        report: Callable[[int], object] = int,
        patience: float = inf,
    ) -> None:
        """Append what comes to `values`, one by one, so that what came before an error is not lost.

        patience: seconds after which no more repeats are begun; single calls for all repeats know no such limit.
        """
        if self.vectorized:
            values.extend(self._all(candidate, repeats))
            return
        start = perf_counter()
        for _ in range(repeats):
            values.append(self._one(candidate))
            report(len(values))
            if perf_counter() - start > patience or self.enough.is_set():
                return

    def finish(self) -> None:
        """Begin no more repeats, where this is heard (in threads)."""
        self.enough.set()

    def stop(self) -> None:
        """Whatever it is doing is wanted no more; where the function can be told so (`stop`), it is."""
        getattr(self.f, "stop", int)()

    def _one(self, candidate: Any) -> float:
        try:
            value = self.f(candidate)
        except (Failed, *self.catch):
            return nan
        value = from_truth(value) if self.outcome.binary else value
        result = nan if value is None else number(value)
        if not (isfinite(result) or _is_nan(value)) or abs(result) > LARGEST:
            raise InvalidFeedback(
                f"f returned {value!r} for {candidate}: it must return one finite number a call, below {LARGEST:g}, or "
                "NaN or None where the measurement failed."
            )
        self._check(result, candidate)
        return result

    def _check(self, value: float, candidate: Any) -> None:
        try:
            self.outcome.check(value)
        except InvalidFeedback as error:
            raise InvalidFeedback(f"f returned {value:g} for {candidate}. {error}") from None

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
        values = self.outcome.values(answer)
        wrong = np.flatnonzero(~(np.abs(values) <= LARGEST) & ~np.isnan(values))
        if len(wrong):
            raise InvalidFeedback(
                f"f returned {values[wrong[0]]!r} for {candidate}: it must return numbers below {LARGEST:g}, or NaN "
                "where a measurement failed."
            )
        return values.tolist()


def _is_nan(value: Any) -> bool:
    return value is None or (isinstance(value, (float, np.floating)) and value != value)


def exceptions(catch: Any) -> tuple[type[Exception], ...]:
    given: tuple[Any, ...] = tuple(cast("list[Any]", catch)) if isinstance(catch, (list, tuple)) else (catch,)
    if not all(isinstance(each, type) and issubclass(each, Exception) for each in given):
        raise InvalidSetting(f"catch={catch!r} names no exceptions: give classes, as in catch=(TimeoutError, OSError).")
    return given
