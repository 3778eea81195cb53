"""Candidates as bytes, to be stored: a head that says what they are, and for large tables blocks of rows."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Any
from zlib import compress, decompress

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.candidates import blocks
from ostinato.candidates.columns import Absent, Levels, Logs, Numbers
from ostinato.candidates.parameters import Category, Float, Integer, Ordered, When
from ostinato.candidates.rows import ArrayColumns, ArrayRows, ListedRows, Texts, arrays_of, columns_of
from ostinato.candidates.sampled import Sampled
from ostinato.candidates.shard import row_in_files
from ostinato.candidates.sharded import ShardedTable
from ostinato.candidates.space import Space
from ostinato.candidates.table import Candidates
from ostinato.checks import brief
from ostinato.errors import InvalidCandidates, InvalidSetting

CODECS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Numbers, Logs, Levels, Absent)}
LISTED = 10_000  # rows up to which a table is stored as a list of values
PARAMETERS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Float, Integer, Ordered, Category)}


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a table of candidates is, to be stored; in parts, where rows were added later.

    Its values are in `columns`; those of a large table in blocks, of so many rows each. shards: of a table on a Dask
    cluster, where its files are and what they hold; only rows that were added later are stored, in `columns`.
    """

    named: bool
    dtype: str | None
    codecs: list[dict[str, Any]]
    columns: list[list[Any]]
    parts: list[int] = []
    space: dict[str, dict[str, Any]] = {}
    constraints: int = 0
    blocks: list[int] = []
    shards: dict[str, Any] = {}

    @property
    def rows(self) -> int:
        if self.shards:
            return self.parts[0] + sum(map(len, self.columns[:1]))
        return sum(self.blocks) if self.blocks else len(self.columns[0])


@dataclass(frozen=True, eq=False)
class Packed:
    """A table ready to be stored. Equal digests are equal candidates; how they are compressed does not count."""

    told: Head
    _plain: bytes
    _columns: list[NDArray[Any]] = field(default_factory=list[NDArray[Any]])
    identity: bytes = b""  # by which equal candidates are known, where that is not all that is stored

    @cached_property
    def head(self) -> bytes:
        return compress(self._plain)

    @cached_property
    def digest(self) -> str:
        found = sha256(self.identity or self._plain)
        for column in self._columns:
            found.update(column.dtype.str.encode())
            found.update(np.ascontiguousarray(column).data)
        return found.hexdigest()

    def blocks(self, after: int = 0) -> list[bytes]:
        """Its rows, in blocks; from some block on."""
        ends = np.cumsum([0, *self.told.blocks]).tolist()
        pairs = pairwise(ends[after:])
        return [blocks.encoded([column[start:stop] for column in self._columns]) for start, stop in pairs]


def packed(table: Candidates) -> Packed:
    """All of a table, as bytes from which `unpacked` makes it again."""
    if isinstance(table, Sampled):
        return _packed_space(table)
    if isinstance(table, ShardedTable):
        return _packed_shards(table)
    rows = table.source
    dtype = rows.array.dtype.str if isinstance(rows, ArrayRows) else None
    parts = list(table.parts) if len(table.parts) > 1 else []
    codecs, columns = [_packed(codec) for codec in table.codecs], stored_columns(table) if table.rows > LISTED else None
    if columns is None:
        return _encoded(Head(table.named, dtype, codecs, columns_of(rows, table.rows), parts))
    sizes = [stop - start for start, stop in blocks.starts(table.parts)]
    return _encoded(Head(table.named, dtype, codecs, [], parts, blocks=sizes), columns)


def stored_columns(table: Candidates) -> list[NDArray[Any]] | None:
    """Every column as an array, categories by the number of their level; None where one is of no plain type."""
    arrays, columns = arrays_of(table.source, table.rows), list[NDArray[Any]]()
    for j, (codec, array) in enumerate(zip(table.codecs, arrays, strict=True)):
        if isinstance(array, np.ndarray):
            columns.append(array)
        elif isinstance(codec, Levels) and (
            isinstance(array, Texts) or all(type(each) is str for each in codec.levels)
        ):
            columns.append(table.features[table.numbers, j].astype("<u4"))
        else:
            return None
    return columns


