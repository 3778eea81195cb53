"""The candidate set: what can be evaluated, in the user's own words outside and as numbers inside.

Outside, a candidate is an index into the user's table, or a row of it. Inside, identical rows are one
candidate, numbered in order of first appearance; `number_of` and `index_of` translate.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, cast

import msgspec
import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.candidates.columns import Codec, Levels, Logs, Numbers, on_log_scale
from ostinato.candidates.space import Space
from ostinato.checks import is_whole, shown
from ostinato.errors import DuplicateCandidates, InvalidCandidates, UnknownCandidate, notify
from ostinato.kernels import Column

ROUNDING = 1e-9  # of a column's largest value: rows this close to a candidate are that candidate
TINY = 1e-300


class Candidates:
    """A table of candidates. Use `read_candidates` to make one."""

    def __init__(self, features: Matrix, codecs: Sequence[Codec], row: Callable[[int], Any], *, named: bool) -> None:
        if features.shape[0] == 0 or features.shape[1] == 0:
            raise InvalidCandidates(
                f"The candidate table has shape {features.shape}: give at least one row and one column."
            )
        self._codecs, self._row, self._named = codecs, row, named
        self.rows = len(features)
        self._first, self._numbers = _distinct(features)
        self.features = np.ascontiguousarray(features[self._first])
        self._by_row: dict[bytes, int] | None = None

    def __len__(self) -> int:
        """How many distinct candidates there are."""
        return len(self._first)

    def __getitem__(self, index: int) -> Any:
        """A row as the user knows it: a dict for named columns, else an array row."""
        return self._row(index)

    def packed(self) -> bytes:
        """All of it, as bytes from which `unpacked` makes it again; equal bytes are equal candidates."""
        columns = getattr(self._row, "columns", None)
        values = (
            columns()
            if columns
            else [list(each) for each in zip(*(self._row(i).values() for i in range(self.rows)), strict=True)]
        )
        dtype = self._row.array.dtype.str if isinstance(self._row, ArrayRows) else None
        try:
            return msgspec.json.encode(Packed(self._named, dtype, [_packed(codec) for codec in self._codecs], values))
        except TypeError as error:
            raise InvalidCandidates(f"These candidates cannot be stored ({error}): use numbers and texts.") from None

    def on_logs(self) -> "Candidates":
        """The same candidates, with columns that spread over decades on a logarithmic scale."""
        codecs, features = list(self._codecs), self.features.copy()
        for j, codec in enumerate(codecs):
            logs = on_log_scale(codec.column.name, features[:, j]) if isinstance(codec, Numbers) else None
            if logs is not None:
                codecs[j], features[:, j] = logs, logs.encode(features[:, j])
        other = copy(self)
        other._codecs, other.features, other._by_row = codecs, features, None
        return other

    @property
    def columns(self) -> list[Column]:
        return [codec.column for codec in self._codecs]

    @property
    def numbers(self) -> NDArray[np.intp]:
        """The candidate number of every row of the user's table."""
        return self._numbers

    @property
    def indices(self) -> NDArray[np.intp]:
        """The first row of the user's table for every candidate."""
        return self._first

    def index_of(self, number: int) -> int:
        """The first row of the user's table that is this candidate."""
        return int(self._first[number])

    def number_of(self, index: Any) -> int:
        """The candidate number of an index into the table."""
        if not 0 <= int(index) < self.rows:
            raise UnknownCandidate(
                f"Index {int(index)} is not in the table: its {self.rows:,} rows are 0 to {self.rows - 1}."
            )
        return int(self._numbers[int(index)])

    def named_by(self, where: Any) -> int | list[int]:
        """The candidate number that an index or a row names; or the numbers that several indices or rows name.

        A flat sequence as long as a row is a row; other flat sequences of whole numbers are indices. Where candidates
        have column names, rows are dicts or tables, and a sequence of whole numbers is always of indices.
        """
        if is_whole(where):
            return self.number_of(where)
        if _is_one_row(where):
            return self.find(self.encode(where))[0]
        if isinstance(where, (list, tuple, np.ndarray)):
            flat: NDArray[Any] = np.asarray(cast("Any", where))
            if flat.ndim == 0 and flat.dtype.kind in "iu":
                return self.number_of(flat)
            if flat.ndim == 1 and flat.dtype.kind in "iufb":
                return self._named_by_flat(flat, certain=isinstance(where, np.ndarray))
        return self.find(self.encode(where))

    def _named_by_flat(self, flat: NDArray[Any], *, certain: bool) -> int | list[int]:
        """`certain` says that a sequence as long as a row is one, as the arrays that `ask` gives are."""
        whole = flat.dtype.kind in "iu"
        as_long_as_a_row = not self._named and len(flat) == len(self._codecs)
        if whole and not as_long_as_a_row:
            return [self.number_of(index) for index in flat]
        rows = self.encode(flat)
        if whole and not certain and np.all((flat >= 0) & (flat < self.rows)):
            if self._lookup(rows[0]) is None:
                return [self.number_of(index) for index in flat]
            raise UnknownCandidate(
                f"{flat.tolist()} may be a row or {len(flat)} indices: give a row as an array, "
                f"np.array({flat.tolist()}), and indices one at a time."
            )
        numbers = self.find(rows)
        return numbers[0] if as_long_as_a_row else numbers

    def find(self, features: Matrix) -> list[int]:
        """The candidate numbers of rows of features, which may be off by rounding."""
        return [self._found(row, self._lookup(row)) for row in features]

    def _lookup(self, row: Vector) -> int | None:
        if self._by_row is None:
            self._by_row = {candidate.tobytes(): number for number, candidate in enumerate(self.features)}
        number = self._by_row.get(row.tobytes())
        if number is None:
            nearest, gap = self._nearest(row)
            number = nearest if gap <= ROUNDING else None
        return number

    def _nearest(self, row: Vector) -> tuple[int, float]:
        """The nearest candidate, and how far it is in units of the columns' largest values."""
        gaps = np.max(np.abs(self.features - row) / np.maximum(np.max(np.abs(self.features), axis=0), TINY), axis=1)
        number = int(np.argmin(gaps))
        return number, float(gaps[number])

    def _found(self, row: Vector, number: int | None) -> int:
        if number is not None:
            return number
        index = self.index_of(self._nearest(row)[0])
        raise UnknownCandidate(
            f"That row is not among the {len(self):,} candidates: only they can be measured. The nearest "
            f"is index {index}, {shown(self[index])}; predict answers for other points."
        )

    def encode(self, points: Any) -> Matrix:
        """Features of one row or of many, given as the table was: rows, dicts, or a data frame."""
        named = _named_columns(points)
        if named is not None:
            return self._encode_named(named)
        if self._named:
            raise UnknownCandidate(
                f"{shown(points)} has no column names, and the candidates have: give a dict, a list of dicts or a "
                f"data frame with the columns {', '.join(str(codec.column.name) for codec in self._codecs)}."
            )
        array = np.asarray(points)
        array = array[None, :] if array.ndim == 1 and len(array) == len(self._codecs) else np.atleast_1d(array)
        array = array[:, None] if array.ndim == 1 and len(self._codecs) == 1 else array
        if array.ndim != 2 or array.shape[1] != len(self._codecs):
            raise UnknownCandidate(
                f"{shown(points)} has shape {np.shape(points)}: a row has {len(self._codecs)} numbers, "
                "like the candidates."
            )
        return np.stack([codec.encode(array[:, j]) for j, codec in enumerate(self._codecs)], axis=1)

    def _encode_named(self, named: Mapping[Any, Any]) -> Matrix:
        wanted = [codec.column.name for codec in self._codecs]
        missing = [name for name in wanted if name not in named]
        unknown = [name for name in named if name not in wanted]
        if missing or (unknown and not self._named):
            raise UnknownCandidate(
                f"The columns {', '.join(map(repr, named))} do not match the candidates': "
                f"{', '.join(map(repr, wanted))} are needed."
            )
        return np.stack([codec.encode(named[codec.column.name]) for codec in self._codecs], axis=1)


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array, each the user's to change."""

    array: NDArray[Any]

    def __call__(self, index: int) -> NDArray[Any]:
        return self.array[index].copy()

    def columns(self) -> list[list[Any]]:
        return self.array.T.tolist()


