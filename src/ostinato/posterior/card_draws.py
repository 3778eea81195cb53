# pyright: basic, reportMissingImports=false
"""Draws of functions over the candidates of a card: random Fourier features where the candidates are."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ostinato.posterior.card_features import Features
from ostinato.posterior.draws import PriorFunction, WeightedSum
from ostinato.posterior.fourier import Waves

PART = 2**18  # candidates at a time

Tensor = torch.Tensor


def add_drawn(f: PriorFunction, features: Features, values: Tensor, factor: float) -> None:
    """Add a draw of the prior at all candidates, times a factor, to some values."""
    if isinstance(f, WeightedSum):
        for part in f.parts:
            add_drawn(part, features, values, factor * f.factor)
    elif isinstance(f, Waves):
        waves, amplitude = (torch.from_numpy(each).to(values) for each in (f.waves, factor * f.made.std * f.amplitude))
        for part, rows in _rows(f, features, values):
            values[part] += torch.cos(rows @ waves) @ amplitude
    elif f.everywhere.strides == (0,):
        values += factor * float(f.everywhere[0])
    else:
        for start in range(0, len(values), 2**24):
            part = torch.from_numpy(np.ascontiguousarray(f.everywhere[start : start + 2**24]))
            values[start : start + 2**24] += factor * part.to(values)


def drawn_at(f: PriorFunction, features: Features, places: Tensor) -> Tensor:
    """In double precision, at some candidates."""
    if isinstance(f, WeightedSum):
        return f.factor * torch.stack([drawn_at(part, features, places) for part in f.parts]).sum(0)
    if isinstance(f, Waves) and features.holds(f.made.features):
        middle, waves, amplitude = (
            torch.from_numpy(np.asarray(each, dtype=np.float64)).to(places.device)
            for each in (f.made.middle, f.waves, f.amplitude)
        )
        angles = (features.exact(places) - middle) @ waves[:-1] + waves[-1]
        return f.made.std * (torch.cos(angles) @ amplitude)
    return torch.from_numpy(f.at(places.cpu().numpy())).to(places.device)


def _rows(f: Waves, features: Features, like: Tensor) -> Iterator[tuple[slice, Any]]:
    """Rows that waves are multiplied with, some at a time: as they are on the card, where these are the same."""
    for start in range(0, features.size, PART):
        part = slice(start, min(start + PART, features.size))
        if features.holds(f.made.features):
            shift = torch.from_numpy(features.middle - f.made.middle).to(like)
            rows = torch.ones((part.stop - part.start, len(f.waves)), dtype=like.dtype, device=like.device)
            rows[:, :-1] = features.columns[:, part].T + shift
        else:
            rows = torch.from_numpy(f.made.rows[part]).to(like)
        yield part, rows
