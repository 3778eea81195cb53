# pyright: basic, reportMissingImports=false
"""Candidates on a GPU: features, means and variances, and nothing that grows with the unique candidates.

Covariances are computed again whenever they are needed, in one pass over the candidates (`card_covariances.py`). So a
candidate takes 4 (d + 2) bytes, and 8 (d + 2) in double precision.
"""

from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch

from ostinato.arrays import Matrix, Vector
from ostinato.kernels import Kernel
from ostinato.kernels.foreign_arrays import numpy_parts
from ostinato.kernels.form import product_form
from ostinato.posterior.cache import Indices, paying_grid
from ostinato.posterior.card_covariances import (
    PART,
    TILE,
    Covariances,
    FusedCovariances,
    NumPyCovariances,
    TileExtremes,
    TorchCovariances,
    full_precision,
    tiled,
)
from ostinato.posterior.card_exact import ExactOnCard
from ostinato.posterior.card_features import Features, check_room
from ostinato.posterior.card_grid import GridCovariances, GridFeatures
from ostinato.posterior.card_kernel import for_card
from ostinato.posterior.card_search import CardSearch, Exact, highest_mean
from ostinato.posterior.device import Device
from ostinato.posterior.grid import Grid
from ostinato.posterior.screen_block import ErrorBounds, LeadingCandidates, Rough, ScreenBlock, SearchCriterion, Terms

HOPEFUL = 64  # candidates that are looked at first
ROOM = 2**14  # places that one pass can write down
STRIP = 64  # rows that are summed at a time where errors are bounded for any order
HEAD = 256  # of them, those that are fetched with their number
SPREAD = 256.0  # times the rounding error: as near as that, numbers are looked at again
FUSE = False  # whether our own kernels run on the processor too, by Triton's interpreter

Tensor = torch.Tensor


def card_block(
    kernel: Kernel, features: Matrix, kappa2: float, device: Device, memory: "Features | None" = None
) -> "CardBlock":
    """The candidates on a card. memory: of a block of the same candidates."""
    grid = paying_grid(kernel, features)
    if grid is not None and grid.lattice.in_order:
        return _grid_block(kernel, features, kappa2, device, grid)
    form = product_form(kernel, features.shape[1]) if device.name.startswith("cuda") or FUSE else None
    dtype = torch.float64 if device.double or form is None else torch.float32
    if not isinstance(memory, Features) or memory.columns.dtype != dtype:
        check_room(replace(device, double=dtype == torch.float64), *features.shape, grid=False)
        memory = Features(features, device.name, dtype)
    if form is not None:
        return CardBlock(FusedCovariances(memory, form), memory, kernel)
    kernel = for_card(kernel, features, device)
    covariances = NumPyCovariances if numpy_parts(kernel) else TorchCovariances
    return CardBlock(covariances(memory, kernel, kappa2), memory, kernel)


def _grid_block(kernel: Kernel, features: Matrix, kappa2: float, device: Device, grid: Grid) -> "CardBlock":
    """Candidates that are all points of a grid, in its order."""
    dtype = torch.float64 if device.double else torch.float32
    check_room(device, *features.shape, grid=True)
    own = GridFeatures(grid, features, device.name, dtype)
    return CardBlock(GridCovariances(grid, own.like, kappa2), own, kernel)