@dataclass(frozen=True)
class FrameRows:
    """Rows of a data frame, as dicts."""

    frame: "nw.DataFrame[Any]"

    def __call__(self, index: int) -> dict[str, Any]:
        columns = self.frame.columns  # one by one: a row of the frame would make integers floats
        return {name: _plain(self.frame.get_column(name)[index]) for name in columns}

    def columns(self) -> list[list[Any]]:
        return [[_plain(value) for value in self.frame.get_column(name).to_list()] for name in self.frame.columns]


@dataclass(frozen=True)
class ListedRows:
    """Rows of columns by name, as dicts."""

    names: tuple[str, ...]
    listed: tuple[list[Any], ...]

    def __call__(self, index: int) -> dict[str, Any]:
        return {name: column[index] for name, column in zip(self.names, self.listed, strict=True)}

    def columns(self) -> list[list[Any]]:
        return list(self.listed)


def _plain(value: Any) -> Any:
    """NumPy's scalars as Python's own."""
    return cast("Any", value).item() if isinstance(value, np.generic) else value


class Packed(msgspec.Struct, frozen=True):
    """A table of candidates, to be stored."""

    named: bool
    dtype: str | None
    codecs: list[dict[str, Any]]
    columns: list[list[Any]]


CODECS: dict[str, type[Any]] = {kind.__name__: kind for kind in (Numbers, Logs, Levels)}


def _packed(codec: Any) -> dict[str, Any]:
    return {"kind": type(codec).__name__, **{name: getattr(codec, name) for name in codec.__dataclass_fields__}}


def _codec_of(kind: str, **fields: Any) -> Any:
    if "levels" in fields:
        fields["levels"] = tuple(fields["levels"])
    return CODECS[kind](**fields)


