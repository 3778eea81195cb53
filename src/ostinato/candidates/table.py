"""The candidate set: what can be evaluated, in the user's own words outside and as numbers inside.

Outside, a candidate is an index into the user's table, or a row of it. Inside, identical rows are one
candidate, numbered in order of first appearance; `number_of` and `index_of` translate.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import AT_ONCE, Matrix, Vector
from ostinato.candidates.columns import Absent, Codec, Numbers, on_log_scale
from ostinato.candidates.rows import Rows
from ostinato.checks import brief, is_whole
from ostinato.errors import DuplicateCandidates, InvalidCandidates, UnknownCandidate, notify
from ostinato.kernels import Column

ROUNDING = 1e-9  # of a column's largest value: rows this close to a candidate are that candidate
TINY = 1e-300
SINGLE = (float, np.floating, bool, np.bool_, type(None))  # no row, unless rows have one number
HASH = np.uint64(0x9E3779B97F4A7C15)  # an odd multiplier whose bits look random


class Candidates:
    """A table of candidates. Use `read_candidates` to make one."""

    def __init__(self, features: Matrix, codecs: Sequence[Codec], row: Rows, *, named: bool) -> None:
        if features.shape[0] == 0 or features.shape[1] == 0:
            raise InvalidCandidates(
                f"The candidate table has shape {features.shape}: give at least one row and one column."
            )
        self._codecs, self._row, self._named = codecs, row, named
        self.rows = len(features)
        self.parts: tuple[int, ...] = (self.rows,)  # rows that there were at first, and that were added each time
        self._first, self._numbers = _distinct(features)
        self.features = np.ascontiguousarray(features if len(self._first) == self.rows else features[self._first])
        self._by_row: dict[bytes, int] | None = None
        self._logs: Candidates | None = None

    def __len__(self) -> int:
        """How many distinct candidates there are."""
        return len(self._first)

    @property
    def source(self) -> Rows:
        """Where rows come from, as the user knows them."""
        return self._row

    @property
    def codecs(self) -> Sequence[Codec]:
        """How each column becomes numbers."""
        return self._codecs

    @property
    def named(self) -> bool:
        """Whether columns have names, and rows are dicts."""
        return self._named

    def __getitem__(self, index: int) -> Any:
        """A row as the user knows it: a dict for named columns, else an array row."""
        return self._row(index)

    def on_logs(self) -> "Candidates":
        """The same candidates, with columns that spread over decades on a logarithmic scale; found out once."""
        if self._logs is None:
            self._logs = self._on_logs()
        return self._logs

    def _on_logs(self) -> "Candidates":
        scales = [
            on_log_scale(codec.column.name, self.features[:, j]) if isinstance(codec, Numbers) else None
            for j, codec in enumerate(self._codecs)
        ]
        if not any(scales):
            return self
        other, features = copy(self), self.features.copy()
        for j, logs in enumerate(scales):
            if logs is not None:
                features[:, j] = logs.encode(features[:, j])
        other._codecs = [logs or codec for logs, codec in zip(scales, self._codecs, strict=True)]
        other.features, other._by_row, other._logs = features, None, other
        return other

    @property
    def grown(self) -> list[int]:
        """How many distinct candidates there were at first, and after each addition."""
        ends = np.cumsum(self.parts)
        return [int(np.max(self._numbers[:end])) + 1 for end in ends]

    def point(self, number: int) -> Any:
        """A candidate by its number, as the user knows it."""
        return self._row(self.index_of(number))

    def alike(self, number: int, columns: Sequence[int]) -> NDArray[np.bool_]:
        """Which candidates have the same values as this one in some columns; no value is like none but no value."""
        same = (self.features == self.features[number])[:, columns].all(axis=1)
        for column in columns:
            codec = self._codecs[column]
            if isinstance(codec, Absent) and self.features[number, column] == codec.at:  # which may be a value too
                absent = self._absent(np.flatnonzero(same), column)
                same[same] = absent == self._absent(np.array([number]), column)
        return same

    def _absent(self, numbers: NDArray[np.intp], column: int) -> NDArray[np.bool_]:
        """Which of some candidates have no value in a column."""
        name = self._codecs[column].column.name
        return np.array([self.point(number)[name] is None for number in numbers.tolist()], dtype=np.bool_)

    def row_at(self, feature: Vector) -> Any:
        """The candidate that has these features, but for rounding, as the user knows it."""
        return self.point(self.find(feature[None, :])[0])

    def holding(self, where: Any) -> "Candidates":
        """With indices for what is spoken of; a table has all there are."""
        return self

    def in_parts(self, parts: Sequence[int]) -> "Candidates":
        """The same, as it came about."""
        other = copy(self)
        other.parts, other._logs = tuple(parts), None
        return other

    @property
    def span(self) -> tuple[Vector, Vector]:
        """The lowest and the highest number of every column."""
        return np.min(self.features, axis=0), np.max(self.features, axis=0)

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
        if not self.rows:
            raise UnknownCandidate(f"Index {int(index)} is not there: no point was asked for or observed yet.")
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
        if is_one_row(where):
            return self.find(self.encode(where))[0]
        if isinstance(where, (str, bytes)) or (isinstance(where, SINGLE) and (self._named or len(self._codecs) > 1)):
            raise UnknownCandidate(
                f"{brief(where)} does not name a candidate: give a row number (a whole number), or the row's "
                f"{'columns as a dict' if self._named else f'{len(self._codecs)} numbers'}."
            )
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
            f"is index {index}, {brief(self[index])}; predict answers for other points."
        )

    def encode(self, points: Any) -> Matrix:
        """Features of one row or of many, given as the table was: rows, dicts, or a data frame."""
        named = self._named_columns(points)
        if named is not None:
            return self._encode_named(named)
        if self._named:
            raise UnknownCandidate(
                f"{brief(points)} has no column names, and the candidates have: give a dict, a list of dicts or a "
                f"data frame with the columns {', '.join(str(codec.column.name) for codec in self._codecs)}."
            )
        array = np.asarray(points)
        array = array[None, :] if array.ndim == 1 and len(array) == len(self._codecs) else np.atleast_1d(array)
        array = array[:, None] if array.ndim == 1 and len(self._codecs) == 1 else array
        if array.ndim != 2 or array.shape[1] != len(self._codecs):
            raise UnknownCandidate(
                f"{brief(points)} has shape {np.shape(points)}: a row has {len(self._codecs)} numbers, "
                "like the candidates."
            )
        return np.stack([codec.encode(array[:, j]) for j, codec in enumerate(self._codecs)], axis=1)

    def points(self, points: Any) -> Matrix:
        """Features of points that a user asks about, which need not be candidates."""
        return self.encode(points)

    def _named_columns(self, points: Any) -> Mapping[Any, Any] | None:
        """Columns by name, with None in those that may be left out; None where points have no names.

        Data frames may have other columns too, such as what was measured. In dicts these are mistakes.
        """
        named = named_columns(self._filled(points))
        if named is None:
            return None
        wanted = [codec.column.name for codec in self._codecs]
        unknown = [name for name in named if name not in wanted]
        if self._named and unknown and isinstance(points, (Mapping, list, tuple)):
            raise UnknownCandidate(
                f"{unknown[0]!r} is none of the candidates' columns: give {', '.join(map(repr, wanted))}, and nothing "
                "else."
            )
        return self._with_absent(named)

    def _filled(self, points: Any) -> Any:
        """Rows with None for what they may leave out."""
        optional = [codec.column.name for codec in self._codecs if isinstance(codec, Absent)]
        if not optional or not isinstance(points, (list, tuple)):
            return points
        rows = cast("Sequence[Any]", points)
        return [{**dict.fromkeys(optional), **row} if isinstance(row, Mapping) else row for row in rows]

    def _with_absent(self, named: Mapping[Any, Any]) -> Mapping[Any, Any]:
        """With None in columns that may be left out."""
        count = max((len(values) for values in named.values()), default=0)
        names = [codec.column.name for codec in self._codecs if isinstance(codec, Absent)]
        return {**dict.fromkeys(names, [None] * count), **named}

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


def is_empty(where: Any) -> bool:
    """Whether it is a sequence or a table of no candidates."""
    if isinstance(where, (str, bytes, Mapping)) or not hasattr(where, "__len__"):
        return False
    return getattr(where, "shape", None) != () and len(where) == 0


def is_one_row(where: Any) -> bool:
    """A dict; or one row of a pandas frame, which is a series with the columns for its index."""
    return isinstance(where, Mapping) or (hasattr(where, "to_dict") and np.ndim(where) == 1)


def named_columns(points: Any) -> Mapping[Any, Any] | None:
    """Columns by name, where `points` is a dict, a list of dicts or a data frame; else None."""
    if is_one_row(points):
        row = cast("Mapping[str, Any]", points if isinstance(points, Mapping) else points.to_dict())
        return {name: [_one_value(name, value)] for name, value in row.items()}
    if (
        isinstance(points, (list, tuple))
        and points
        and all(isinstance(row, Mapping) for row in cast("list[Any]", points))
    ):
        rows = cast("list[Mapping[str, Any]]", points)
        if any(set(row) != set(rows[0]) for row in rows):
            raise UnknownCandidate("The rows do not all have the same columns: give every row all of them.")
        return {name: [_one_value(name, row[name]) for row in rows] for name in rows[0]}
    from ostinato.candidates.frames import columns_in  # data frames take a while to import, and few rows are in one

    return columns_in(points)


def _one_value(name: Any, value: Any) -> Any:
    """What a row has in a column; a tuple may be a level."""
    if isinstance(value, np.ndarray) and cast("NDArray[Any]", value).ndim == 0:
        return cast("NDArray[Any]", value).item()
    if isinstance(value, (list, np.ndarray)):
        raise UnknownCandidate(
            f"{name} is {brief(value)}, which is not one value: give a row as a dict with one value a column, and "
            "several rows as a list of such dicts or a data frame."
        )
    return value


def _distinct(features: Matrix) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """First rows of the distinct candidates, in order of appearance; and the candidate number of every row."""
    everyone = np.arange(len(features))
    suspects, first = _alike(features), everyone
    if suspects.size:
        rows = np.ascontiguousarray(features[suspects]).view(np.dtype((np.void, features.shape[1] * 8))).ravel()
        _, places, inverse = np.unique(rows, return_index=True, return_inverse=True)
        first = everyone.copy()
        first[suspects] = suspects[places][inverse]
    kept = first == everyone
    merged = len(features) - int(np.count_nonzero(kept))
    if not merged:
        return everyone, everyone
    notify(
        f"{merged:,} of the {len(features):,} candidate rows repeat an earlier row: they were merged, and "
        "measurements of any of them count for all.",
        DuplicateCandidates,
    )
    return np.flatnonzero(kept), (np.cumsum(kept) - 1)[first]


def _alike(features: Matrix) -> NDArray[np.intp]:
    """The rows that share a hash with another row, in order: all that have an equal, and hardly any that have none."""
    hashes = np.zeros(len(features), dtype=np.uint64)
    for start in range(0, len(features), AT_ONCE):
        some = hashes[start : start + AT_ONCE]
        for column in features[start : start + AT_ONCE].T:
            some ^= np.ascontiguousarray(column).view(np.uint64)
            some *= HASH
            some ^= some >> np.uint64(29)
    ordered = np.sort(hashes)
    shared = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    return np.flatnonzero(np.isin(hashes, shared)) if shared.size else np.zeros(0, dtype=np.intp)