class CardBlock(ScreenBlock):
    """All candidates of one card. Variances are always by all unique candidates."""

    start, affordable, settles = 0, 1.0, True

    def __init__(self, covariances: Covariances, features: Features | GridFeatures, kernel: Kernel) -> None:
        self._covariances, self._features, self._kernel = covariances, features, kernel
        self._X: Matrix = np.zeros((0, len(features.middle)))
        self.size, self.accuracy, self.strip = features.size, covariances.accuracy, covariances.strip
        like = features.like
        self.unit = torch.finfo(like.dtype).eps / 2
        self._mean = torch.zeros(self.size, dtype=like.dtype, device=like.device)
        self._variance = covariances.prior.expand(self.size).clone()
        self._noted = TileExtremes.empty(self.size, like)
        self._noted.low[:], self._noted.high[:], self._noted.widest[:] = 0.0, 0.0, covariances.prior.max()

    def prepared(self, numbers: Matrix | Vector) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(device=self._mean.device, dtype=self._mean.dtype)

    @property
    def memory(self) -> Features | GridFeatures:
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

    def refresh(self, alpha: Tensor, W: Tensor, rough: Rough | None = None) -> None:
        step = max(TILE, PART * 256 // max(16, len(W)))
        for start in range(0, self.size, step):
            part = slice(start, min(start + step, self.size))
            T = _in_strips(W, self._covariances.columns(part), self.strip if self.strip > 1 else STRIP)
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
        return np.setdiff1d(self.highest(slope, HOPEFUL + len(taken))[0], taken)

    def leading(self, criterion: SearchCriterion, off: ErrorBounds, taken: Indices, terms: Terms) -> LeadingCandidates:
        exact = self._exact(terms)
        found = None if criterion.slope is None else self._along_a_line(criterion, off, taken, exact)
        return found or CardSearch(self._mean, self._variance, criterion, off, taken, exact).found()

    def _along_a_line(
        self, criterion: SearchCriterion, off: ErrorBounds, taken: Indices, exact: Exact
    ) -> LeadingCandidates | None:
        """The same by the highest mean + slope · standard deviation, with one wait for the card; None for very many."""
        slope = criterion.slope
        margin = 4 * (off.mean + slope * off.variance) + SPREAD * self.unit
        listed, bar = self.nearly_highest(slope, off.variance, margin)
        free = None if listed is None else np.setdiff1d(listed, taken)
        if free is None or not len(free):
            return None
        found = self._led(criterion, free, exact)
        best = int(np.argmax(found.values))
        least = criterion.least(float(found.values[best]), float(found.mean[best]), float(found.variance[best]))
        needed = (least - criterion.centre) / criterion.kappa - off.mean - SPREAD * self.unit
        if needed >= bar:
            return found
        more = (
            self._fused_above(needed, slope, off.variance) if self._fused else self.above(needed, slope, off.variance)
        )
        return None if more is None or len(more) > ROOM else self._led(criterion, np.setdiff1d(more, taken), exact)

    def _led(self, criterion: SearchCriterion, candidates: Indices, exact: Exact) -> LeadingCandidates:
        places = torch.from_numpy(candidates).to(self._mean.device)
        mean, variance = exact(places)
        mean = mean + criterion.centre
        values = criterion.value(mean, variance, places)
        return LeadingCandidates(candidates, _numpy(mean), _numpy(variance), _numpy(values))

    def nearly_highest(self, slope: float, error: float, margin: float) -> tuple[Indices | None, float]:
        """Where mean + slope · standard deviation is within a margin of the highest, and from what on.

        All that is waited for is the list. None where it is too long.
        """
        tops = self._tops(slope, error)
        bar = tops.max() - margin
        if not self._fused:
            found = self._above(float(bar), slope, error)
            return (found.cpu().numpy() if len(found) <= ROOM else None), float(bar)
        written = self._written(tops, torch.cat([self._sent(slope, error), bar[None]]))
        head = torch.cat([bar.double().view(torch.int64)[None], written[: 1 + HEAD]]).cpu().numpy()
        count = int(head[1])
        if count > ROOM:
            return None, float(head[:1].view(np.float64)[0])
        listed = head[2 : 2 + count] if count <= HEAD else written[1 : 1 + count].cpu().numpy()
        return np.sort(listed), float(head[:1].view(np.float64)[0])

    def leading_draw(self, drawn: Any, criterion: SearchCriterion, off: float, taken: Indices) -> LeadingCandidates:
        from ostinato.posterior.card_draws import add_drawn, drawn_at  # which draws from posteriors, too

        covariances, values = copy(self._covariances), torch.empty_like(self._mean)
        covariances.add(drawn.X[len(self._X) :])
        covariances.spread(self.prepared(criterion.kappa * drawn.coefficients), values, self._variance)
        with full_precision():
            add_drawn(drawn.f, self._features, values, 1 / criterion.kappa)
        coefficients = torch.from_numpy(drawn.coefficients).to(values.device)
        exactly = ExactOnCard(self._kernel, drawn.X, None, values.device)

        def exact(places: Tensor) -> tuple[Tensor, Tensor]:
            moved = exactly.spread(coefficients, self._features.exact(places))
            return moved + drawn_at(drawn.f, self._features, places), torch.zeros_like(moved)

        return CardSearch(values, values, criterion, ErrorBounds(off / criterion.kappa, 0.0), taken, exact).found()

    def highest_mean(self, bar: float, taken: Indices, terms: Terms) -> float:
        exactly = ExactOnCard(self._kernel, terms.X, terms.factor, self._mean.device)
        return highest_mean(self._mean, bar, taken, lambda places: exactly.means(self._features.exact(places)))

    def _exact(self, terms: Terms) -> Exact:
        exactly = ExactOnCard(self._kernel, terms.X, terms.factor, self._mean.device, terms.imagined)
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
        numbers = self._written(self._tops(slope, error), self._sent(slope, error, bar)).cpu().numpy()
        return np.sort(numbers[1 : 1 + numbers[0]]) if numbers[0] <= ROOM else None

    def _written(self, tops: Tensor, line: Tensor) -> Tensor:
        """How many candidates reach a line (slope, error, bar), and their places, as many as there is room for."""
        from ostinato.posterior.card_fused import above_kernel

        written = torch.empty(1 + ROOM, dtype=torch.int64, device=self._mean.device)
        written[0] = 0
        above_kernel[(len(tops),)](
            self._mean, self._variance, self.size, tops, line, line[2:], ROOM, written, written[1:], TILE=TILE
        )
        return written

    def _sent(self, *numbers: float) -> Tensor:
        """Some numbers, without waiting for what the card does before."""
        return torch.tensor(numbers, dtype=self._mean.dtype).to(self._mean.device, non_blocking=True)

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


def _numpy(values: Tensor) -> Vector:
    return values.to(dtype=torch.float64, device="cpu").numpy()