def listed(columns: Mapping[str, list[Any]]) -> Candidates:
    """Candidates from columns by name: numbers (true and false too), or texts, which are categories."""
    codecs: list[Any] = []
    for name, values in columns.items():
        texts = any(isinstance(value, str) for value in values)
        codecs.append(Levels(name, tuple(sorted(set(values)))) if texts else Numbers(name))
    features = np.stack([codec.encode(values) for codec, values in zip(codecs, columns.values(), strict=True)], axis=1)
    return Candidates(features, codecs, ListedRows(tuple(columns), tuple(columns.values())), named=True)


def unpacked(data: bytes) -> Candidates:
    """The candidates that were packed."""
    packed = msgspec.json.decode(data, type=Packed)
    codecs = [_codec_of(**given) for given in packed.codecs]
    features = np.stack([codec.encode(column) for codec, column in zip(codecs, packed.columns, strict=True)], axis=1)
    if packed.named:
        names = tuple(str(codec.name) for codec in codecs)
        return Candidates(features, codecs, ListedRows(names, tuple(packed.columns)), named=True)
    return Candidates(features, codecs, ArrayRows(np.array(packed.columns, dtype=packed.dtype).T), named=False)


def read_candidates(source: Any, *, logs: bool = False) -> Candidates:
    """Candidates from an array, a data frame that narwhals reads, or a Space.

    logs: whether columns of numbers that spread over decades are seen on a logarithmic scale, as a learned kernel
    should; one that the user gives speaks of the numbers as they are.
    """
    table = _read(source)
    return table.on_logs() if logs else table


def _read(source: Any) -> Candidates:
    if isinstance(source, Candidates):
        return source
    if isinstance(source, Space):
        table = source.enumerate()
        return Candidates(table.features(), table.codecs, table.__getitem__, named=True)
    try:
        frame = nw.from_native(source, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        raise InvalidCandidates(f"The data frame's column names are not all different: {error}") from None
    if isinstance(frame, nw.DataFrame):
        return _read_frame(frame)  # pyright: ignore[reportUnknownArgumentType]
    return _read_array(source)


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
            "(a row a candidate), a pandas, polars or pyarrow data frame, or a Space."
        )
    codecs = [Numbers(j) for j in range(array.shape[1])]
    columns = [codec.encode(array[:, j]) for j, codec in enumerate(codecs)]
    features = np.stack(columns, axis=1) if columns else np.zeros((len(array), 0))
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
    return Candidates(features, codecs, FrameRows(frame.clone()), named=True)


def _codec(name: str, series: "nw.Series[Any]") -> Codec:
    dtype = series.dtype
    if dtype.is_numeric() or dtype == nw.Boolean:
        return Numbers(name)
    if isinstance(dtype, nw.Enum):
        return Levels(name, tuple(dtype.categories), ordered=True)
    if isinstance(dtype, (nw.String, nw.Categorical, nw.Object)):
        return Levels(name, tuple(sorted(set(series.to_list()), key=_by_type_and_value)))
    raise InvalidCandidates(
        f"Column {name!r} holds {dtype}, which has no meaning as a feature: turn it into numbers (for dates, days "
        "since a start) or into text."
    )


def _by_type_and_value(level: Any) -> tuple[str, Any]:
    return type(cast("object", level)).__name__, level


def _is_one_row(where: Any) -> bool:
    """A dict; or one row of a pandas frame, which is a series with the columns for its index."""
    return isinstance(where, Mapping) or (hasattr(where, "to_dict") and np.ndim(where) == 1)


def _named_columns(points: Any) -> Mapping[Any, Any] | None:
    """Columns by name, where `points` is a dict, a list of dicts or a data frame; else None."""
    if _is_one_row(points):
        row = cast("Mapping[str, Any]", points if isinstance(points, Mapping) else points.to_dict())
        return {name: [value] for name, value in row.items()}
    if (
        isinstance(points, (list, tuple))
        and points
        and all(isinstance(row, Mapping) for row in cast("list[Any]", points))
    ):
        rows = cast("list[Mapping[str, Any]]", points)
        if any(set(row) != set(rows[0]) for row in rows):
            raise UnknownCandidate("The rows do not all have the same columns: give every row all of them.")
        return {name: [row[name] for row in rows] for name in rows[0]}
    frame: Any = nw.from_native(cast("Any", points), eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        table = cast("nw.DataFrame[Any]", frame)
        return {name: table[:, place].to_list() for place, name in enumerate(table.columns)}
    return None


def _distinct(features: Matrix) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First rows of the distinct candidates, in order of appearance; and the candidate number of every row."""
    rows = np.ascontiguousarray(features).view(np.dtype((np.void, features.shape[1] * 8))).ravel()
    _, first, inverse = np.unique(rows, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    merged = len(features) - len(first)
    if merged:
        notify(
            f"{merged:,} of the {len(features):,} candidate rows repeat an earlier row: they were merged, and "
            "measurements of any of them count for all.",
            DuplicateCandidates,
        )
    return first[order], rank[inverse]
