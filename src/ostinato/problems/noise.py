"""Noise laws: how measurements of one candidate scatter.

A law is any object with `sample` and `std`; write your own as you need. All are in units of the reward, higher is
better.

`Gaussian`: reward = truth + std · N(0, 1).

`Setups`: repeats that are asked for together share the error of one set-up, reward = truth + e + std · N(0, 1), with
one e = setup_std · N(0, 1) a call.

`Multiplicative` is the Gaussian law of the noisy functions of COCO. A loss f ≥ 0 (0 at the optimum) is measured as

    y = f · exp(β N(0, 1)) + 1.01e-8    where f ≥ 1e-8, else y = f,

so it is noisier the worse the candidate, and y has mean e^{β²/2} f and standard deviation f √(e^{β²} (e^{β²} − 1)).
Rewards are standardised losses, reward = (centre − y) / scale, hence f = centre − scale · truth. With β = 0.01
(COCO's moderate noise) the mean of rewards is the truth to 5e-5 of f; with β = 1 (severe) it is biased, by a factor
1.65 on f. That keeps the order of candidates, and regret is counted on f.

`Stored` draws at random from measurements that were made once and kept, such as the trainings of a network. Its
truth is their mean; its standard deviation that of the drawing itself (divisor n, not n − 1), which for two or three
stored values is what a user of the table sees.
"""

from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, hypot, sqrt
from typing import Any, Protocol, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.checks import finite, not_negative, positive
from ostinato.errors import InvalidSetting

PRECISION, SHIFT = 1e-8, 1.01e-8  # of COCO: losses below the first carry no noise, others are lifted by the second


class Noise(Protocol):
    """How measurements scatter around the truth."""

    def sample(self, index: int, truth: float, repeats: int, rng: Generator) -> Vector:
        """Noisy rewards of candidate `index`, whose noise-free reward is `truth`."""
        ...

    def std(self, truth: Vector) -> Vector:
        """The standard deviation of one measurement of each candidate, from the noise-free rewards of all."""
        ...


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Normal noise, of one standard deviation or of one a candidate."""

    level: float | Vector

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", _levels(self.level))

    def sample(self, index: int, truth: float, repeats: int, rng: Generator) -> Vector:
        level = float(self.level if np.ndim(self.level) == 0 else np.asarray(self.level)[index])
        return truth + level * rng.standard_normal(repeats)

    def std(self, truth: Vector) -> Vector:
        return np.full(len(truth), self.level) if np.ndim(self.level) == 0 else np.asarray(self.level)


@dataclass(frozen=True)
class Setups:
    """Normal noise, and an error of every set-up that all repeats made with it share."""

    level: float
    setup: float

    def __post_init__(self) -> None:
        not_negative("level", self.level)
        not_negative("setup", self.setup)

    def sample(self, index: int, truth: float, repeats: int, rng: Generator) -> Vector:
        return truth + self.setup * rng.standard_normal() + self.level * rng.standard_normal(repeats)

    def std(self, truth: Vector) -> Vector:
        """Of one measurement with a set-up of its own."""
        return np.full(len(truth), hypot(self.level, self.setup))


@dataclass(frozen=True)
class Multiplicative:
    """COCO's law on losses f = centre − scale · reward: f times a log-normal factor exp(β N(0, 1))."""

    beta: float
    centre: float = 0.0
    scale: float = 1.0

    def __post_init__(self) -> None:
        not_negative("beta", self.beta)
        finite("centre", self.centre)
        positive("scale", self.scale)

    def sample(self, index: int, truth: float, repeats: int, rng: Generator) -> Vector:
        loss = float(self._losses(truth))
        factors = np.exp(self.beta * rng.standard_normal(repeats))
        noisy = loss * factors + SHIFT if loss >= PRECISION else np.full(repeats, loss)
        return (self.centre - noisy) / self.scale

    def std(self, truth: Vector) -> Vector:
        losses = self._losses(truth)
        relative = sqrt(exp(self.beta**2) * expm1(self.beta**2))
        return np.where(losses >= PRECISION, losses, 0.0) * relative / self.scale

    def _losses(self, truth: Any) -> Vector:
        return np.maximum(self.centre - self.scale * np.asarray(truth), 0.0)


@dataclass(frozen=True, eq=False)
class Stored:
    """One of a candidate's stored rewards, drawn at random for every measurement.

    `rewards` has a row a candidate; rows with fewer rewards than others are filled up with NaN.
    """

    rewards: Matrix

    def __post_init__(self) -> None:
        object.__setattr__(self, "rewards", _packed(self.rewards))

    @classmethod
    def standardised(cls, values: Matrix) -> Self:
        """The law of stored values, shifted and scaled so that its means have mean 0 and standard deviation 1."""
        means = cls(values).means
        spread = float(np.std(means))
        if not spread > 0:
            raise InvalidSetting(
                f"All {len(means):,} candidates have the mean {means[0]}: there is nothing to optimise."
            )
        return cls((np.asarray(values) - float(np.mean(means))) / spread)

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """How many rewards each candidate has."""
        return np.sum(~np.isnan(self.rewards), axis=1)

    @property
    def means(self) -> Vector:
        """The mean of each candidate's rewards: the truth that belongs to this law."""
        return np.nanmean(self.rewards, axis=1)

    def sample(self, index: int, truth: float, repeats: int, rng: Generator) -> Vector:
        return self.rewards[index, rng.integers(self.counts[index], size=repeats)]

    def std(self, truth: Vector) -> Vector:
        return np.nanstd(self.rewards, axis=1)


def _levels(level: Any) -> float | Vector:
    if np.ndim(level) == 0:
        return not_negative("level", level)
    array = np.array(level, dtype=np.float64)
    if array.ndim != 1 or not np.all(np.isfinite(array) & (array >= 0)):
        raise InvalidSetting(
            "level is not a list of standard deviations: give one a candidate, finite and not below 0."
        )
    array.setflags(write=False)
    return array


def _packed(rewards: Any) -> Matrix:
    """Each row's rewards first and its NaNs last."""
    array = np.array(rewards, dtype=np.float64)
    if array.ndim != 2 or np.isinf(array).any():
        raise InvalidSetting(
            f"rewards of shape {array.shape} are no table of stored rewards: give a 2-D array of finite numbers, a row "
            "a candidate, filled up with NaN."
        )
    missing = np.isnan(array)
    empty = np.flatnonzero(missing.all(axis=1))
    if empty.size:
        raise InvalidSetting(f"rewards has none for candidate {empty[0]}: give every candidate at least one.")
    packed = np.take_along_axis(array, np.argsort(missing, axis=1, kind="stable"), axis=1)
    packed.setflags(write=False)
    return packed