def unlike(one: Candidates, two: Candidates) -> Sequence[int]:
    """Rows, of those that both tables have, that may differ, in order; the columns are the same."""
    shared = range(min(one.rows, two.rows))
    if len(shared) <= LISTED:
        return shared
    first, second = stored_columns(one), stored_columns(two)
    if first is None or second is None or _dtype_of(one) != _dtype_of(two):
        return shared
    found = np.zeros(len(shared), dtype=np.bool_)
    for old, new, was, now in zip(one.codecs, two.codecs, first, second, strict=True):
        if _kind(old, was) != _kind(new, now):
            return shared
        before = _translation(old, new)[was] if _is_coded(old, was) else was
        found |= before[: len(shared)] != now[: len(shared)]
    return np.flatnonzero(found).tolist()


def _kind(codec: Any, column: NDArray[Any]) -> str:
    """Columns of one kind are alike where they are equal."""
    return "level" if _is_coded(codec, column) else column.dtype.kind.replace("u", "i")


def _dtype_of(table: Candidates) -> Any:
    return table.source.array.dtype if isinstance(table.source, ArrayRows) else None


def _translation(one: Any, two: Any) -> NDArray[np.int64]:
    """The number that each level of one codec has in another; −1 for those that it does not have."""
    places = {level: place for place, level in enumerate(two.levels)}
    return np.array([places.get(level, -1) for level in one.levels], dtype=np.int64)


def _encoded(told: Head, columns: list[NDArray[Any]] | None = None) -> Packed:
    levels = [level for each in (*told.codecs, *told.space.values()) for level in each.get("levels", ())]
    try:
        if any(isinstance(level, (list, tuple)) for level in levels):
            raise TypeError("levels that are lists or tuples")
        return Packed(told, msgspec.json.encode(told), columns or [])
    except TypeError as error:
        raise InvalidCandidates(f"These candidates cannot be stored ({error}): use numbers and texts.") from None


def head_of(stored: bytes) -> Head:
    """What was stored first of some candidates."""
    return msgspec.json.decode(decompress(stored), type=Head)


def unpacked(head: Head, stored: Sequence[bytes] = ()) -> Candidates:
    """The candidates that were packed."""
    if head.space:
        return _unpacked_space(head)
    table = _of_blocks(head, stored) if head.blocks else _table(head)
    return table.in_parts(head.parts or [table.rows])


def row_of(head: Head, index: int, block: Callable[[int], bytes]) -> Any:
    """One row of a large table, as the user knows it, from the one block or file that holds it; None if that is away.

    Files on a cluster need not be within reach.
    """
    if head.shards:
        return _row_of_shards(head, index)
    ends = np.cumsum(head.blocks)
    number = int(np.searchsorted(ends, index, side="right"))
    place = index - int(ends[number]) + head.blocks[number]
    codecs = [_codec_of(**given) for given in head.codecs]
    columns = [column[place : place + 1] for column in blocks.decoded(block(number))]
    return _rows(head, codecs, columns)(0)


def _row_of_shards(head: Head, index: int) -> dict[str, Any] | None:
    names = [each["name"] for each in head.codecs]
    if index >= head.parts[0]:
        return {name: column[index - head.parts[0]] for name, column in zip(names, head.columns, strict=True)}
    return row_in_files(head.shards["path"], list(zip(names, head.shards["kinds"], strict=True)), index)


def _of_blocks(head: Head, stored: Sequence[bytes]) -> Candidates:
    codecs = [_codec_of(**given) for given in head.codecs]
    columns = [np.concatenate(column) for column in zip(*map(blocks.decoded, stored), strict=True)]
    numbers = [
        column.astype(np.float64) if _is_coded(codec, column) else codec.encode(column)
        for codec, column in zip(codecs, columns, strict=True)
    ]
    return Candidates(np.stack(numbers, axis=1), codecs, _rows(head, codecs, columns), named=head.named)


def _rows(head: Head, codecs: Sequence[Any], columns: Sequence[NDArray[Any]]) -> ArrayRows | ArrayColumns:
    """Rows of columns as they were stored."""
    if not head.named:
        return ArrayRows(np.stack(columns, axis=1).astype(head.dtype, copy=False))
    names = tuple(str(codec.column.name) for codec in codecs)
    pairs = zip(codecs, columns, strict=True)
    held = [Texts(column, codec.levels) if _is_coded(codec, column) else column for codec, column in pairs]
    return ArrayColumns(names, tuple(held))


