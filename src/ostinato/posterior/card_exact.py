# pyright: basic, reportMissingImports=false
"""Means and variances in double precision on a GPU, by a factorisation, at whatever candidates are asked for."""

from typing import Any

import numpy as np
import torch

from ostinato.arrays import Matrix, Vector
from ostinato.kernels import Kernel
from ostinato.posterior.card_kernel import for_card
from ostinato.posterior.device import Device
from ostinato.posterior.factor import Factor

ROOM = 2**25  # numbers that are made at a time

Tensor = torch.Tensor


class ExactOnCard:
    """Exact means and variances of f at any points, about the prior mean.

    X: the unique candidates, and behind them those only imagined.

    terms: what imagined measurements take off, one row of coefficients on X each.
    """

    def __init__(
        self, kernel: Kernel, X: Matrix, factor: Factor | None, device: str | torch.device, terms: Matrix | None = None
    ) -> None:
        self._kernel, self._device = kernel, torch.device(device)
        self._X = self._sent(X)
        if factor is not None:
            self._alpha, self._W = self._sent(factor.alpha), self._sent(factor.whitener)
        self._terms = None if terms is None else self._sent(terms)

    def _sent(self, numbers: Any) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(numbers)).to(self._device)

    def __call__(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """At some points, however many."""
        parts = [self._at(part) for part in self._split(rows)]
        mean, variance = (torch.cat(each) for each in zip(*parts, strict=True))
        return mean, variance

    def means(self, rows: Tensor) -> Tensor:
        """Means alone, which are far cheaper; of the unique candidates, without those that are imagined."""
        return torch.cat([self._alpha @ self._covariances(part)[: len(self._alpha)] for part in self._split(rows)])

    def spread(self, coefficients: Tensor, rows: Tensor) -> Tensor:
        """coefficients · k(X, x), at some points x."""
        return torch.cat([coefficients @ self._covariances(part) for part in self._split(rows)])

    def _split(self, rows: Tensor) -> tuple[Tensor, ...]:
        return torch.split(rows, max(1, ROOM // max(1, self._X.numel())))

    def _at(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        with torch.device(self._device):  # for what kernels make
            K, prior = self._covariances(rows), self._kernel.diag(rows)
        known = K[: len(self._alpha)]
        variance = prior - (self._W @ known).square_().sum(0)
        if self._terms is not None:
            variance -= (self._terms @ K[: self._terms.shape[1]]).square_().sum(0)
        return self._alpha @ known, variance.clamp_(min=0)

    def _covariances(self, rows: Tensor) -> Tensor:
        with torch.device(self._device):
            return self._kernel(self._X, rows)


def means_and_variances(
    kernel: Kernel, X: Matrix, points: Matrix, factor: Factor, device: Device
) -> tuple[Vector, Vector]:
    """Of f at points in memory, about the prior mean; X: the unique candidates."""
    exactly = ExactOnCard(for_card(kernel, points, device), X, factor, device.name)
    rows = torch.from_numpy(np.ascontiguousarray(points))
    parts = [exactly(part.to(device.name)) for part in torch.split(rows, 2**20)]
    mean, variance = (torch.cat(each).cpu().numpy() for each in zip(*parts, strict=True))
    return mean, variance
