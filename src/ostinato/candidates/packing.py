"""Candidates as bytes, to be stored: equal bytes are equal candidates."""

from typing import Any

import msgspec
import numpy as np

from ostinato.candidates.columns import Levels, Logs, Numbers
from ostinato.candidates.rows import ArrayRows, ListedRows, columns_of
from ostinato.candidates.table import Candidates
from ostinato.errors import InvalidCandidates

CODECS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Numbers, Logs, Levels)}


class Packed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table of candidates, to be stored; in parts, where rows were added later."""

    named: bool
    dtype: str | None
    codecs: list[dict[str, Any]]
    columns: list[list[Any]]
    parts: list[int] = []


def packed(table: Candidates) -> bytes:
    """All of a table, as bytes from which `unpacked` makes it again."""
    rows = table.source
    values = columns_of(rows, table.rows)
    dtype = rows.array.dtype.str if isinstance(rows, ArrayRows) else None
    try:
        parts = list(table.parts) if len(table.parts) > 1 else []
        codecs = [_packed(codec) for codec in table.codecs]
        return msgspec.json.encode(Packed(table.named, dtype, codecs, values, parts))
    except TypeError as error:
        raise InvalidCandidates(f"These candidates cannot be stored ({error}): use numbers and texts.") from None


def unpacked(data: bytes) -> Candidates:
    """The candidates that were packed."""
    packed = msgspec.json.decode(data, type=Packed)
    return _table(packed).in_parts(packed.parts or [len(packed.columns[0])])


def _table(packed: Packed) -> Candidates:
    codecs = [_codec_of(**given) for given in packed.codecs]
    features = np.stack([codec.encode(column) for codec, column in zip(codecs, packed.columns, strict=True)], axis=1)
    if packed.named:
        names = tuple(str(codec.name) for codec in codecs)
        return Candidates(features, codecs, ListedRows(names, tuple(packed.columns)), named=True)
    return Candidates(features, codecs, ArrayRows(np.array(packed.columns, dtype=packed.dtype).T), named=False)


def _packed(codec: Any) -> dict[str, Any]:
    return {"kind": type(codec).__name__, **{name: getattr(codec, name) for name in codec.__dataclass_fields__}}


def _codec_of(kind: str, **fields: Any) -> Any:
    if "levels" in fields:
        fields["levels"] = tuple(fields["levels"])
    return CODECS[kind](**fields)
