"""Noise by candidate: how repeats of each scatter, beside the noise that the model holds true."""

from collections.abc import Iterable
from math import sqrt
from typing import Any, cast

import msgspec
import numpy as np
from scipy.special import chdtri

from ostinato.checks import whole
from ostinato.measurements.tally import Statistics
from ostinato.optimizer import Optimizer
from ostinato.plots.data.common import LEVEL, Series, basics, in_words, lacking, row_of
from ostinato.plots.data.limits import beyond, limits
from ostinato.plots.source import Drawable, Source, ToldBatch

MOST = 200  # candidates: those with the most repeats
NOTE = (
    "Standard deviation of repeats within a batch, with its 95% interval, at the candidate's average; the line is what "
    "the model holds true."
)


class Scatter(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate: its average, the standard deviation of its repeats with an interval, and that of the model."""

    index: int
    label: str
    n: int
    average: float
    std: float
    low: float
    high: float
    model: float


class Noise(Series, frozen=True, kw_only=True):
    """From the lowest average to the highest. equal: the model's noise, where it is the same for all candidates.

    shown, top: the range of averages, and the highest standard deviation, that axes hold where few candidates are so
    far off that they would flatten all others.
    """

    level: float = LEVEL
    rows: tuple[Scatter, ...] = ()
    equal: float | None = None
    shown: tuple[float, float] | None = None
    top: float | None = None


def noise(what: Drawable, most: int = MOST) -> Noise:
    """How repeats scatter, of candidates with at least two in a batch."""
    source, limit = Source.of(what), whole("most", most)
    told = source.batches()
    return source.looked(lambda optimizer: _noise(source.name, optimizer, told, limit))


def _noise(name: str, optimizer: Optimizer, told: list[ToldBatch], most: int) -> Noise:
    pooled = _pooled(optimizer, told)
    if not pooled:
        any_ = "No candidate was measured twice in one batch: noise shows in repeats."
        return Noise(**basics(name, optimizer), missing=lacking(optimizer) or any_)
    chosen = sorted(pooled.items(), key=lambda item: -item[1][1])[:most]
    held = np.sqrt(np.asarray(optimizer.core.known.answering.noise))
    rows = sorted((_row(optimizer, number, *own, float(held[number])) for number, own in chosen), key=_average)
    models = {float(f"{row.model:.9g}") for row in rows}
    equal = models.pop() if len(models) == 1 else None
    shown, tall = limits([row.average for row in rows]), limits([row.std for row in rows], [row.model for row in rows])
    note = NOTE + beyond(shown, ((row.label, row.average) for row in rows))
    top = tall[1] if tall and max(row.std for row in rows) > tall[1] else None
    return Noise(**basics(name, optimizer), note=note, rows=tuple(rows), equal=equal, shown=shown, top=top)


def _average(row: Scatter) -> float:
    return row.average


def _pooled(optimizer: Optimizer, told: Iterable[ToldBatch]) -> dict[int, tuple[Statistics, float, float]]:
    """By candidate: all its measurements, degrees of freedom within batches, and squared deviations within them.

    Measurements that came with standard errors of their own are left out.
    """
    found: dict[int, tuple[Statistics, float, float]] = {}
    for each in told:
        if each.statistics.n and not each.statistics.known:
            number = optimizer.core.problem.table.number_of(each.index)
            before, freedom, squares = found.get(number, (Statistics(), 0.0, 0.0))
            own = each.statistics
            found[number] = before + own, freedom + own.freedom, squares + own.squares
    return {number: each for number, each in found.items() if each[1] > 0}


def _row(optimizer: Optimizer, number: int, all_: Statistics, freedom: float, squares: float, model: float) -> Scatter:
    table, std = optimizer.core.problem.table, sqrt(squares / freedom)
    index, outer = table.index_of(number), (1 - LEVEL) / 2
    low, high = (sqrt(squares / float(cast("Any", chdtri)(freedom, p))) for p in (outer, 1 - outer))
    return Scatter(
        index=index,
        label=in_words(row_of(table, index)),
        n=int(all_.n),
        average=all_.mean,
        std=std,
        low=low,
        high=high,
        model=model,
    )
