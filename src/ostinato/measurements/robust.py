"""Single values that are far off count less, where the user asked for that (`robust=True`).

A value counts as no further off than three standard deviations: from the median of the values told with it, or where
these are few from what was expected of its candidate when it was asked for. The first values of a run are looked at
together, again and again, since what is far off shows only when there is more. Of what nobody asked for nothing was
expected: it is compared with all values so far.

What is far off is so by facts alone (the order told, and what was expected when a batch was decided, which is kept with
the batch): so a study that is opened elsewhere comes to the same.
"""

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from ostinato.arrays import Vector
from ostinato.measurements.feedback import Feedback
from ostinato.measurements.tally import Statistics, Tally

Limits: TypeAlias = tuple[float, float, float]  # what is expected, its standard deviation, and that of noise alone
FAR = 3.0  # standard deviations of the noise beyond which a value counts as just so far
MIN_FIRST_VALUES = 5  # first values of a run from which their median says what is far off
WIDENED = 2.5  # the median deviation of normal values is their standard deviation over 1.48; of few it is uncertain
MIN_VALUES = 3  # values below which their median says nothing, and what was expected takes its place
EARLY_STEPS, EARLY_CANDIDATES = 10, 5  # measurements, and candidates, until which the first values are looked at again


class RobustTally:
    """What was told so far, values that are far off brought near."""

    def __init__(self, sign: int, *, by_setup: bool) -> None:
        self._sign, self._by_setup = sign, by_setup
        self._first: list[tuple[int, int, Feedback]] = []  # candidate, set-up and feedback of the first values
        self._values: list[Vector] = []  # all single values, in the order told
        self._steps, self._seen = 0, set[int]()
        self._tally = Tally(by_setup=by_setup)

    @property
    def early(self) -> bool:
        """Whether the first values are still looked at together."""
        return not (len(self._seen) >= EARLY_CANDIDATES and self._steps >= EARLY_STEPS)

    def add(self, feedback: Mapping[int, Feedback], setup: int, limits: Limits | None) -> dict[int, Statistics] | None:
        """What some feedback adds to the tally by candidate; None where the whole tally is another one now.

        limits: what was expected of the candidate, where it was asked for.
        """
        early, new = self.early, {number: each for number, each in feedback.items() if each.statistics.n}
        usual = None if early else limits or self._usual()
        told = {number: self._limited(each, usual) for number, each in new.items()}
        for number, each in new.items():
            self._steps += int(each.statistics.n)
            self._seen.add(number)
            if each.values is not None:
                self._values.append(self._sign * each.values)
        if early:
            self._first += [(number, setup, each) for number, each in new.items()]
            self._tally = self._of_first()
            return None
        self._tally = self._tally.plus(told, setup)
        return told

    def tally(self) -> Tally:
        """All that counts."""
        return self._tally

    def _of_first(self) -> Tally:
        """The first values, limited from their own median, or where they are few, from that of all."""
        everything = np.concatenate(self._values) if self._values else np.empty(0)
        tally = Tally(by_setup=self._by_setup)
        for candidate, setup, each in self._first:
            own = None if each.values is None else self._sign * each.values
            among = everything if own is None or len(own) < MIN_VALUES else own
            middle, spread = _middle(among)
            few = len(among) < (MIN_FIRST_VALUES if among is everything else MIN_VALUES)
            certain = own is None or few or spread == 0
            tally.add(candidate, self._limited(each, None if certain else (middle, spread, spread)), setup)
        return tally

    def _usual(self) -> Limits | None:
        """What is expected of a value of which nothing was said before: one like all others."""
        everything = np.concatenate(self._values) if self._values else np.empty(0)
        middle, spread = _middle(everything)
        return None if len(everything) < MIN_FIRST_VALUES or spread == 0 else (middle, spread, spread)

    def _limited(self, feedback: Feedback, limits: Limits | None) -> Statistics:
        if limits is None or feedback.values is None:
            return feedback.statistics if self._sign > 0 else -feedback.statistics
        return Statistics.of_values(limited(self._sign * feedback.values, *limits))


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
    if len(values) >= MIN_VALUES:
        middle, std = float(np.median(values)), noise_std
    else:
        middle, std = expected, expected_std
    return np.clip(values, middle - FAR * std, middle + FAR * std)
