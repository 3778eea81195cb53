"""All candidates with what is believed of each: sorted, filtered, and shown a page at a time."""

from math import erf, sqrt
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Vector
from ostinato.candidates.filtering import features_of, passing
from ostinato.optimizer import Optimizer
from ostinato.service.dashboard.reading import is_whole
from ostinato.service.dashboard.words import cells
from ostinato.service.listing import ordered
from ostinato.study import Study
from ostinato.study.row_counts import RowCounts, counts_of

PAGE = 50
LEVEL = 0.95
SORTS = ("row", "n", "mean", "low", "high", "std")


class TableQuery(msgspec.Struct, frozen=True):
    """Which candidates to show. sort: one of SORTS, or `column:` and its place."""

    find: str = ""
    sort: str = ""
    down: bool = True
    measured: bool = False
    after: int = 0


class TableEstimates(msgspec.Struct, frozen=True, eq=False):
    """The estimate of every row of the table; None where nothing was measured."""

    counts: RowCounts
    mean: Vector | None
    std: Vector | None
    low: Vector | None
    high: Vector | None
    maximizes: bool
    best: int | None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate. beats: the probability that its true value is better than that of the recommended one."""

    index: int
    cells: dict[str, str]
    n: int
    retired: bool
    best: bool
    mean: float | None = None
    std: float | None = None
    low: float | None = None
    high: float | None = None
    beats: float | None = None


class Rows(msgspec.Struct, frozen=True):
    """A page of candidates, of so many that pass the filter."""

    rows: tuple[Row, ...]
    total: int
    wanted: TableQuery
    believed: bool


def table_estimates(study: Study) -> TableEstimates:
    """What is believed of all candidates: arrays, of which a million rows take some tens of megabytes."""
    counts = counts_of(study)
    return study.looked(lambda optimizer: _believed(optimizer, counts))


def _believed(optimizer: Optimizer, counts: RowCounts) -> TableEstimates:
    if not optimizer.has_best:
        return TableEstimates(counts, None, None, None, None, optimizer.maximizes, None)
    found = optimizer.predict()
    low, high = (np.array(each) for each in found.interval(LEVEL))
    best = optimizer.core.answers.estimate(LEVEL)
    low[best.index], high[best.index] = best.interval  # less the luck of the one that was chosen
    return TableEstimates(counts, found.mean, found.std, low, high, optimizer.maximizes, best.index)


def page_of(study: Study, known: TableEstimates, wanted: TableQuery) -> Rows:
    """A page of the candidates that pass."""
    mask = passing(study.table, wanted.find, known.counts.own)
    if wanted.measured:
        mask &= known.counts.measured > 0
    rows, wanted = np.flatnonzero(mask), _sorted_by(known, wanted)
    chosen = ordered(rows, _keys(study, known, wanted), descending=wanted.down)[wanted.after : wanted.after + PAGE]
    beats = _beats(study, known, chosen.tolist())
    shown = tuple(_row(study, known, int(row), beats.get(int(row))) for row in chosen)
    return Rows(shown, len(rows), wanted, known.mean is not None)


def _sorted_by(known: TableEstimates, wanted: TableQuery) -> TableQuery:
    """The best estimates first, where nothing else was said; rows as they are, where there is none."""
    is_known = wanted.sort in SORTS or wanted.sort.startswith("column:")
    if is_known and not (known.mean is None and wanted.sort in ("mean", "low", "high", "std")):
        return wanted
    if known.mean is None:
        return msgspec.structs.replace(wanted, sort="row", down=False)
    return msgspec.structs.replace(wanted, sort="mean", down=known.maximizes)


def _keys(study: Study, known: TableEstimates, wanted: TableQuery) -> NDArray[Any] | None:
    if wanted.sort == "n":
        return known.counts.measured
    if wanted.sort.startswith("column:"):
        place = wanted.sort.removeprefix("column:")
        columns = len(study.table.codecs)
        return features_of(study.table, int(place) if is_whole(place) and int(place) < columns else 0)
    return {"mean": known.mean, "low": known.low, "high": known.high, "std": known.std}.get(wanted.sort)


def _row(study: Study, known: TableEstimates, index: int, beats: float | None) -> Row:
    def at(values: Vector | None) -> float | None:
        return None if values is None else float(values[index])

    return Row(
        index=index,
        cells=cells(study.table[index]),
        n=int(known.counts.measured[index]),
        retired=bool(known.counts.retired[index]),
        best=index == known.best,
        mean=at(known.mean),
        std=at(known.std),
        low=at(known.low),
        high=at(known.high),
        beats=beats,
    )


def _beats(study: Study, known: TableEstimates, rows: list[int]) -> dict[int, float]:
    """The probability that each is better than the recommended candidate, from their joint posterior."""
    if known.best is None or known.mean is None or not rows:
        return {}
    listed = [known.best, *rows]
    points: Any = [study.table[index] for index in listed]
    joint = study.looked(lambda optimizer: optimizer.covariance(points if study.table.named else np.array(points)))
    sign, means = (1 if known.maximizes else -1), known.mean
    found: dict[int, float] = {}
    for place, row in enumerate(rows, start=1):
        variance = float(joint[0, 0] + joint[place, place] - 2 * joint[0, place])
        gap = sign * float(means[row] - means[known.best])
        if row != known.best and variance > 0:
            found[row] = 0.5 * (1 + erf(gap / sqrt(2 * variance)))
    return found
