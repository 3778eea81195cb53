# pyright: basic, reportMissingImports=false
"""The features of candidates on a card: uploaded once, some rows at a time, from memory or from a mapped file."""

from functools import cached_property
from math import inf
from typing import Any

import numpy as np
import torch

from ostinato.arrays import Matrix, span_of
from ostinato.errors import InvalidSetting
from ostinato.posterior.device import Device

UPLOADED = 2**22  # rows that travel to the card at a time
SENT_SINGLY_UP_TO = 2**14  # rows that are sent in double precision one by one
SPARE = 2**30  # bytes of the card that are left to work in

Tensor = torch.Tensor


class Features:
    """One row a column of the table; numbers about their middle."""

    def __init__(self, features: Matrix, device: str, dtype: torch.dtype) -> None:
        self._source: Any = features
        low, high = span_of(features)
        self.middle, self.half_widths = (low + high) / 2, (high - low) / 2  # halves of codes: these stay exact
        size, width = features.shape
        self.columns = torch.empty((width, size), dtype=dtype, device=device)
        for start, part in self._parts():
            self.columns[:, start : start + part.shape[1]] = part.to(dtype)

    def _parts(self) -> Any:
        """All columns in double precision about their middle, some candidates at a time."""
        for start in range(0, len(self._source), UPLOADED):
            part = np.ascontiguousarray((self._source[start : start + UPLOADED] - self.middle).T)
            yield start, torch.from_numpy(part).to(self.columns.device)

    @property
    def like(self) -> Tensor:
        """Of the kind of numbers that are used here."""
        return self.columns

    @property
    def size(self) -> int:
        return self.columns.shape[1]

    def holds(self, features: Any) -> bool:
        """Whether these are the candidates' own features."""
        return features is self._source

    def rows(self, X: Matrix) -> Tensor:
        """Other candidates, in the same units; rounded in the same way, so that equal ones are equal."""
        rows = torch.from_numpy(X - self.middle)
        return rows.to(device=self.columns.device, dtype=self.columns.dtype)

    def exact(self, places: Tensor) -> Tensor:
        """The rows of some candidates in double precision."""
        rough = self.columns.dtype == torch.float32 and self._source is not None
        if rough and ((len(places) <= SENT_SINGLY_UP_TO and "_rest" not in vars(self)) or self._rest is None):
            found = self._source[places.cpu().numpy()]
            return torch.from_numpy(np.ascontiguousarray(found)).to(self.columns.device)
        about = self.columns[:, places].T.double()
        if rough:
            about += self._rest[:, places].T
        return about + torch.from_numpy(self.middle).to(about.device)

    @cached_property
    def _rest(self) -> Tensor | None:
        """What single precision leaves over, itself in single precision: together they have 48 bits.

        Made when many rows are first wanted in double precision; None where the card has no room for it.
        """
        if not fits(self.columns.numel() * 4, self.columns.device):
            return None
        rest = torch.empty_like(self.columns)
        for start, part in self._parts():
            here = slice(start, start + part.shape[1])
            rest[:, here] = (part - self.columns[:, here].double()).to(rest.dtype)
        return rest


def fits(count: int, device: torch.device) -> bool:
    """Whether so many bytes more fit on a card, with some to spare."""
    return count + SPARE <= free_on(device)


def free_on(device: torch.device) -> float:
    """Bytes of a card that are free; what PyTorch holds unused is, too."""
    if device.type != "cuda":
        return inf
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + unused


def check_room(device: Device, candidates: int, columns: int, *, grid: bool) -> None:
    """Before anything is uploaded: an error where candidates do not fit, with what would."""
    needed, free = device.bytes_for(candidates, columns, grid=grid), free_on(torch.device(device.name))
    if needed + SPARE > free:
        each, single = device.bytes_for(1, columns, grid=grid), "" if not device.double else "precision='single', "
        raise InvalidSetting(
            f"{candidates:,} candidates take {needed / 1e9:.1f} GB on {device.name!r}, {each} bytes each and "
            f"{SPARE / 1e9:.1f} GB to work in, and {free / 1e9:.1f} GB are free: give {single}fewer candidates, or a "
            "ShardedTable with several cards."
        )
