"""Candidates from what users have: an array, a data frame, a Space, files, or columns by name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix
from ostinato.candidates.columns import Codec, Levels, Numbers, on_log_scale
from ostinato.candidates.frames import FrameRows
from ostinato.candidates.identifiers import remark_dates, remark_identifiers, remark_numbers
from ostinato.candidates.mapped import mapped_array, mapped_parquet
from ostinato.candidates.rows import ArrayRows, ListedRows, as_python
from ostinato.candidates.sampled import Sampled
from ostinato.candidates.space import Space
from ostinato.candidates.table import Candidates
from ostinato.checks import LARGEST, brief
from ostinato.errors import InvalidCandidates


def read_candidates(source: Any, *, logs: bool = False) -> Candidates:
    """Candidates from an array, a data frame that narwhals reads, a Space, columns or rows by name, or Parquet files.

    logs: whether columns of numbers that spread over decades are seen on a logarithmic scale, as a learned kernel
    should; one that the user gives speaks of the numbers as they are.
    """
    table = _read(source)
    return table.on_logs() if logs else table


def _read(source: Any) -> Candidates:
    if isinstance(source, Candidates):
        return source
    if isinstance(source, Space) and not source.enumerable:
        return Sampled(source)
    if isinstance(source, Space):
        table = source.enumerate()
        return Candidates(table.features(), table.codecs, table, named=True)
    if isinstance(source, Path) or (isinstance(source, str) and source.endswith(".parquet")):
        return mapped_parquet(source)
    mapped = mapped_array(source)
    if mapped is not None:
        return mapped
    columns = _columns_of(source)
    if columns is not None:
        return remarked(listed(columns))
    try:
        frame = nw.from_native(source, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InvalidCandidates(f"The data frame's column names are not all different: {error}") from None
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame)  # pyright: ignore[reportUnknownArgumentType]
    return _read_array(source)


def _columns_of(source: Any) -> dict[str, list[Any]] | None:
    """Columns by name, of a dict of columns or a list of dicts; None of anything else."""
    if isinstance(source, Mapping) and source:
        columns = cast("Mapping[Any, Any]", source)
        if all(np.ndim(values) == 1 for values in columns.values()):
            return {str(name): [as_python(value) for value in values] for name, values in columns.items()}
    if isinstance(source, (list, tuple)) and source:
        rows = cast("Sequence[Any]", source)
        if all(isinstance(row, Mapping) for row in rows) and rows[0]:
            return columns_by_name(rows)
    return None


def columns_by_name(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The columns of rows that all have the same ones."""
    if any(row.keys() != rows[0].keys() for row in rows):
        raise InvalidCandidates("The rows do not all have the same columns: give every row all of them.")
    return {str(name): [as_python(row[name]) for row in rows] for name in rows[0]}


def remarked(table: Candidates) -> Candidates:
    """A table, once it is said what may be wrong with its columns."""
    remark_identifiers(table)
    remark_dates(table)
    return table


def _read_array(source: Any) -> Candidates:
    try:
        array = np.ma.asanyarray(source) if np.ma.isMaskedArray(source) else np.asarray(source)
    except ValueError as error:
        raise InvalidCandidates(f"The candidates are no table: {error}") from None
    if array.ndim == 1 and array.dtype.kind in "iufb":
        array = array[:, None]
    if array.ndim != 2:
        raise InvalidCandidates(
            f"Candidates of type {type(source).__name__} and shape {array.shape} are no table: give a 2-D array "
            "(a row a candidate), a list of dicts, a pandas, polars or pyarrow data frame, or a Space."
        )
    codecs = [Numbers(j) for j in range(array.shape[1])]
    columns = [codec.encode(array[:, j]) for j, codec in enumerate(codecs)]
    features = np.stack(columns, axis=1) if columns else np.zeros((len(array), 0))
    _check_widths(codecs, features)
    return Candidates(features, codecs, ArrayRows(array.copy()), named=False)


def _read_frame(frame: "nw.DataFrame[Any]") -> Candidates:
    codecs: list[Codec] = []
    columns: list[NDArray[np.float64]] = []
    for place, name in enumerate(frame.columns):
        series = frame[:, place]
        if series.null_count():
            row = int(np.flatnonzero(series.is_null().to_numpy())[0])
            raise InvalidCandidates(
                f"Column {name!r} has no value in row {row}: every candidate needs all its columns. Drop such rows, or "
                "fill them in."
            )
        codec = _codec(name, series)
        codecs.append(codec)
        columns.append(codec.encode(series.to_numpy() if isinstance(codec, Numbers) else series.to_list()))
    features = np.stack(columns, axis=1) if columns else np.zeros((len(frame), 0))
    _check_widths(codecs, features)
    return remarked(Candidates(features, codecs, FrameRows(frame.clone()), named=True))


def _codec(name: str, series: "nw.Series[Any]") -> Codec:
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Numbers(name)
    if isinstance(dtype, nw.Enum):
        return Levels(name, tuple(dtype.categories), ordered=True)
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Object)):
        levels = tuple(sorted(set(series.to_list()), key=_by_type_and_value))
        if not isinstance(dtype, nw.Categorical):  # which says that categories are meant
            remark_numbers(name, levels)
        return Levels(name, levels)
    raise InvalidCandidates(
        f"Column {name!r} holds {dtype}, which has no meaning as a feature: turn it into numbers (for dates, days "
        "since a start) or into text."
    )


def _by_type_and_value(level: Any) -> tuple[str, Any]:
    return type(cast("object", level)).__name__, level


def listed(columns: Mapping[str, list[Any]]) -> Candidates:
    """Candidates from columns by name: numbers (true and false too), or texts, which are categories."""
    codecs: list[Any] = []
    if len({len(values) for values in columns.values()}) > 1:
        sizes = ", ".join(f"{name} {len(values):,}" for name, values in columns.items())
        raise InvalidCandidates(f"The columns have different numbers of rows ({sizes}): give all as many.")
    for name, values in columns.items():
        texts = any(isinstance(value, str) for value in values)
        other = next((row for row, value in enumerate(values) if texts and not isinstance(value, str)), None)
        if other is not None:
            raise InvalidCandidates(
                f"Column {name!r} holds {brief(values[other])} in row {other}, and texts elsewhere: give texts or "
                "numbers, and not both."
            )
        codecs.append(Levels(name, tuple(sorted(set(values)))) if texts else Numbers(name))
    features = np.stack([codec.encode(values) for codec, values in zip(codecs, columns.values(), strict=True)], axis=1)
    _check_widths(codecs, features)
    return Candidates(features, codecs, ListedRows(tuple(columns), tuple(columns.values())), named=True)


def _check_widths(codecs: Sequence[Codec], features: Matrix) -> None:
    """Whether one can compute with every column of numbers, as with the ranges of a space."""
    for codec, values in zip(codecs, features.T, strict=True):
        if not (isinstance(codec, Numbers) and len(values)):
            continue
        low, high = float(np.min(values)), float(np.max(values))
        if high - low > LARGEST / 10 and on_log_scale(codec.name, values) is None:
            raise InvalidCandidates(
                f"Column {codec.name!r} goes from {low!r} to {high!r}, which is too wide to compute with: its width "
                "cannot be squared in float64. Use other units, or give its logarithm."
            )
