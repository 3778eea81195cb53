"""A problem: candidates, the noise-free reward of each, and a law by which measurements scatter around it.

The truth is known, so that regret, the truth of the best candidate minus that of the measured one, is exact.
Higher rewards are better. A problem of your own takes a few lines:

    X = np.linspace(0, 10, 200)[:, None]
    problem = Problem(name="mine", candidates=X, truth=np.sin(X[:, 0]), noise=Gaussian(0.5))

Ready problems are standardised over their candidates (mean 0, standard deviation 1), so that a kernel of standard
deviation 1 and a prior mean of 0 fit all of them. Yours need not be.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.random import Generator

from ostinato.arrays import Vector
from ostinato.candidates import Space
from ostinato.checks import brief, positive, whole
from ostinato.errors import InvalidCandidates, InvalidSetting, UnknownCandidate
from ostinato.kernels import RBF, Kernel
from ostinato.problems.noise import Noise

TOLD = 90  # the percentile of the candidates' noise that the optimiser is told


@dataclass(frozen=True, eq=False)
class Problem:
    """Candidates, their noise-free rewards, a noise law, and the kernels that are worth trying."""

    name: str
    candidates: Any  # whatever ostinato.Optimizer accepts: a 2-D array, a Space or a data frame
    truth: Vector  # the noise-free reward of every candidate row
    noise: Noise
    kernel: Callable[[float], Kernel] = RBF  # from one length-scale to a kernel of standard deviation 1
    lengthscales: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 4.0)
    about: str = ""

    def __post_init__(self) -> None:
        _check_parts(self.noise, self.kernel, self.truth)
        object.__setattr__(self, "truth", _rewards(self.truth))
        object.__setattr__(self, "lengthscales", _scales(self.lengthscales))
        rows, _ = self._shape
        if rows != self.size:
            raise InvalidSetting(
                f"truth holds {self.size:,} rewards for {rows:,} candidates: give one for every candidate row."
            )
        _check_spread(self.noise_stds, self.size)

    @property
    def size(self) -> int:
        """How many candidates there are."""
        return len(self.truth)

    @property
    def columns(self) -> int:
        """How many columns a candidate has."""
        return self._shape[1]

    @property
    def lengthscale(self) -> float:
        """The middle one of the length-scales, where none was chosen."""
        return self.lengthscales[len(self.lengthscales) // 2]

    @cached_property
    def optimum(self) -> int:
        """The row of the best candidate (the first, where several are equally good)."""
        return int(np.argmax(self.truth))

    @cached_property
    def regrets(self) -> Vector:
        """How much worse than the best every candidate is, without noise."""
        regrets = np.max(self.truth) - self.truth
        regrets.setflags(write=False)
        return regrets

    @cached_property
    def noise_stds(self) -> Vector:
        """The standard deviation of one measurement of each candidate."""
        return np.asarray(self.noise.std(self.truth), dtype=np.float64)

    @cached_property
    def noise_std(self) -> float:
        """The one noise level that the optimiser is told: that of the 90th percentile of the candidates."""
        return float(np.percentile(self.noise_stds, TOLD))

    @cached_property
    def _shape(self) -> tuple[int, int]:
        return _shape(self.candidates)

    def measure(self, index: int, repeats: int, rng: Generator) -> Vector:
        """`repeats` noisy rewards of one candidate row."""
        if not 0 <= index < self.size:
            raise UnknownCandidate(f"Row {index} is not in {self.name!r}: its rows are 0 to {self.size - 1}.")
        return self.noise.sample(int(index), float(self.truth[index]), whole("repeats", repeats), rng)

    def __repr__(self) -> str:
        return f"Problem({self.name!r}, {self.size:,} candidates × {self.columns} columns)"


def _check_parts(noise: Any, kernel: Any, truth: Any) -> None:
    """Mistakes that are easily made."""
    if not (hasattr(noise, "std") and hasattr(noise, "sample")):
        raise InvalidSetting(f"noise={noise!r} is not a noise law: give for instance Gaussian(0.5).")
    if isinstance(kernel, Kernel):
        raise InvalidSetting(
            f"kernel={kernel!r} has its length-scale already: give a function of the length-scale, such as RBF or "
            "lambda l: RBF(l).on('temp')."
        )
    if callable(truth):
        raise InvalidSetting("truth is a function: give its values, one for each candidate row.")


def standardised(values: Any) -> Vector:
    """`values` shifted and scaled to mean 0 and standard deviation 1."""
    array = _rewards(values)
    spread = float(np.std(array))
    if not spread > 0:
        raise InvalidSetting(f"All {len(array):,} values are {array[0]}: values that do not differ have no scale.")
    return (array - np.mean(array)) / spread


def _rewards(values: Any) -> Vector:
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1 or not array.size:
        raise InvalidSetting(f"truth has shape {array.shape}: give a flat list, one noise-free reward a candidate.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        raise InvalidSetting(f"truth[{bad[0]}]={array[bad[0]]} is not a reward: give finite numbers.")
    array.setflags(write=False)
    return array


def _scales(values: Any) -> tuple[float, ...]:
    given: tuple[Any, ...] = (values,) if np.ndim(values) == 0 else tuple(values)
    if not given:
        raise InvalidSetting("lengthscales is empty: give at least one, as in lengthscales=(1.0,).")
    return tuple(positive("lengthscales", value) for value in given)


def _shape(candidates: Any) -> tuple[int, int]:
    """Rows and columns of an array, a data frame or a Space."""
    if isinstance(candidates, Space):
        return len(candidates.enumerate()), len(candidates.parameters)
    shape = cast("tuple[int, ...]", tuple(candidates.shape) if hasattr(candidates, "shape") else np.shape(candidates))
    if len(shape) not in (1, 2):
        raise InvalidCandidates(
            f"The candidates {brief(candidates)} have shape {shape}: give a 2-D array (a row a candidate), a Space or "
            "a data frame."
        )
    return shape[0], shape[1] if len(shape) == 2 else 1


def _check_spread(stds: Vector, size: int) -> None:
    if stds.shape != (size,) or not np.all(np.isfinite(stds) & (stds >= 0)):
        raise InvalidSetting(
            f"The noise law gives standard deviations of shape {stds.shape} for {size:,} candidates, {brief(stds)}: it "
            "must give one for every candidate, finite and not below 0."
        )
