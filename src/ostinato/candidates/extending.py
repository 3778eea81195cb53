"""A table with more rows: the old ones stay as they are, with their numbers; columns must be the same."""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from ostinato.arrays import Matrix
from ostinato.candidates.columns import Codec, Levels
from ostinato.candidates.gridded import GridTable
from ostinato.candidates.reading import columns_by_name, listed, read_candidates
from ostinato.candidates.rows import ArrayRows, ListedRows, Rows, columns_of
from ostinato.candidates.sampled import Sampled
from ostinato.candidates.sharded import ShardedTable
from ostinato.candidates.table import Candidates
from ostinato.checks import brief
from ostinato.errors import InvalidCandidates

EXACT = 2**53  # up to here float64 holds all whole numbers


def extended(table: Candidates, more: Any, *, again: bool = False) -> Candidates:
    """A table and more rows: a table like it, rows, or one row.

    again: whether rows that are there already are kept as rows of their own; else they are left out.
    """
    if isinstance(table, Sampled | GridTable):
        raise InvalidCandidates("A space has all its points already: observe any of them, or begin with a wider one.")
    added = _read(table, more)
    _check_columns(table, added)
    codecs = [_extended(old, new) for old, new in zip(table.codecs, added.codecs, strict=True)]
    columns = columns_of(added.source, added.rows)
    features = np.stack([codec.encode(column) for codec, column in zip(codecs, columns, strict=True)], axis=1)
    if isinstance(table, ShardedTable):
        new = list(range(added.rows)) if again else table.unlike_all(features)
        return table.with_rows(features[new], codecs) if new else table
    rows = list(range(added.rows)) if again else _new(table.features, features)
    if not rows:
        return table
    everything = np.concatenate([table.features[table.numbers], features[rows]])
    return Candidates(everything, codecs, _joined(table, added, rows), named=table.named).in_parts(
        [*table.parts, len(rows)]
    )


def _new(old: Matrix, features: Matrix) -> list[int]:
    """The rows that are not there yet, each once."""
    seen, rows = {row.tobytes() for row in old}, list[int]()
    for place, row in enumerate(np.ascontiguousarray(features)):
        if row.tobytes() not in seen:
            seen.add(row.tobytes())
            rows.append(place)
    return rows


def _joined(table: Candidates, added: Candidates, rows: list[int]) -> Rows:
    """Rows as the user knows them: all of one table, and some of another."""
    if isinstance(table.source, ArrayRows) and isinstance(added.source, ArrayRows):
        return ArrayRows(np.concatenate([table.source.array, added.source.array[rows]]))
    names = tuple(str(column.name) for column in table.columns)
    both = zip(columns_of(table.source, table.rows), columns_of(added.source, added.rows), strict=True)
    return ListedRows(names, tuple([*old, *_of_one_kind(old, [new[row] for row in rows])] for old, new in both))


def _of_one_kind(old: list[Any], new: list[Any]) -> list[Any]:
    """New values of a column: 60 as 60.0 where all numbers were written so, if that is the same number."""
    if not all(type(value) is float for value in old):
        return new
    return [float(value) if type(value) is int and abs(value) <= EXACT else value for value in new]


def _read(table: Candidates, more: Any) -> Candidates:
    if table.named:
        rows: Any = [more] if _is_row(more) else more
        if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in cast("list[Any]", rows)):
            return _in_order(table, listed(columns_by_name(cast("list[dict[str, Any]]", rows))))
        return _in_order(table, read_candidates(rows))
    single = np.ndim(more) == 1 and np.size(more) == len(table.codecs)
    return read_candidates(np.asarray(more)[None, :] if single else more)


def _is_row(given: Any) -> bool:
    """Whether it is one row by its columns; a dict of whole columns is a table."""
    return isinstance(given, dict) and not all(np.ndim(each) == 1 for each in cast("dict[str, Any]", given).values())


def _in_order(table: Candidates, added: Candidates) -> Candidates:
    """The same rows with their columns in the order of the table, where they have the same ones."""
    names, others = ([codec.column.name for codec in each.codecs] for each in (table, added))
    if names == others or set(names) != set(others):
        return added
    columns = dict(zip(others, columns_of(added.source, added.rows), strict=True))
    return listed({str(name): columns[name] for name in names})


def _check_columns(table: Candidates, added: Candidates) -> None:
    names, others = ([codec.column.name for codec in each.codecs] for each in (table, added))
    if table.named != added.named or names != others:
        raise InvalidCandidates(
            f"The new rows have the columns {brief(others)}, and the candidates {brief(names)}: columns do not change. "
            "Give the same ones."
        )
    for old, new in zip(table.codecs, added.codecs, strict=True):
        if isinstance(old, Levels) != isinstance(new, Levels):
            kinds = ["categories" if isinstance(each, Levels) else "numbers" for each in (old, new)]
            texts = [level for level in new.levels if not _is_number(level)] if isinstance(new, Levels) else []
            such = f", such as {brief(texts[0])}" if texts else ""
            raise InvalidCandidates(
                f"Column {str(old.column.name)!r} holds {kinds[0]}, and in the new rows {kinds[1]}{such}: types do not "
                f"change. Give {'texts' if isinstance(old, Levels) else 'numbers'} there."
            )


def _is_number(level: Any) -> bool:
    try:
        return float(level) == float(level)
    except (TypeError, ValueError):
        return False


def _extended(old: Codec, new: Codec) -> Codec:
    """Levels that were not there before come last; those of an order cannot be added to."""
    if not (isinstance(old, Levels) and isinstance(new, Levels)):
        return old
    unseen = tuple(level for level in new.levels if level not in old.levels)
    if unseen and old.ordered:
        raise InvalidCandidates(
            f"Column {old.name!r} is ordered and has no level {unseen[0]!r}: its levels are {brief(list(old.levels))}."
        )
    return replace(old, levels=old.levels + unseen)
