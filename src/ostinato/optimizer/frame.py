"""Measurements as a data frame, in the library that the user has."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias, cast

from ostinato.candidates import Candidates
from ostinato.candidates.rows import as_python
from ostinato.errors import InvalidSetting, MissingSetting

Library: TypeAlias = Literal["pandas", "polars", "pyarrow"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "pyarrow")
BEFORE, AFTER = ("number", "batch", "row"), ("value", "stderr", "count", "std")
NUMBERS = ("value", "stderr", "std")  # that may be missing


def frame_of(table: Candidates, told: Iterable[Any], library: Library | None = None) -> Any:
    """One row a measurement, or an average of `count`: number, batch and candidate, and the value, NaN if it failed.

    told: records with these fields. library: by default that of the candidates, else the first that is installed.
    """
    import narwhals.stable.v2 as nw  # data frames take a while to import

    chosen, rows = _chosen(table, library), list(told)
    own = {name: _own(name, table) for name in (*BEFORE, *AFTER)}
    columns: dict[str, list[Any]] = {own["number"]: [each.number for each in rows]}
    columns |= {own["batch"]: [each.batch for each in rows], own["row"]: [each.index for each in rows]}
    columns |= _cells(table, [each.index for each in rows])
    columns |= {own["value"]: [each.value for each in rows], own["stderr"]: [each.stderr for each in rows]}
    columns |= {own["count"]: [each.count for each in rows], own["std"]: [each.std for each in rows]}
    frame = nw.from_dict(columns, backend=chosen)
    return frame.with_columns(*(nw.col(own[name]).cast(nw.Float64) for name in NUMBERS)).to_native()


def _cells(table: Candidates, indices: Sequence[int]) -> dict[str, list[Any]]:
    """The candidates of some rows, by column."""
    seen: dict[int, list[Any]] = {index: _row(table[index]) for index in dict.fromkeys(indices)}
    names = [str(column.name) for column in table.columns]
    return {name: [seen[index][place] for index in indices] for place, name in enumerate(names)}


def _row(row: Any) -> list[Any]:
    values = cast("Mapping[str, Any]", row).values() if isinstance(row, Mapping) else row.tolist()
    return [as_python(value) for value in values]


def _own(name: str, table: Candidates) -> str:
    """A column of our own; marked where the candidates have one of that name."""
    return f"study's {name}" if name in [str(column.name) for column in table.columns] else name


def _chosen(table: Candidates, library: Library | None) -> Library:
    if library is not None:
        return installed(library)
    from ostinato.candidates.frames import FrameRows

    if isinstance(table.source, FrameRows):
        own = table.source.frame.implementation.value
        if own in LIBRARIES:
            return own
    return installed()


def installed(library: Library | None = None) -> Library:
    """The library that was asked for, or the first that is installed."""
    if library is not None:
        if library not in LIBRARIES:
            raise InvalidSetting(f"library={library!r} is unknown: give 'pandas', 'polars' or 'pyarrow'.")
        return library
    for each in LIBRARIES:
        if find_spec(each) is not None:
            return each
    raise MissingSetting("Data frames need pandas, polars or pyarrow: pip install one of them.")
