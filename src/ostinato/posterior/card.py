# pyright: basic, reportMissingImports=false
"""Candidates on a GPU: features, means and variances, and nothing that grows with the unique candidates.

Covariances are computed again whenever they are needed, in one pass over the candidates (`card_covariances.py`). So a
candidate takes 4 (d + 2) bytes, and 8 (d + 2) in double precision.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np
import torch

from ostinato.arrays import Matrix, Vector
from ostinato.kernels import Kernel
from ostinato.kernels.form import product_form
from ostinato.posterior.cache import Indices
from ostinato.posterior.card_covariances import PART, TILE, Covariances, Extremes, Fused, Plain, tiled
from ostinato.posterior.card_exact import Exactly
from ostinato.posterior.card_features import Features
from ostinato.posterior.card_search import Leading, highest_mean
from ostinato.posterior.device import Device
from ostinato.posterior.screen_block import Led, Off, ScreenBlock, Sought, Terms

HOPEFUL = 64  # candidates that are looked at first
ROOM = 2**14  # places that one pass can write down
FUSE = False  # whether our own kernels run on the processor too, by Triton's interpreter

Tensor = torch.Tensor


def card_block(
    kernel: Kernel, features: Matrix, kappa2: float, device: Device, memory: "Features | None" = None
) -> "CardBlock":
    """The candidates on a card. memory: of a block of the same candidates."""
    form = product_form(kernel, features.shape[1]) if device.name.startswith("cuda") or FUSE else None
    dtype = torch.float64 if device.double or form is None else torch.float32
    if memory is None or memory.columns.dtype != dtype:
        memory = Features(features, device.name, dtype)
    covariances = Plain(memory, kernel, kappa2) if form is None else Fused(memory, form)
    return CardBlock(covariances, memory, kernel)


class CardBlock(ScreenBlock):
    """All candidates of one card. Variances are always by all unique candidates."""

    start, affordable, settles = 0, 1.0, True

    def __init__(self, covariances: Covariances, features: Features, kernel: Kernel) -> None:
        self._covariances, self._features, self._kernel = covariances, features, kernel
        self._X: Matrix = np.zeros((0, len(features.middle)))
        self.size, self.accuracy, self.strip = features.size, covariances.accuracy, covariances.strip
        like = features.columns
        self.unit = torch.finfo(like.dtype).eps / 2
        self._mean = torch.zeros(self.size, dtype=like.dtype, device=like.device)
        self._variance = covariances.prior.expand(self.size).clone()
        self._noted = Extremes.empty(self.size, like)
        self._noted.low[:], self._noted.high[:], self._noted.widest[:] = 0.0, 0.0, covariances.prior.max()

    def prepared(self, numbers: Matrix | Vector) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(device=self._mean.device, dtype=self._mean.dtype)

    @property
    def memory(self) -> Features:
        return self._features

    def fork(self) -> Self:
        other = copy(self)
        other._variance, other._covariances = self._variance.clone(), copy(self._covariances)
        return other

    def add(self, X: Matrix, filled: int) -> None:
        self._covariances.add(X)
        self._X = np.concatenate([self._X[:filled], X]) if filled else X

    def condition(self, P: Tensor, z: Tensor) -> None:
        self._noted = self._covariances.condition(P, z, self._mean, self._variance)

    def refresh(self, alpha: Tensor, W: Tensor) -> None:
        step = max(TILE, PART * 256 // max(256, len(W)))
        for start in range(0, self.size, step):
            part = slice(start, min(start + step, self.size))
            T = _in_strips(W, self._covariances.columns(part), self.strip)
            prior = self._covariances.prior
            self._variance[part] = (prior if len(prior) == 1 else prior[part]) - T.square_().sum(0)
        self._noted = self._covariances.spread(alpha, self._mean, self._variance)

    def at(self, places: Indices) -> tuple[Vector, Vector]:
        here = torch.from_numpy(places).to(self._mean.device)
        return _numpy(self._mean[here]), _numpy(self._variance[here])

    @property
    def means(self) -> tuple[float, float]:
        return float(self._noted.low.min()), float(self._noted.high.max())

    @property
    def largest_variance(self) -> float:
        return float(self._noted.widest.max())

    @property
    def variances(self) -> Vector:
        return _numpy(self._variance)

    def above(self, bar: float, slope: float, error: float = 0.0) -> Indices:
        if self._fused and slope != 0:
            few = self._fused_above(bar, slope, error)
            if few is not None:
                return few
        return self._above(bar, slope, error).cpu().numpy()

    def beyond(
        self, chord: tuple[float, float], lines: Sequence[tuple[float, float]], error: float
    ) -> tuple[Indices, Vector]:
        here = self._above(*chord, error)
        over = torch.stack([self._reach(here, slope, error) - bar for bar, slope in lines]).amax(0)
        return here[over >= 0].cpu().numpy(), _numpy(over[over >= 0])

    def _above(self, bar: float, slope: float, error: float) -> Tensor:
        tiles = torch.nonzero(self._tops(slope, error) >= bar)[:, 0]
        return torch.cat([self._within(part, bar, slope, error) for part in torch.split(tiles, PART // TILE * 64)])

    def highest(self, slope: float, count: int) -> tuple[Indices, Vector]:
        count = min(count, self.size)
        tops = self._tops(slope, 0.0)
        tiles = torch.topk(tops, min(count, len(tops))).indices  # so many candidates are in no more tiles than that
        found, values = list[Tensor](), list[Tensor]()
        for some in torch.split(tiles, PART // TILE * 64):
            places = self._places(some).ravel()
            reach = self._reach(places.clamp(max=self.size - 1), slope, 0.0)
            best = torch.topk(torch.where(places < self.size, reach, -torch.inf), min(count, len(places)))
            found.append(places[best.indices])
            values.append(best.values)
        best = torch.topk(torch.cat(values), count)
        return torch.cat(found)[best.indices].cpu().numpy(), _numpy(best.values)

    def hopeful(self, slope: float, taken: Indices) -> Indices:
        tops = self._tops(slope, 0.0)
        tiles = torch.topk(tops, min(len(tops), HOPEFUL)).indices
        places = self._places(tiles)
        reach = self._reach(places.clamp(max=self.size - 1), slope, 0.0)
        out = (places >= self.size) | torch.isin(places, torch.from_numpy(taken).to(places.device))
        best = torch.where(out, -torch.inf, reach).max(1)
        found = places[torch.arange(len(places), device=places.device), best.indices][best.values > -torch.inf]
        return np.sort(found.cpu().numpy())

    def leading(self, sought: Sought, off: Off, taken: Indices, terms: Terms) -> Led:
        return Leading(self._mean, self._variance, sought, off, taken, self._exact(terms)).found()

    def leading_draw(self, leap: Any, sought: Sought, off: float, taken: Indices) -> Led:
        from ostinato.posterior.card_draws import add_drawn, drawn_at  # which draws from posteriors, too

        covariances, values = copy(self._covariances), torch.empty_like(self._mean)
        covariances.add(leap.X[len(self._X) :])
        covariances.spread(self.prepared(sought.kappa * leap.coefficients), values, self._variance)
        with full_precision():
            add_drawn(leap.f, self._features, values, 1 / sought.kappa)
        coefficients = torch.from_numpy(leap.coefficients).to(values.device)
        exactly = Exactly(self._kernel, leap.X, None, values.device)

        def exact(places: Tensor) -> tuple[Tensor, Tensor]:
            moved = exactly.spread(coefficients, self._features.exact(places))
            return moved + drawn_at(leap.f, self._features, places), torch.zeros_like(moved)

        return Leading(values, values, sought, Off(off / sought.kappa, 0.0), taken, exact).found()

    def highest_mean(self, bar: float, taken: Indices, terms: Terms) -> float:
        return highest_mean(self._mean, bar, taken, self._exact(terms))

    def _exact(self, terms: Terms) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
        exactly = Exactly(self._kernel, terms.X, terms.factor, self._mean.device, terms.imagined)
        return lambda places: exactly(self._features.exact(places))

    def _tops(self, slope: float, error: float) -> Tensor:
        """The highest mean + slope · standard deviation in each tile."""
        if slope == 0:
            return self._noted.high
        if self._fused:
            return self._fused_tops(slope, error)
        reach = self._mean + slope * torch.sqrt(torch.clamp(self._variance + error, min=0))
        return tiled(reach, -torch.inf).amax(1)

    def _fused_tops(self, slope: float, error: float) -> Tensor:
        from ostinato.posterior.card_fused import tops_kernel

        tops = torch.empty_like(self._noted.high)
        tops_kernel[(len(tops),)](self._mean, self._variance, self.size, self._sent(slope, error), tops, TILE=TILE)
        return tops

    def _fused_above(self, bar: float, slope: float, error: float) -> Indices | None:
        """In one pass after the tiles' highest, and one wait; None where there is no room for so many."""
        from ostinato.posterior.card_fused import above_kernel

        tops, line = self._tops(slope, error), self._sent(slope, error, bar)
        written = torch.zeros(1 + ROOM, dtype=torch.int64, device=self._mean.device)
        above_kernel[(len(tops),)](
            self._mean, self._variance, self.size, tops, line, line[2:], ROOM, written, written[1:], TILE=TILE
        )
        numbers = written.cpu().numpy()
        return np.sort(numbers[1 : 1 + numbers[0]]) if numbers[0] <= ROOM else None

    def _sent(self, *numbers: float) -> Tensor:
        return torch.tensor(numbers, dtype=torch.float64).to(self._mean)

    @property
    def _fused(self) -> bool:
        """Whether our own kernels run here."""
        return self._mean.is_cuda or FUSE

    def _within(self, tiles: Tensor, bar: float, slope: float, error: float) -> Tensor:
        """The places of some tiles that reach a bar."""
        places = self._places(tiles).ravel()
        places = places[places < self.size]
        return places[self._reach(places, slope, error) >= bar]

    def _places(self, tiles: Tensor) -> Tensor:
        return tiles[:, None] * TILE + torch.arange(TILE, device=tiles.device)

    def _reach(self, places: Tensor, slope: float, error: float) -> Tensor:
        return self._mean[places] + slope * torch.sqrt(torch.clamp(self._variance[places] + error, min=0))


def _in_strips(W: Tensor, K: Tensor, strip: int) -> Tensor:
    """W K for a lower-triangular W, summed in strips; in full precision, whatever the program at large has chosen."""
    T = torch.zeros((len(W), K.shape[1]), dtype=K.dtype, device=K.device)
    with full_precision():
        for start in range(0, len(W), strip):
            T[start:].addmm_(W[start:, start : start + strip], K[start : start + strip])
    return T


@contextmanager
def full_precision() -> Iterator[None]:
    """Products of matrices in full precision."""
    chosen = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(chosen)


def _numpy(values: Tensor) -> Vector:
    return values.to(dtype=torch.float64, device="cpu").numpy()