def _is_coded(codec: Any, column: NDArray[Any]) -> bool:
    """Whether a column holds the numbers of levels: no other has their type."""
    return isinstance(codec, Levels) and column.dtype == np.dtype("<u4")


def _packed_shards(table: ShardedTable) -> Packed:
    """Where the files are, and what they hold; the same files elsewhere are the same candidates."""
    codecs = [_packed(codec) for codec in table.codecs]
    head = Head(True, None, codecs, table.added, list(table.parts), shards={**table.identity, "path": table.path})
    alike = msgspec.structs.replace(head, shards=table.identity)
    return Packed(head, msgspec.json.encode(head), identity=msgspec.json.encode(alike))


def _packed_space(table: Sampled) -> Packed:
    """A space that cannot be listed, and its points that have indices."""
    space = table.space
    for name, parameter in space.parameters.items():
        _check_survives(name, parameter.parameter if isinstance(parameter, When) else parameter)
    parameters = {name: _packed_parameter(each) for name, each in space.parameters.items()}
    columns = columns_of(table.source, table.rows)
    return _encoded(Head(True, None, [], columns, [], parameters, len(space.constraints)))


def _check_survives(name: str, parameter: Any) -> None:
    """Whether levels are read as they were written: dates would be read as texts."""
    levels = parameter.values if isinstance(parameter, (Ordered, Category)) else ()
    for level in levels:
        with suppress(TypeError):  # which `_encoded` says
            if msgspec.json.decode(msgspec.json.encode(level)) != level and not isinstance(level, tuple):
                raise InvalidCandidates(
                    f"The level {brief(level)} of {name!r} is a {type(level).__name__}, which cannot be stored as it "
                    "is: use numbers and texts."
                )


def _unpacked_space(head: Head) -> Sampled:
    space = Space({name: _parameter_of(**fields) for name, fields in head.space.items()})
    for _ in range(head.constraints):
        space = space.where(_not_stored)
    rows = [dict(zip(head.space, values, strict=True)) for values in zip(*head.columns, strict=True)]
    return Sampled(space).with_named(rows)


def _not_stored(candidate: dict[str, Any]) -> bool:
    raise InvalidSetting(
        "The space of this study was narrowed by .where(…), which is Python code and is not stored: give the space "
        "again, Study(name, storage, space)."
    )


def _packed_parameter(parameter: Any) -> dict[str, Any]:
    kind = type(parameter).__name__
    if isinstance(parameter, When):
        return {"kind": kind, "parameter": _packed_parameter(parameter.parameter), "conditions": parameter.conditions}
    if isinstance(parameter, (Ordered, Category)):
        return {"kind": kind, "levels": list(parameter.values)}
    return {"kind": kind, **{name: getattr(parameter, name) for name in parameter.__dataclass_fields__}}


def _parameter_of(kind: str, **fields: Any) -> Any:
    if kind == "When":
        conditions = {name: tuple(allowed) for name, allowed in fields["conditions"].items()}
        return When(_parameter_of(**fields["parameter"]), conditions)
    made: Any = PARAMETERS[kind]
    return made.stored(fields["levels"]) if "levels" in fields else made(**fields)


def _table(head: Head) -> Candidates:
    codecs = [_codec_of(**given) for given in head.codecs]
    features = np.stack([codec.encode(column) for codec, column in zip(codecs, head.columns, strict=True)], axis=1)
    if head.named:
        names = tuple(str(codec.column.name) for codec in codecs)
        return Candidates(features, codecs, ListedRows(names, tuple(head.columns)), named=True)
    return Candidates(features, codecs, ArrayRows(np.array(head.columns, dtype=head.dtype).T), named=False)


def _packed(codec: Any) -> dict[str, Any]:
    if isinstance(codec, Absent):
        return {"kind": "Absent", "codec": _packed(codec.codec), "at": codec.at}
    return {"kind": type(codec).__name__, **{name: getattr(codec, name) for name in codec.__dataclass_fields__}}


def _codec_of(kind: str, **fields: Any) -> Any:
    if kind == "Absent":
        return Absent(_codec_of(**fields["codec"]), fields["at"])
    if "levels" in fields:
        fields["levels"] = tuple(fields["levels"])
    return CODECS[kind](**fields)
