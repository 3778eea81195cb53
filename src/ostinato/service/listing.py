"""Candidates in a list: filtered and sorted as arrays, so that a million of them are not made into rows first.

The API's list is here; the dashboard's, which keeps what the model says of all candidates, sorts and filters likewise.
"""

from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.candidates.filtering import meeting
from ostinato.errors import NothingMeasured
from ostinato.optimizer import Optimizer
from ostinato.records import Prediction
from ostinato.service.schemas import CandidateOut, CandidatesOut
from ostinato.study import Study
from ostinato.study.exchange import plain
from ostinato.study.row_counts import RowCounts, counts_of


class ListQuery(msgspec.Struct, frozen=True):
    """Which candidates, in which order."""

    offset: int
    limit: int
    sort: str
    descending: bool
    where: tuple[str, ...]


def ordered(rows: NDArray[np.intp], keys: NDArray[Any] | None, *, descending: bool) -> NDArray[np.intp]:
    """Rows by their keys, one for every row of the table; ties, and without keys all, by their number."""
    if keys is None:
        return rows[::-1] if descending else rows
    own = keys[rows]
    return rows[np.argsort(-own if descending else own, kind="stable")]


def listed(study: Study, wanted: ListQuery) -> CandidatesOut:
    """The candidates that meet all conditions, some of them."""
    counts = counts_of(study)
    rows = np.flatnonzero(meeting(study.table, wanted.where, counts.own))
    page = ordered(rows, _keys(study, counts, wanted.sort), descending=wanted.descending)
    page = page[wanted.offset : wanted.offset + wanted.limit].tolist()
    found = [_shown(study, row, counts) for row in page]
    estimates = _predicted(study, [study.candidate(row) for row in page]) if page else None
    if estimates is not None:
        found = [_with(each, place, estimates) for place, each in enumerate(found)]
    end = wanted.offset + wanted.limit
    return CandidatesOut(candidates=found, total=len(rows), next=end if end < len(rows) else None)


def _keys(study: Study, counts: RowCounts, sort: str) -> NDArray[Any] | None:
    """By what to sort; None where that is by row, also before the model says anything."""
    if sort == "measured":
        return counts.measured
    estimates = _predicted(study, None) if sort in ("mean", "std") else None
    return None if estimates is None else np.asarray(estimates.mean if sort == "mean" else estimates.std)


def _predicted(study: Study, points: Any) -> Prediction | None:
    """What the model says; nothing before the first measurement."""

    def answer(optimizer: Optimizer) -> Prediction:
        return optimizer.predict(points)

    try:
        return study.looked(answer)
    except NothingMeasured:
        return None


def _shown(study: Study, row: int, counts: RowCounts) -> CandidateOut:
    measured, retired = int(counts.measured[row]), bool(counts.retired[row])
    return CandidateOut(row=row, candidate=plain(study.candidate(row)), measured=measured, retired=retired)


def _with(each: CandidateOut, place: int, estimates: Prediction) -> CandidateOut:
    low, high = estimates.interval()
    numbers = {"mean": estimates.mean, "std": estimates.std, "low": low, "high": high}
    return msgspec.structs.replace(each, **{name: float(values[place]) for name, values in numbers.items()})
