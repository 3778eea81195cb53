"""Measurements by candidate: every repeat, the average, and what is believed of the true value."""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from ostinato.checks import counted, whole
from ostinato.optimizer import Optimizer
from ostinato.plots.data.common import LEVEL, Series, basics, in_words, lacking, not_shown, row_of
from ostinato.plots.data.limits import beyond, limits
from ostinato.plots.source import Drawable, Source, finite

MOST = 20  # candidates
VALUES = 200  # single values of a candidate, at most


class Average(msgspec.Struct, frozen=True):
    """Measurements that were told as an average: their single values are not known."""

    value: float
    count: int
    std: float | None


class CandidateRow(msgspec.Struct, frozen=True, kw_only=True):
    """A candidate: how often it was measured, its single values, and its estimate with the 95% interval.

    values: the single ones; of very many, some, evenly spread over the order told. mean, low, high: of the true value;
    None where all of its measurements failed.
    """

    index: int
    label: str
    candidate: dict[str, Any]
    n: int
    failed: int
    average: float | None
    values: tuple[float, ...]
    averages: tuple[Average, ...]
    mean: float | None
    low: float | None
    high: float | None
    best: bool


class Measurements(Series, frozen=True, kw_only=True):
    """Candidates from the best to the worst, and how many others were measured; then those that only failed.

    shown: the range that an axis holds, where few values are so far off that they would flatten all others.
    """

    level: float = LEVEL
    rows: tuple[CandidateRow, ...] = ()
    others: int = 0
    shown: tuple[float, float] | None = None


class _Estimates(msgspec.Struct, frozen=True):
    """What is known of the candidates shown, before their single values are read."""

    series: dict[str, Any]
    rows: tuple[CandidateRow, ...] = ()
    others: int = 0
    missing: str = ""
    retired: str = ""
    note: str = f"Points: single measurements. Bars: {LEVEL:.0%} interval of the true value."


def measurements(what: Drawable, most: int = MOST) -> Measurements:
    """The best so many of the measured candidates, with every repeat."""
    source, limit = Source.of(what), whole("most", most)
    found: _Estimates = source.looked(lambda optimizer: _estimates(source.name, optimizer, limit))
    rows = _with_values(source, found.rows)
    note = found.note if rows else ""
    if found.others:
        note += f" {counted(found.others, 'other candidate was', 'other candidates were')} measured, and rank below."
    note += found.retired
    values = [(row.label, value) for row in rows for value in (*row.values, *(each.value for each in row.averages))]
    shown = limits([value for _, value in values], finite(end for row in rows for end in (row.low, row.high)))
    note += beyond(shown, values)
    return Measurements(**found.series, missing=found.missing, note=note, rows=rows, others=found.others, shown=shown)


def _estimates(name: str, optimizer: Optimizer, most: int) -> _Estimates:
    series, missing = basics(name, optimizer), lacking(optimizer)
    if optimizer.steps == 0 and not optimizer.failures:
        return _Estimates(series, missing=missing)
    failed = _only_failed(optimizer)
    if missing:
        return _Estimates(series, failed[:most], missing="" if failed else missing, note=missing)
    core = optimizer.core
    numbers = core.known.ranked(core.problem.priority)[0].tolist()
    shown = _rows(optimizer, numbers[:most])
    rows, others = (*shown, *failed[: most - len(shown)]), len(numbers) - len(shown)
    return _Estimates(series, rows, others, retired=not_shown(optimizer))


def _rows(optimizer: Optimizer, numbers: list[int]) -> tuple[CandidateRow, ...]:
    table, state, leader = optimizer.core.problem.table, optimizer.core.state, optimizer.core.answers.estimate(LEVEL)
    predicted = optimizer.predict([table[table.index_of(number)] for number in numbers])
    low, high = predicted.interval(LEVEL)
    rows = list[CandidateRow]()
    for place, number in enumerate(numbers):
        index = table.index_of(number)
        ends = leader.interval if index == leader.index else (float(low[place]), float(high[place]))
        row = row_of(table, index)
        rows.append(
            CandidateRow(
                index=index,
                label=in_words(row),
                candidate=row,
                n=state.history.counts[number],
                failed=state.failures[number],
                average=None,
                values=(),
                averages=(),
                mean=float(predicted.mean[place]),
                low=ends[0],
                high=ends[1],
                best=index == leader.index,
            )
        )
    return tuple(rows)


def _only_failed(optimizer: Optimizer) -> tuple[CandidateRow, ...]:
    """Candidates of which no measurement has a value."""
    table, state = optimizer.core.problem.table, optimizer.core.state
    never = [number for number, n in state.failures.items() if n and not state.history.counts[number]]
    rows = [(number, row_of(table, table.index_of(number))) for number in never]
    nothing: dict[str, Any] = {"average": None, "mean": None, "low": None, "high": None, "values": (), "averages": ()}
    return tuple(
        CandidateRow(
            index=table.index_of(number),
            label=in_words(row),
            candidate=row,
            n=0,
            failed=state.failures[number],
            best=False,
            **nothing,
        )
        for number, row in rows
    )


def _with_values(source: Source, rows: Sequence[CandidateRow]) -> tuple[CandidateRow, ...]:
    if not rows:
        return ()
    number_of, all_of = source.looked(lambda optimizer: _same_rows(optimizer, [row.index for row in rows]))
    values: dict[int, list[float]] = {row.index: [] for row in rows}
    averages: dict[int, list[Average]] = {row.index: [] for row in rows}
    for each in source.told(all_of):
        index = number_of[each.index]
        if each.count > 1 and each.value is not None:
            averages[index].append(Average(each.value, each.count, each.std))
        else:
            values[index] += finite([each.value])
    return tuple(_with(row, values[row.index], averages[row.index]) for row in rows)


def _same_rows(optimizer: Optimizer, indices: Sequence[int]) -> tuple[dict[int, int], list[int]]:
    """All rows of the table that are these candidates, with the row that each is shown as."""
    table = optimizer.core.problem.table
    numbers = {table.number_of(index): index for index in indices}
    same = np.flatnonzero(np.isin(table.numbers, list(numbers))).tolist()
    shown = {int(row): numbers[table.number_of(row)] for row in same}
    return shown, list(shown)


def _with(row: CandidateRow, values: list[float], averages: list[Average]) -> CandidateRow:
    total = len(values) + sum(each.count for each in averages)
    summed = sum(values) + sum(each.value * each.count for each in averages)
    places: list[int] = np.linspace(0, len(values) - 1, min(len(values), VALUES)).astype(int).tolist() if values else []
    return msgspec.structs.replace(
        row,
        average=summed / total if total else None,
        values=tuple(values[place] for place in places),
        averages=tuple(averages),
    )
