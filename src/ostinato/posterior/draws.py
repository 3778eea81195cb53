"""Draws of f from the posterior, over all candidates at once: pathwise conditioning.

A draw f̃ of the prior becomes one of the posterior by the same update that the data make (O(|A| q), not O(|A|³)):

    u(x) = μ(x) + f̃(x) − k(x, X) M (f̃(X) + ε),      ε_i ~ N(0, λ_i/n_i)

The prior draw is exact where the candidates form a full grid and the kernel a product over its columns
(Kronecker), where candidates are few, and for linear and constant kernels; sums add up. Else stationary kernels use
random Fourier features, an approximation, which is said by a warning. Other kernels are refused.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import sqrt
from typing import NamedTuple, Protocol, TypeAlias, cast

import numpy as np
from numpy.random import Generator

from ostinato.arrays import Array, Matrix, Namespace, Vector, cholesky, constant, from_numpy, to_numpy
from ostinato.errors import ApproximateDraws, InvalidKernel, notify
from ostinato.kernels import Constant, Kernel, Linear, On, Scaled, Stationary, Sum
from ostinato.posterior.blocks import BlockedVector, ListedVector
from ostinato.posterior.cache import Indices
from ostinato.posterior.exact import Posterior
from ostinato.posterior.fourier import FEATURES, Fourier
from ostinato.posterior.ghost import ExactGhost
from ostinato.posterior.grid import find_grid
from ostinato.posterior.screen import Screen
from ostinato.posterior.screen_block import SearchCriterion

EXACT_UP_TO = 2_000


class PriorFunction(Protocol):
    """A function from the prior. everywhere: at all candidates, where it may be off by so much."""

    @property
    def off(self) -> float: ...

    @property
    def everywhere(self) -> Vector: ...

    def at(self, candidates: Indices) -> Vector:
        """Exactly, at some candidates."""
        ...


class TabulatedFunction:
    """A function whose values at all candidates are known."""

    off = 0.0

    def __init__(self, values: Vector) -> None:
        self.everywhere = values

    def at(self, candidates: Indices) -> Vector:
        return self.everywhere[candidates]


class WeightedSum:
    """A sum of functions, times a factor."""

    def __init__(self, factor: float, parts: Sequence[PriorFunction]) -> None:
        self.factor, self.parts = factor, parts
        self._everywhere: Vector | None = None

    @property
    def off(self) -> float:
        return self.factor * sum(part.off for part in self.parts)

    @property
    def everywhere(self) -> Vector:
        if self._everywhere is None:
            first, *others = (part.everywhere for part in self.parts)
            self._everywhere = self.factor * sum(others, first)
        return self._everywhere

    def at(self, candidates: Indices) -> Vector:
        first, *others = (part.at(candidates) for part in self.parts)
        return self.factor * sum(others, first)


PriorDraw: TypeAlias = Callable[[Generator], PriorFunction]


def draw(posterior: Posterior, prior: PriorDraw, ghost: ExactGhost, rng: Generator) -> BlockedVector:
    """One draw of f at all candidates, block by block. The ghost may hold measurements still in flight."""
    f = prior(rng)
    pull = ghost.spread_blocks(_pull(f, ghost, rng, posterior.xp))
    means = posterior.means

    def moved(mean: Array, drawn: Array, pulled: Array) -> Array:
        return mean + drawn - pulled

    values = means.map(moved, means.like(f.everywhere), pull)
    if f.off:  # what may be the highest is as exact as it is anywhere else
        for candidate, gap in _gaps(f, values.near_highest(2 * f.off)):
            values[candidate] += gap
    return values


def _gaps(f: PriorFunction, candidates: Indices) -> Iterator[tuple[int, float]]:
    """What the values of some candidates lack in precision."""
    gaps = f.at(candidates) - f.everywhere[candidates]
    return zip(candidates.tolist(), gaps.tolist(), strict=True)


def _pull(f: PriorFunction, ghost: ExactGhost, rng: Generator, xp: Namespace) -> Array:
    """M (f(X) + ε), for the candidates X in slots."""
    w, measured = to_numpy(ghost.unique.w), ghost.measured
    slots = np.flatnonzero(w > 0)
    slots = slots[np.argsort(measured[slots])]  # by candidate: in whatever order they were measured, draws are the same
    residual = np.zeros(len(w))
    residual[slots] = f.at(measured[slots]) + rng.standard_normal(len(slots)) / np.sqrt(w[slots])
    return ghost.unique.times(from_numpy(xp, residual))


class CardDraw(NamedTuple):
    """A draw from the posterior on a card: f from the prior, and coefficients on the unique candidates X."""

    f: PriorFunction
    X: Matrix
    coefficients: Vector


def leading_draw(
    posterior: Posterior,
    prior: PriorDraw,
    ghost: ExactGhost,
    rng: Generator,
    criterion: tuple[SearchCriterion, Indices],
) -> ListedVector:
    """Of one draw the candidates that may be the highest, found on a card. criterion: what for; and what is taken."""
    f, screen, (what, taken) = prior(rng), cast("Screen", posterior.screen), criterion
    pull, alpha = to_numpy(_pull(f, ghost, rng, posterior.xp)), to_numpy(posterior.factor.alpha)
    coefficients = np.append(alpha, np.zeros(len(pull) - len(alpha))) - pull
    led = screen.leading_draw(CardDraw(f, posterior.features[ghost.measured], coefficients), what, taken)
    own = posterior.at_each(taken)[0] + f.at(taken) - pull @ ghost.columns(taken)
    numbers, values = np.append(taken, led.candidates), np.append(own, led.values)
    order = np.argsort(numbers)
    return ListedVector(numbers[order], values[order], len(posterior.features))


def prior_draw(kernel: Kernel, features: Matrix) -> PriorDraw:
    """A function that draws f from the prior at these candidates."""
    grid = _kronecker(kernel, features)
    if grid is not None:
        return grid
    if len(features) <= EXACT_UP_TO:
        return _gaussian(square_root(kernel(features, features)))
    return _structured(kernel, features)


def square_root(covariance: Matrix) -> Matrix:
    """R with R Rᵀ = covariance, for matrices that may be singular."""
    scale = np.sqrt(np.maximum(np.diagonal(covariance), 0.0))
    unit = np.where(scale > 0, scale, 1.0)
    correlation = covariance / unit[:, None] / unit[None, :]
    root = cholesky(correlation)
    if root is None:  # singular to working precision: 1e-10 more variance is far less than a draw's own chance
        root = cholesky(correlation + 1e-10 * np.eye(len(scale)))
    if root is None:
        values, vectors = np.linalg.eigh(correlation)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
    return scale[:, None] * root


def _kronecker(kernel: Kernel, features: Matrix) -> PriorDraw | None:
    """K = K₁ ⊗ K₂ ⊗ … + c²: the root of each factor is small, and roots multiply."""
    grid = find_grid(kernel, features)
    if grid is None or max(grid.shape) > EXACT_UP_TO:
        return None
    roots = [square_root(k(axis[:, None], axis[:, None])) for k, axis in zip(grid.factors, grid.axes, strict=True)]

    def draw_on_grid(rng: Generator) -> PriorFunction:
        z = rng.standard_normal(grid.shape)
        for j, root in enumerate(roots):
            z = np.moveaxis(np.tensordot(root, z, axes=(1, j)), 0, j)
        drawn = z.ravel()[grid.place]
        return TabulatedFunction(drawn + sqrt(grid.constant) * rng.standard_normal() if grid.constant else drawn)

    return draw_on_grid


def _gaussian(root: Matrix) -> PriorDraw:
    """Draws of covariance R Rᵀ."""

    def multiply(rng: Generator) -> PriorFunction:
        return TabulatedFunction(np.matmul(root, rng.standard_normal(int(root.shape[1]))))

    return multiply


def _structured(kernel: Kernel, features: Matrix) -> PriorDraw:
    if isinstance(kernel, Sum):
        first, second = prior_draw(kernel.first, features), prior_draw(kernel.second, features)
        return lambda rng: WeightedSum(1.0, [first(rng), second(rng)])
    if isinstance(kernel, Scaled):
        inner = prior_draw(kernel.kernel, features)
        return lambda rng: WeightedSum(sqrt(kernel.factor), [inner(rng)])
    if isinstance(kernel, Linear):
        return _gaussian(kernel.weigh(features))
    if isinstance(kernel, On):
        places = [int(name) for name in kernel.names]
        return prior_draw(kernel.kernel, features[:, places])
    if isinstance(kernel, Constant):
        return lambda rng: TabulatedFunction(constant(kernel.std * rng.standard_normal(), len(features)))
    return _fourier(kernel, features)


def _in_one_hot_codes(kernel: Stationary, features: Matrix) -> tuple[Stationary, Matrix]:
    """The same kernel on numbers alone: codes 1/√2 and 0 a level, so that two that differ are 1 apart."""
    parts: list[Matrix] = []
    scales: list[float] = []
    for column, scale in enumerate(kernel.scale_of_each(features.shape[1])):
        values = features[:, [column]]
        codes = (values == np.unique(values)) / sqrt(2) if column in kernel.categories else values
        parts.append(codes)
        scales += [scale] * codes.shape[1]
    return replace(kernel, lengthscale=tuple(scales), categories=()), np.concatenate(parts, axis=1)


def _fourier(kernel: Kernel, features: Matrix) -> PriorDraw:
    """By random Fourier features, where the kernel has frequencies; which is said."""
    if isinstance(kernel, Stationary) and kernel.categories:
        kernel, features = _in_one_hot_codes(kernel, features)
    width = features.shape[1]
    if kernel.frequencies(width, 1, np.random.default_rng(0)) is None:
        raise InvalidKernel(
            f"{kernel!r} on {len(features):,} candidates has no way to draw functions: there are more than "
            f"{EXACT_UP_TO:,} candidates, they are no full grid on which the kernel splits, and the kernel is not "
            "stationary. Use MiniUCB or MiniEI, or fewer candidates."
        )
    notify(
        f"Draws for {len(features):,} candidates use {FEATURES} random Fourier features: they follow the prior "
        "approximately. (They are exact on full grids with product kernels such as RBF, and on "
        f"{EXACT_UP_TO:,} candidates or fewer.)",
        ApproximateDraws,
    )
    return Fourier(kernel, features)
