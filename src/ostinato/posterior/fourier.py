"""Draws of a stationary prior by random Fourier features: approximate, and the same work for every candidate.

    f(x) = σ √(1/F) Σ_j ρ_j cos(ω_j·x + φ_j)

with frequencies ω_j of the spectral density, phases φ_j uniform and amplitudes ρ_j² ~ χ²₂. Given the frequencies f is
Gaussian, its variance is σ² everywhere, and its covariance the average of cos(ω_j·(x − y)). All frequencies are drawn
anew for every draw, so that over draws the covariance is the kernel's. Within a draw it is off by what the average is
off: with frequencies from a scrambled Sobol sequence, which fill the spectral density evenly, 128 are no further off
than 512 waves of normal amplitudes whose frequencies are drawn one by one (tests/posterior/test_fourier.py). More bring
Thompson sampling no better choices (`python -m benchmarks.draws`).
"""

from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri

from ostinato.arrays import Matrix, Vector, span_of
from ostinato.kernels import Kernel
from ostinato.kernels.single import Single

FEATURES = 128  # a power of 2, as Sobol sequences want it
TILE = 512  # candidates at a time: what is made on the way to them then stays in the processor's cache
COLUMNS = 40  # more than these no sequence fills: twice as many frequencies are drawn one by one
UNIT = 2.0**-24  # the rounding error of one operation in single precision
SMALLEST = 2.0**-32  # of uniform numbers, so that none becomes infinite


class Fourier:
    """Draws at some candidates; called with a generator."""

    def __init__(self, kernel: Kernel, features: Matrix) -> None:
        self._kernel, self.features, self._width = kernel, features, features.shape[1]
        self._count = FEATURES if self._width <= COLUMNS else 2 * FEATURES
        self.std = float(np.sqrt(kernel.diag(features[:1])[0]))  # stationary: that of all
        self.middle = features.mean(axis=0)  # phases stay small; the kernel does not see the shift

    @cached_property
    def rows(self) -> Single:
        """Features about their middle, and 1 for the phase."""
        rows = np.ones((len(self.features), self._width + 1), dtype=np.float32)
        rows[:, :-1] = self.features - self.middle
        return rows

    @cached_property
    def reach(self) -> Vector:
        """How far candidates are from their middle at the most, in each column."""
        low, high = span_of(self.features)
        return np.maximum(high - self.middle, self.middle - low)

    def __call__(self, rng: Generator) -> "Waves":
        count = self._count
        even: Any = EvenlySpread(count, 2 * self._width + 2, rng) if self._width <= COLUMNS else rng
        omega = cast("Matrix", self._kernel.frequencies(self._width, count, even))
        phase = rng.uniform(0, 2 * np.pi, count)
        amplitude = np.sqrt(rng.chisquare(2, count) / count).astype(np.float32)
        return Waves(self, np.concatenate([omega.T, phase[None, :]]).astype(np.float32), amplitude)


class Waves:
    """One draw: σ Σ_j ρ_j cos(ω_j·x + φ_j). waves: frequencies, a column each, and below them phases."""

    def __init__(self, made: Fourier, waves: Single, amplitude: Single) -> None:
        self.made, self.waves, self.amplitude = made, waves, amplitude
        self._everywhere: Vector | None = None

    @property
    def everywhere(self) -> Vector:
        """In single precision, which is far finer than the approximation."""
        if self._everywhere is None:
            self._everywhere = self._sums()
        return self._everywhere

    def _sums(self) -> Vector:
        size, count = len(self.made.rows), len(self.amplitude)
        sums, room = np.empty(size, dtype=np.float32), np.empty((TILE, count), dtype=np.float32)
        for start in range(0, size, TILE):
            rows = self.made.rows[start : start + TILE]
            angles = np.matmul(rows, self.waves, out=room[: len(rows)])
            np.matmul(np.cos(angles, out=angles), self.amplitude, out=sums[start : start + TILE])
        return self.made.std * sums.astype(np.float64)

    def at(self, candidates: NDArray[np.int64]) -> Vector:
        """In double precision."""
        waves = self.waves.astype(np.float64)
        angles = (self.made.features[candidates] - self.made.middle) @ waves[:-1] + waves[-1]
        return self.made.std * (np.cos(angles) @ self.amplitude.astype(np.float64))

    @property
    def off(self) -> float:
        """By how much it may be off in single precision: by angles, cosines, and their sum."""
        angles = self.made.reach @ np.abs(self.waves[:-1]) + np.abs(self.waves[-1])
        cosines = (len(self.waves) + 2) * angles + len(self.amplitude) + 4
        return self.made.std * float(np.abs(self.amplitude) @ cosines) * UNIT


class EvenlySpread:
    """A generator whose first normal and gamma numbers, `count` at a time, fill their space evenly.

    Each by itself has the law that it should have. What else is asked for comes from the generator as it is.
    """

    def __init__(self, count: int, columns: int, rng: Generator) -> None:
        from scipy.stats import qmc  # it takes a third of a second to import, and few need it

        seed = int(
            rng.integers(2**62)
        )  # a generator itself would be asked for a child, which its state does not settle
        uniform = qmc.Sobol(columns, rng=seed).random(count)
        self._columns = iter(np.clip(uniform, SMALLEST, 1 - SMALLEST).T)
        self._rng = rng

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rng, name)

    def standard_normal(self, size: tuple[int, int]) -> Matrix:
        return ndtri(np.stack([self._uniform(size[0]) for _ in range(size[1])], axis=1))

    def gamma(self, shape: float, scale: float, size: int) -> Vector:
        return np.asarray(scale * gammaincinv(shape, self._uniform(size)), dtype=np.float64)

    def chisquare(self, degrees: float, size: int) -> Vector:
        return self.gamma(degrees / 2, 2.0, size)

    def _uniform(self, count: int) -> Vector:
        column = next(self._columns, None)
        return self._rng.uniform(SMALLEST, 1 - SMALLEST, count) if column is None else column
