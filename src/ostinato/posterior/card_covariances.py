# pyright: basic, reportMissingImports=false
"""Covariances on a GPU, computed whenever they are needed; kept only where the processor has to compute them.

`FusedCovariances` uses kernels of our own, where the covariance function has a form for that (`card_fused.py`);
`TorchCovariances` uses PyTorch's operations in double precision, some candidates at a time; `NumPyCovariances` is for
users' functions that know NumPy alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from math import e, log2
from typing import Any, Protocol

import numpy as np
import torch

from ostinato.arrays import Matrix
from ostinato.kernels import Kernel
from ostinato.kernels.form import ProductForm
from ostinato.posterior.card_features import Features, fits

TILE, WARPS = 2_048, 8  # candidates of which the extremes are noted together, and on how many threads
PART = 2**18  # covariances of so many candidates are computed at a time, where they are stored
ROOM = 2**24  # numbers that PyTorch's operations make at a time on a card, which works best on many
EXPANDED_UP_TO = 3.0  # length-scales from the middle, at which |a|² + |x|² − 2ax is as good as (a − x)²
LOG2E = log2(e)
SCALED = {  # squared distances, so that all formulas are powers of 2
    "rbf": 0.5 * LOG2E,
    "matern12": LOG2E**2,
    "matern32": 3 * LOG2E**2,
    "matern52": 5 * LOG2E**2,
    "hamming": LOG2E,
}
CODES = {"rbf": 0, "matern12": 1, "matern32": 2, "matern52": 3, "rational": 4, "hamming": 0}

Tensor = torch.Tensor


class Covariances(Protocol):
    """k(X, A)/κ² for the candidates A of a card and ever more unique ones X."""

    accuracy: float
    strip: int
    prior: Tensor  # k(x, x)/κ², of all or of each

    def add(self, X: Matrix) -> None: ...

    def condition(self, P: Tensor, z: Tensor, mean: Tensor, variance: Tensor) -> "TileExtremes": ...

    def spread(self, p: Tensor, mean: Tensor, variance: Tensor) -> "TileExtremes": ...

    def columns(self, part: slice) -> Tensor: ...


class TileExtremes:
    """Of each tile: the lowest and the highest mean, and the largest variance."""

    def __init__(self, low: Tensor, high: Tensor, widest: Tensor) -> None:
        self.low, self.high, self.widest = low, high, widest

    @classmethod
    def empty(cls, size: int, like: Tensor) -> "TileExtremes":
        return cls(*(torch.empty(-(-size // TILE), dtype=like.dtype, device=like.device) for _ in range(3)))

    @classmethod
    def of(cls, mean: Tensor, variance: Tensor) -> "TileExtremes":
        whole = len(mean) // TILE * TILE  # tiles that are full need no copy
        parts = [(mean[:whole].view(-1, TILE), variance[:whole].view(-1, TILE))]
        if whole < len(mean):
            parts.append((mean[None, whole:], variance[None, whole:]))
        found = [(each.amin(1), each.amax(1), wide.amax(1)) for each, wide in parts if len(each)]
        return cls(*(torch.cat(each) for each in zip(*found, strict=True)))


class FusedCovariances:
    """Where the covariance function has a product form: one kernel for each pass."""

    def __init__(self, features: Features, form: ProductForm) -> None:
        from ostinato.posterior import card_fused

        self._kernels, self._features = card_fused, features
        self.strip = card_fused.STRIP
        places = [(f, j) for f, factor in enumerate(form.factors) for j in factor.weights]
        like = {"dtype": features.columns.dtype, "device": features.columns.device}
        scaled = [_scale(factor) for factor in form.factors]
        weights = [scaled[f] * form.factors[f].weights[j] for f, j in places]
        numbers = [j not in form.factors[f].categories for f, j in places]
        self._scales = torch.tensor(
            [w**0.5 if number else w for w, number in zip(weights, numbers, strict=True)], dtype=torch.float64
        ).to(**like)
        self._alphas = torch.tensor([factor.alpha for factor in form.factors], dtype=torch.float64).to(**like)
        self._constant = torch.tensor([form.share, form.offset], dtype=torch.float64).to(**like)
        self._columns = [j for _, j in places]
        self._numbers = numbers
        self._shape = {
            "COLUMNS": tuple(self._columns),
            "FACTORS": tuple(f for f, _ in places),
            "FORMULAS": tuple(CODES[factor.formula] for factor in form.factors),
            "NUMBERS": tuple(numbers),
        }
        unit = torch.finfo(features.columns.dtype).eps / 2
        width = form.steepness(features.half_widths)
        self._shape["EXPANDED"] = (
            len(form.factors) == 1 and form.factors[0].formula == "rbf" and all(numbers) and width < EXPANDED_UP_TO
        )
        cancelled = 8 * width**2 if self._shape["EXPANDED"] else 4 * width
        self.accuracy = unit * (16 + 2 * len(places) + cancelled)
        self._X, self.prior = torch.zeros((0, len(places) + 1), **like), torch.ones(1, **like)
        self._whole = self._X  # and rows of 0, up to a whole number of strips

    def add(self, X: Matrix) -> None:
        rows = self._features.rows(X)[:, self._columns]
        scales = torch.where(torch.tensor(self._numbers, device=rows.device), self._scales, 1.0)
        rows = rows * scales
        self._X = torch.cat([self._X, torch.cat([rows, (rows * rows).sum(1, keepdim=True)], dim=1)])
        more = -len(self._X) % self.strip
        self._whole = torch.nn.functional.pad(self._X, (0, 0, 0, more)).contiguous()

    def condition(self, P: Tensor, z: Tensor, mean: Tensor, variance: Tensor) -> TileExtremes:
        X, P = self._padded(P)
        noted = TileExtremes.empty(len(mean), mean)
        self._kernels.condition_kernel[self._grid](
            self._features.columns, len(mean), X, P, z, self._offsets(P), len(P), P.shape[1], *self._numbers_of_form,
            mean, variance, noted.low, noted.high, noted.widest,
            **self._shape, STRIP=self.strip, TILE=TILE, num_warps=WARPS,
        )  # fmt: skip
        return noted

    def spread(self, p: Tensor, mean: Tensor, variance: Tensor) -> TileExtremes:
        X, P = self._padded(p[None, :])
        noted = TileExtremes.empty(len(mean), mean)
        self._kernels.spread_kernel[self._grid](
            self._features.columns, len(mean), X, P, self._offsets(P), P.shape[1], *self._numbers_of_form,
            mean, variance, noted.low, noted.high, noted.widest,
            **self._shape, STRIP=self.strip, TILE=TILE, num_warps=WARPS,
        )  # fmt: skip
        return noted

    def columns(self, part: slice) -> Tensor:
        count = part.stop - part.start
        out = torch.empty((len(self._X), count), dtype=self._X.dtype, device=self._X.device)
        self._kernels.rows_kernel[(-(-count // TILE), len(self._X))](
            self._features.columns, self._features.size, part.start, self._X, *self._numbers_of_form,
            out, count, **self._shape, TILE=TILE,
        )  # fmt: skip
        return out

    @property
    def _grid(self) -> tuple[int]:
        return (-(-self._features.size // TILE),)

    @property
    def _numbers_of_form(self) -> tuple[Tensor, Tensor, Tensor]:
        return self._scales, self._alphas, self._constant

    def _offsets(self, P: Tensor) -> Tensor:
        """What the kernel's constant adds to each row's sums."""
        return self._constant[1] * P.sum(1)

    def _padded(self, P: Tensor) -> tuple[Tensor, Tensor]:
        """Unique candidates and coefficients, up to a whole number of strips."""
        more = -P.shape[1] % self.strip  # coefficients of 0, whatever they are multiplied with
        return self._whole, torch.nn.functional.pad(P, (0, more)).contiguous()


class TorchCovariances:
    """Any covariance function in PyTorch's own operations, in double precision, some candidates at a time."""

    accuracy = 1e-12
    strip = 64

    def __init__(self, features: Features, kernel: Kernel, kappa2: float) -> None:
        self._features, self._kernel, self._kappa2 = features, kernel, kappa2
        self._middle = torch.from_numpy(features.middle).to(features.columns.device)
        self._X = torch.zeros((0, len(features.middle)), dtype=torch.float64, device=features.columns.device)
        with torch.device(features.columns.device):  # for what kernels make
            self.prior = kernel.diag(features.columns.T + self._middle) / kappa2

    def add(self, X: Matrix) -> None:
        self._X = torch.cat([self._X, torch.from_numpy(np.ascontiguousarray(X)).to(self._X.device)])

    def condition(self, P: Tensor, z: Tensor, mean: Tensor, variance: Tensor) -> TileExtremes:
        for part in self._parts():
            C = P @ self.columns(part)[: P.shape[1]]
            mean[part] += z @ C
            variance[part] -= (C * C).sum(0)
        return TileExtremes.of(mean, variance)

    def spread(self, p: Tensor, mean: Tensor, variance: Tensor) -> TileExtremes:
        for part in self._parts():
            mean[part] = p @ self.columns(part)[: len(p)]
        return TileExtremes.of(mean, variance)

    def columns(self, part: slice) -> Tensor:
        return self._computed(self._X, part)

    def _computed(self, X: Tensor, part: slice) -> Tensor:
        """k(X, A)/κ² for some candidates A."""
        out = torch.empty((len(X), part.stop - part.start), dtype=torch.float64, device=X.device)
        for some in self._split(part, X.numel()) if len(X) else ():
            candidates = self._features.columns[:, some].T + self._middle
            with torch.device(X.device):
                out[:, some.start - part.start : some.stop - part.start] = self._kernel(X, candidates)
        return out.div_(self._kappa2)

    def _parts(self) -> Iterator[slice]:
        yield from self._split(slice(0, self._features.size), self._X.numel())

    def _split(self, part: slice, each: int) -> Iterator[slice]:
        """Some candidates at a time, so that `each` numbers for every one of them fit."""
        step = max(1, (ROOM if self._X.is_cuda else PART) // max(1, each))
        yield from (slice(a, min(a + step, part.stop)) for a in range(part.start, part.stop, step))


class NumPyCovariances(TorchCovariances):
    """Where a part of the covariance function knows NumPy alone (`ThroughNumPy`).

    The processor computes the row of a unique candidate once; it is copied to the card, and kept there. Rows for which
    there is no room are computed again whenever they are needed.
    """

    def __init__(self, features: Features, kernel: Kernel, kappa2: float) -> None:
        super().__init__(features, kernel, kappa2)
        self._kept: tuple[Tensor, ...] = ()

    def add(self, X: Matrix) -> None:
        before = len(self._X)
        super().add(X)
        needed = 8 * len(X) * self._features.size
        if sum(map(len, self._kept)) == before and fits(needed, self._X.device):
            self._kept = *self._kept, self._computed(self._X[before:], slice(0, self._features.size))

    def columns(self, part: slice) -> Tensor:
        others = self._X[sum(map(len, self._kept)) :]
        return torch.cat([*(rows[:, part] for rows in self._kept), self._computed(others, part)])


@contextmanager
def full_precision() -> Iterator[None]:
    """Products of matrices in full precision."""
    chosen = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(chosen)


def _scale(factor: Any) -> float:
    """What weights are multiplied with, so that the formula is a power of 2."""
    return 1 / (2 * factor.alpha) if factor.formula == "rational" else SCALED[factor.formula]


def tiled(values: Tensor, rest: float) -> Tensor:
    """One row a tile; the last one filled up."""
    return torch.nn.functional.pad(values, (0, -len(values) % TILE), value=rest).view(-1, TILE)
