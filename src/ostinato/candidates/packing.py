"""Candidates as bytes, to be stored: equal bytes are equal candidates."""

from typing import Any

import msgspec
import numpy as np

from ostinato.candidates.columns import Absent, Levels, Logs, Numbers
from ostinato.candidates.parameters import Category, Float, Integer, Ordered, When
from ostinato.candidates.rows import ArrayRows, ListedRows, columns_of
from ostinato.candidates.sampled import Sampled
from ostinato.candidates.space import Space
from ostinato.candidates.table import Candidates
from ostinato.errors import InvalidCandidates, InvalidSetting

CODECS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Numbers, Logs, Levels, Absent)}
PARAMETERS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Float, Integer, Ordered, Category)}


class Packed(msgspec.Struct, frozen=True, omit_defaults=True):
    """A table of candidates, to be stored; in parts, where rows were added later."""

    named: bool
    dtype: str | None
    codecs: list[dict[str, Any]]
    columns: list[list[Any]]
    parts: list[int] = []
    space: dict[str, dict[str, Any]] = {}
    constraints: int = 0


def packed(table: Candidates) -> bytes:
    """All of a table, as bytes from which `unpacked` makes it again."""
    if isinstance(table, Sampled):
        return _packed_space(table)
    rows = table.source
    values = columns_of(rows, table.rows)
    dtype = rows.array.dtype.str if isinstance(rows, ArrayRows) else None
    parts = list(table.parts) if len(table.parts) > 1 else []
    return _encoded(Packed(table.named, dtype, [_packed(codec) for codec in table.codecs], values, parts))


def _encoded(packed: Packed) -> bytes:
    levels = [level for each in (*packed.codecs, *packed.space.values()) for level in each.get("levels", ())]
    try:
        if any(isinstance(level, (list, tuple)) for level in levels):
            raise TypeError("levels that are lists or tuples")
        return msgspec.json.encode(packed)
    except TypeError as error:
        raise InvalidCandidates(f"These candidates cannot be stored ({error}): use numbers and texts.") from None


def unpacked(data: bytes) -> Candidates:
    """The candidates that were packed."""
    packed = msgspec.json.decode(data, type=Packed)
    if packed.space:
        return _unpacked_space(packed)
    return _table(packed).in_parts(packed.parts or [len(packed.columns[0])])


def _packed_space(table: Sampled) -> bytes:
    """A space that cannot be listed, and its points that have indices."""
    space = table.space
    parameters = {name: _packed_parameter(each) for name, each in space.parameters.items()}
    columns = columns_of(table.source, table.rows)
    return _encoded(Packed(True, None, [], columns, [], parameters, len(space.constraints)))


def _unpacked_space(packed: Packed) -> Sampled:
    space = Space({name: _parameter_of(**fields) for name, fields in packed.space.items()})
    for _ in range(packed.constraints):
        space = space.where(_not_stored)
    rows = [dict(zip(packed.space, values, strict=True)) for values in zip(*packed.columns, strict=True)]
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
    return made(*fields["levels"]) if "levels" in fields else made(**fields)


def _table(packed: Packed) -> Candidates:
    codecs = [_codec_of(**given) for given in packed.codecs]
    features = np.stack([codec.encode(column) for codec, column in zip(codecs, packed.columns, strict=True)], axis=1)
    if packed.named:
        names = tuple(str(codec.column.name) for codec in codecs)
        return Candidates(features, codecs, ListedRows(names, tuple(packed.columns)), named=True)
    return Candidates(features, codecs, ArrayRows(np.array(packed.columns, dtype=packed.dtype).T), named=False)


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
