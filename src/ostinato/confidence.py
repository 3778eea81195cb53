"""Confidence widths β: how far above the mean a candidate's value may plausibly lie.

Each schedule is a small frozen object that maps the progress of a run to a number; any callable
that does the same may stand in its place. Natural logarithms throughout; log_det is
log det(I + K_t/λ), t is the number of measurements told plus one, δ the chance of ever being wrong.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import log, pi, sqrt
from typing import TypeAlias

import msgspec

from ostinato.checks import fraction, not_negative, positive
from ostinato.errors import InvalidSetting

SURE = 1.0  # standard deviations below its mean, where what is nearly sure of a candidate lies


class Progress(msgspec.Struct, frozen=True):
    """What a schedule may look at."""

    steps: int
    log_det: float
    candidates: int
    columns: int = 1
    budget: int | None = None

    @property
    def t(self) -> int:
        return self.steps + 1


Schedule: TypeAlias = Callable[[Progress], float]


class Scalable(ABC):
    """Schedules can be scaled: ``0.1 * Frequentist(norm_bound=3)``. The proof then no longer covers them."""

    @abstractmethod
    def __call__(self, progress: Progress) -> float: ...

    def __mul__(self, factor: float) -> "Scaled":
        return Scaled(self, factor)

    __rmul__ = __mul__


@dataclass(frozen=True, slots=True)
class Fixed(Scalable):
    """β = constant. What practice uses."""

    value: float

    def __post_init__(self) -> None:
        not_negative("beta", self.value)

    def __call__(self, progress: Progress) -> float:
        return self.value


@dataclass(frozen=True, slots=True)
class Scaled(Scalable):
    """β = factor · schedule. A practical scale factor, outside what is proved."""

    schedule: Schedule
    factor: float

    def __post_init__(self) -> None:
        not_negative("factor", self.factor)

    def __call__(self, progress: Progress) -> float:
        return self.factor * self.schedule(progress)


@dataclass(frozen=True, slots=True)
class Frequentist(Scalable):
    """β = F + (R/√λ) √(log_det + 2 log(1/δ)), for ‖f‖ ≤ F under the kernel.

    `noise_ratio` is R/√λ: the true noise's standard deviation over the one given to the optimiser.
    Unscaled this is about 40 on typical problems and explores for thousands of measurements;
    ``0.1 * Frequentist(…)`` works in practice.
    """

    norm_bound: float
    delta: float = 0.1
    noise_ratio: float = 1.0

    def __post_init__(self) -> None:
        not_negative("norm_bound", self.norm_bound)
        positive("noise_ratio", self.noise_ratio)
        fraction("delta", self.delta)

    def __call__(self, progress: Progress) -> float:
        return self.norm_bound + self.noise_ratio * sqrt(progress.log_det + 2 * log(1 / self.delta))


@dataclass(frozen=True, slots=True)
class Bayesian(Scalable):
    """β = √(2 log(|A| t² π² / (6δ))), for f drawn from the prior."""

    delta: float = 0.1

    def __post_init__(self) -> None:
        fraction("delta", self.delta)

    def __call__(self, progress: Progress) -> float:
        return sqrt(2 * log(progress.candidates * progress.t**2 * pi**2 / (6 * self.delta)))


@dataclass(frozen=True, slots=True)
class Improvement(Scalable):
    """β = √(log_det + √(log_det · log(t/δ)) + log(t/δ)), the width of expected improvement's proof."""

    delta: float = 0.1

    def __post_init__(self) -> None:
        fraction("delta", self.delta)

    def __call__(self, progress: Progress) -> float:
        tail = log(progress.t / self.delta)
        return sqrt(progress.log_det + sqrt(progress.log_det * tail) + tail)


def as_schedule(beta: float | Schedule) -> Schedule:
    """A number becomes `Fixed`; a schedule stays what it is."""
    if isinstance(beta, type):
        raise InvalidSetting(
            f"beta={beta.__name__} is a class: give a schedule made of it, such as Bayesian(delta=0.1)."
        )
    return beta if callable(beta) else Fixed(not_negative("beta", beta))
