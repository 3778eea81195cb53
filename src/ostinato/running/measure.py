"""The user's function, called for some repeats of a candidate, and what it returns, checked."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf, isfinite, isnan, nan
from threading import Event
from time import monotonic, perf_counter
from typing import Any, cast

import numpy as np

from ostinato.checks import from_truth, number
from ostinato.errors import Failed, InvalidFeedback, InvalidSetting, Outage
from ostinato.measurements.outcomes import REAL, Outcome
from ostinato.measurements.tally import LARGEST
from ostinato.running.on_failure import COUNT, OnFailure


class TimedValues(list[float]):
    """Values as they come, and when each of them came, by the clock of the process that measures."""

    def __init__(self, values: Iterable[float] = (), came: Iterable[float] = ()) -> None:
        super().__init__(values)
        self.came = list(came)

    def __reduce__(self) -> "tuple[type[TimedValues], tuple[list[float], list[float]]]":
        """To other processes, and back."""
        return TimedValues, (list(self), self.came)

    def append(self, value: float) -> None:
        self.came.append(monotonic())  # first: whoever looks meanwhile finds a moment for every value
        super().append(value)

    def extend(self, values: Iterable[float]) -> None:
        for value in values:
            self.append(value)


class StopSignal(Event):
    """Tells threads to begin no more repeats. A copy in another process is a signal of its own."""

    def __reduce__(self) -> tuple[type["StopSignal"], tuple[()]]:
        return StopSignal, ()


@dataclass(frozen=True)
class Measure:
    """Calls the user's function for repeats of a candidate; measurements that failed are NaN.

    said: what the last one that failed said, where it runs in this process.
    """

    f: Callable[..., Any]
    vectorized: bool
    catch: tuple[type[Exception], ...]
    outcome: Outcome = REAL
    on_failure: OnFailure = COUNT
    stop_signal: StopSignal = field(default_factory=StopSignal, repr=False, compare=False)
    said: list[str] = field(default_factory=list[str], repr=False, compare=False)

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
        Nor are they after many failures in a row.
        """
        if self.vectorized:
            values.extend(self._all(candidate, repeats))
            return
        start, in_a_row = perf_counter(), 0
        for _ in range(repeats):
            values.append(self._one(candidate))
            report(len(values))
            in_a_row = in_a_row + 1 if isnan(values[-1]) else 0
            if (
                perf_counter() - start > patience
                or self.stop_signal.is_set()
                or in_a_row >= self.on_failure.most_in_a_row
            ):
                return

    def finish(self) -> None:
        """Begin no more repeats, where this is heard (in threads)."""
        self.stop_signal.set()

    def stop(self) -> None:
        """Whatever it is doing is wanted no more; where the function can be told so (`stop`), it is."""
        getattr(self.f, "stop", int)()

    @property
    def complaint(self) -> str:
        """What the last failure said; nothing where that is not known."""
        own = getattr(self.f, "complaint", "")
        return own if isinstance(own, str) and own else self.said[-1] if self.said else ""

    def _failed(self, error: Exception) -> None:
        """An error that means that a measurement failed, or that none can be made; the latter is the loop's matter."""
        if isinstance(error, Outage) and self.on_failure.pauses:
            raise error
        self.said[:] = [str(error) or type(error).__name__]

    def _one(self, candidate: Any) -> float:
        try:
            value = self.f(candidate)
        except (Failed, Outage, *self.catch) as error:
            self._failed(error)
            return nan
        value = from_truth(value) if self.outcome.binary else value
        result = nan if value is None else number(value)
        if not (isfinite(result) or _is_nan(value)) or abs(result) > LARGEST:
            raise InvalidFeedback(
                f"Measuring {candidate} gave {value!r}: it must give one finite number below {LARGEST:g}, or NaN or "
                "None where the measurement failed."
            )
        self._check(result, candidate)
        return result

    def _check(self, value: float, candidate: Any) -> None:
        try:
            self.outcome.check(value)
        except InvalidFeedback as error:
            raise InvalidFeedback(f"Measuring {candidate} gave {value:g}. {error}") from None

    def _all(self, candidate: Any, repeats: int) -> Any:
        try:
            answer = np.asarray(self.f(candidate, repeats))
        except (Failed, Outage, *self.catch) as error:
            self._failed(error)
            return [nan] * repeats
        if answer.shape != (repeats,):
            raise InvalidFeedback(
                f"Measuring {candidate} {repeats} times gave shape {answer.shape}: with vectorized=True it must give "
                f"{repeats} numbers."
            )
        values = self.outcome.values(answer)
        wrong = np.flatnonzero(~(np.abs(values) <= LARGEST) & ~np.isnan(values))
        if len(wrong):
            raise InvalidFeedback(
                f"Measuring {candidate} gave {values[wrong[0]]!r}: it must give numbers below {LARGEST:g}, or NaN "
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
