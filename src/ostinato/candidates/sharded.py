"""A table on a Dask cluster: candidates of Parquet files, more than one machine need hold.

Workers read the files, and hold features and all that is computed of them. The driver holds codecs, the rows that it
looked at, and those that were added later. Rows that repeat an earlier one are left out, as of any table.
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from math import prod, sqrt
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.candidates.columns import EVENER, WIDE, Codec, Levels, Logs, Numbers
from ostinato.candidates.shard import (
    KINDS,
    Gaps,
    Shard,
    axes_of,
    checksum_of,
    divided,
    files_at,
    gaps_of,
    hashed,
    nearest,
    same_columns,
    sample_of,
    sharing,
    span_of,
)
from ostinato.candidates.shards import Shards, Traffic, connected, divide
from ostinato.candidates.table import ROUNDING, TINY, Candidates
from ostinato.errors import DuplicateCandidates, InvalidSetting, UnknownCandidate, notify

T = TypeVar("T")
AT_ONCE = 1_000_000  # rows, at most, that are fetched from workers at once


class ShardedFeatures:
    """The features of all candidates, of which a few are looked at; with some columns on a logarithmic scale."""

    ndim = 2

    def __init__(self, shards: Shards, logs: Sequence[Logs | None]) -> None:
        self.shards, self.logs = shards, tuple(logs)

    def __len__(self) -> int:
        return len(self.shards)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.shards), len(self.logs)

    def __getitem__(self, which: Any) -> Any:
        if isinstance(which, tuple):
            rows, column = cast("tuple[Any, Any]", which)
            return self[rows][..., column]
        if isinstance(which, slice):
            which = np.arange(*which.indices(len(self)))
        numbers = np.asarray(which, dtype=np.int64)
        if numbers.size > AT_ONCE:
            raise InvalidSetting(
                f"{numbers.size:,} candidates of a ShardedTable were asked for at once, above {AT_ONCE:,}: they stay "
                "on the workers. Ask for fewer, predict(points) for instance."
            )
        found = scaled(self.shards.rows(np.atleast_1d(numbers)).reshape(-1, len(self.logs)), self.logs)
        return found[0] if numbers.ndim == 0 else found

    def ask(self, function: Callable[[Shard, Any], T], message: Any = None) -> list[T]:
        """What a function says of every shard."""
        return self.shards.ask(function, message)

    @cached_property
    def raw_extent(self) -> tuple[Vector, Vector]:
        """The lowest and the highest number of every column, as it is in the files."""
        lows, highs = zip(*self.shards.ask(span_of), strict=True)
        return np.min(lows, axis=0), np.max(highs, axis=0)

    @property
    def extent(self) -> tuple[Vector, Vector]:
        """The same, with logarithms where these are wanted."""
        low, high = (scaled(each[None, :], self.logs)[0] for each in self.raw_extent)
        return low, high


def scaled(rows: Matrix, logs: Sequence[Logs | None]) -> Matrix:
    """Features with logarithms where these are wanted."""
    if not any(logs):
        return rows
    other = rows.copy()
    for place, each in enumerate(logs):
        if each is not None:
            other[:, place] = each.encode(rows[:, place])
    return other


class ShardedTable(Candidates):
    """Candidates of Parquet files, spread over the workers of a Dask cluster.

    client: a `distributed.Client`. path: of the files, with wildcards ("data/*.parquet"), on a file system that all
    workers can read; also an address that fsspec knows, such as s3://bucket/*.parquet, which needs the extra [s3].

    Use it in place of a table: `Optimizer(ShardedTable(client, "data/*.parquet"))`. It needs the extra [dask], here and
    on the workers. Choices are those of the same rows in memory. Policies that look at all candidates at once, such as
    Thompson sampling, are refused.
    """

    def __init__(self, client: Any, path: str | Path) -> None:
        self.path = str(path) if "://" in str(path) else str(Path(path).absolute())
        _check_client(client, self.path)
        files = client.submit(files_at, self.path, pure=False).result()
        kinds = same_columns(files, self.path)
        self._kinds = [kind for _, kind in kinds]
        pieces = divide([(file.path, file.rows) for file in files], len(client.nthreads()))
        loading = Shards.of(client, pieces, kinds)
        levels = loading.levels() if "text" in self._kinds else {}
        self._codecs = [
            Levels(name, tuple(levels.get(place, ()))) if kind == "text" else Numbers(name)
            for place, (name, kind) in enumerate(kinds)
        ]
        none = np.zeros(0, dtype=np.int64)
        shards = loading.shards(self._codecs, none)
        self.rows = len(shards)
        self.parts = (self.rows,)
        self._repeats, self._originals = _repeated(shards)
        if len(self._repeats):
            shards = loading.shards(self._codecs, self._repeats)
        self._checksum = sum(shards.ask(checksum_of)) % 2**64
        self._named, self._row = True, self._row_at
        self._begin(shards, [None] * len(kinds))

    def _begin(self, shards: Shards, logs: Sequence[Logs | None]) -> None:
        self._shards = shards
        self._elsewhere = ShardedFeatures(shards, logs)
        self.features = cast("Any", self._elsewhere)
        self._logs: Candidates | None = None

    def __repr__(self) -> str:
        return f"ShardedTable({self.path!r}, {self.rows:,} rows on {self._shards.count} shards)"

    def __len__(self) -> int:
        return len(self._shards)

    @property
    def traffic(self) -> Traffic:
        """Bytes that went to workers and came back so far."""
        return self._shards.traffic

    @property
    def identity(self) -> dict[str, Any]:
        """By which the same candidates are known, wherever their files are."""
        first = self.parts[0]
        return {"rows": first, "kinds": self._kinds, "checksum": f"{self._checksum:016x}"}

    @property
    def base(self) -> "ShardedTable":
        """Without the rows that were added later."""
        if len(self.parts) == 1:
            return self
        other, kept = copy(self), int(np.searchsorted(self._repeats, self.parts[0]))
        other.rows, other.parts = self.parts[0], self.parts[:1]
        other._repeats, other._originals = self._repeats[:kept], self._originals[:kept]
        other._row = other._row_at
        other._begin(self._shards.with_tail(np.zeros((0, len(self._codecs)))), [None] * len(self._codecs))
        return other

    @property
    def added(self) -> list[list[Any]]:
        """The values of rows that were added later, column by column."""
        rows = [self[index] for index in range(self.parts[0], self.rows)]
        return [[row[codec.column.name] for row in rows] for codec in self._codecs] if rows else []

    # Rows and candidates

    def _row_at(self, index: int) -> dict[str, Any]:
        number = self.number_of(index)
        features = self._shards.rows(np.array([number]))[0]
        return {
            str(codec.column.name): codec.levels[int(value)] if isinstance(codec, Levels) else KINDS[kind](value)
            for codec, kind, value in zip(self._raw, self._kinds, features.tolist(), strict=True)
        }

    @property
    def _raw(self) -> Sequence[Codec]:
        """Codecs without logarithms."""
        return [Numbers(codec.name) if isinstance(codec, Logs) else codec for codec in self._codecs]

    def index_of(self, number: int) -> int:
        before: NDArray[np.int64] = self._repeats - np.arange(len(self._repeats))
        return number + int(np.searchsorted(before, number, side="right"))

    def number_of(self, index: Any) -> int:
        if not 0 <= int(index) < self.rows:
            raise UnknownCandidate(
                f"Index {int(index)} is not in the table: its {self.rows:,} rows are 0 to {self.rows - 1}."
            )
        place = int(np.searchsorted(self._repeats, int(index)))
        if place < len(self._repeats) and self._repeats[place] == int(index):
            return int(self._originals[place])
        return int(index) - place

    @property
    def numbers(self) -> NDArray[np.intp]:
        raise InvalidSetting(ALL_AT_ONCE.format(rows=self.rows))

    @property
    def indices(self) -> NDArray[np.intp]:
        raise InvalidSetting(ALL_AT_ONCE.format(rows=self.rows))

    @property
    def grown(self) -> list[int]:
        ends: list[int] = np.cumsum(self.parts).tolist()
        return [end - int(np.searchsorted(self._repeats, end)) for end in ends]

    def _lookup(self, row: Vector) -> int | None:
        number, gap = self._nearest(row)
        return number if gap <= ROUNDING else None

    def _nearest(self, row: Vector) -> tuple[int, float]:
        """By numbers as they are in the files: logarithms are taken back first."""
        return min(self.nearest(_unscaled(row[None, :], self._elsewhere.logs))[0], key=_gap)

    def nearest(self, points: Matrix) -> list[list[tuple[int, float]]]:
        """For each of some points, the nearest candidate of every shard and how far it is."""
        low, high = self._elsewhere.raw_extent
        scales = np.maximum(np.maximum(np.abs(low), np.abs(high)), TINY)
        return [list(each) for each in zip(*self._shards.ask(_nearest_of, (points, scales)), strict=True)]

    # Columns

    @property
    def span(self) -> tuple[Vector, Vector]:
        return self._elsewhere.extent

    def is_grid(self, longest: int, filled: int) -> bool:
        """Whether several columns of at most so many values make a grid with not many more points than candidates."""
        parts = self._shards.ask(axes_of, longest)
        if any(axis is None for axes in parts for axis in axes):
            return False
        lengths = [len(np.unique(np.concatenate(cast("Any", each)))) for each in zip(*parts, strict=True)]
        return len(lengths) > 1 and max(lengths) <= longest and prod(lengths) <= filled * len(self)

    def _on_logs(self) -> Candidates:
        scales = [
            self._log_scale(place, codec.name) if isinstance(codec, Numbers) else None
            for place, codec in enumerate(self._codecs)
        ]
        if not any(scales):
            return self
        other = copy(self)
        other._codecs = [logs or codec for logs, codec in zip(scales, self._codecs, strict=True)]
        other._begin(self._shards, scales)
        other._logs, other._row = other, other._row_at
        return other

    def _log_scale(self, place: int, name: str | int) -> Logs | None:
        """As `on_log_scale` finds it from all values at once: their gaps are summed bucket by bucket."""
        low, high = (float(each[place]) for each in self._elsewhere.raw_extent)
        if low < 0 or high <= 0 or (low > 0 and high < WIDE * low):
            return None
        samples = np.sort(np.concatenate(self._shards.ask(sample_of, place)))
        cuts = np.linspace(0, len(samples) - 1, self._shards.count + 1).astype(int)[1:-1]
        found = self._shards.shuffled(divided, (place, samples[cuts]), gaps_of)
        return _logs_of(name, [each for each in found if each.count], has_zero=low == 0)

    # More candidates

    def in_parts(self, parts: Sequence[int]) -> "ShardedTable":
        other = copy(self)
        other.parts, other._logs, other._row = tuple(parts), None, other._row_at
        return other

    def unlike_all(self, features: Matrix) -> list[int]:
        """The rows of features that are no candidate yet, each once."""
        there = [min(found, key=_gap)[1] == 0 for found in self.nearest(features)] if len(features) else []
        seen, rows = set[bytes](), list[int]()
        for place, (known, row) in enumerate(zip(there, np.ascontiguousarray(features), strict=True)):
            if not known and row.tobytes() not in seen:
                seen.add(row.tobytes())
                rows.append(place)
        return rows

    def with_rows(self, features: Matrix, codecs: Sequence[Codec]) -> "ShardedTable":
        """With more rows, here and not on workers; what repeats a row before is that candidate."""
        tail = np.zeros((0, len(self._codecs))) if self._shards.tail is None else self._shards.tail.features
        known: dict[bytes, int] = {}
        repeats, originals, new = list[int](), list[int](), list[NDArray[np.float64]]()
        held = [min(found, key=_gap) for found in self.nearest(features)]
        for place, (row, (number, gap)) in enumerate(zip(np.ascontiguousarray(features), held, strict=True)):
            found = number if gap == 0 else known.get(row.tobytes())
            if found is None:
                known[row.tobytes()] = len(self) + len(new)
                new.append(row)
            else:
                repeats.append(self.rows + place)
                originals.append(found)
        other = copy(self)
        other._codecs, other._row = list(codecs), other._row_at
        other._repeats = np.append(self._repeats, repeats).astype(np.int64)
        other._originals = np.append(self._originals, originals).astype(np.int64)
        other.rows, other.parts = self.rows + len(features), (*self.parts, len(features))
        more = np.array(new).reshape(len(new), len(self._codecs))
        other._begin(self._shards.with_tail(np.concatenate([tail, more])), [None] * len(self._codecs))
        return other

    def with_added(self, parts: Sequence[int], columns: Sequence[Sequence[Any]]) -> "ShardedTable":
        """With rows that were added before, so many each time."""
        table, begin = self, 0
        for count in parts:
            values = [column[begin : begin + count] for column in columns]
            codecs = [_with_levels(codec, each) for codec, each in zip(table._codecs, values, strict=True)]
            features = np.stack([codec.encode(each) for codec, each in zip(codecs, values, strict=True)], axis=1)
            table, begin = table.with_rows(features, codecs), begin + count
        return table

    def __reduce__(self) -> Any:
        """For pickle: the files are read again, by the same cluster."""
        return _again, (self._shards.client.scheduler.address, self.path, self.parts[1:], self.added)

    def __copy__(self) -> "ShardedTable":
        other = object.__new__(ShardedTable)
        other.__dict__.update(self.__dict__)
        return other


ALL_AT_ONCE = (
    "This asks for a number for each of the {rows:,} candidates of a ShardedTable at once, which stay on the workers: "
    "give the points that you mean."
)


def _again(address: str, path: str, parts: Sequence[int], added: list[list[Any]]) -> ShardedTable:
    return ShardedTable(connected(address), path).with_added(parts, added)


def _check_client(client: Any, path: str) -> None:
    if not hasattr(client, "submit") or not hasattr(client, "nthreads"):
        raise InvalidSetting(
            f"{client!r} is not a Dask client: give distributed.Client(address), as in "
            f"ShardedTable(Client('tcp://…'), {path!r})."
        )
    if not client.nthreads():
        raise InvalidSetting("The Dask cluster has no workers: start some, and try again.")


def _repeated(shards: Shards) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that repeat an earlier one, in order, and the candidate that each of them is."""
    suspects = np.sort(np.concatenate(shards.shuffled(hashed, (shards.count,), sharing)))
    first: dict[bytes, int] = {}
    repeats, rows = list[int](), list[int]()
    for start in range(0, len(suspects), AT_ONCE):
        part = suspects[start : start + AT_ONCE]
        for number, row in zip(part.tolist(), shards.rows(part), strict=True):
            original = first.setdefault(row.tobytes(), number)
            if original != number:
                repeats.append(number)
                rows.append(original)
    found, originals = np.array(repeats, dtype=np.int64), np.array(rows, dtype=np.int64)
    if len(found):
        notify(
            f"{len(found):,} of the {len(shards):,} candidate rows repeat an earlier row: they were merged, and "
            "measurements of any of them count for all.",
            DuplicateCandidates,
        )
    return found, originals - np.searchsorted(found, originals)


def _logs_of(name: str | int, found: Sequence[Gaps], *, has_zero: bool) -> Logs | None:
    count = sum(each.count for each in found)
    first = [value for each in found for value in each.first][:2]
    if count < 3 or found[-1].last < WIDE * first[0]:
        return None
    joints = list(pairwise(found))
    plain = sum(each.plain for each in found) + sum((b.first[0] - a.last) ** 2 for a, b in joints)
    logs = sum(each.logs for each in found) + sum(float(np.log10(b.first[0] / a.last)) ** 2 for a, b in joints)
    widths = found[-1].last - first[0], float(np.log10(found[-1].last / first[0]))
    uneven = [
        sqrt(max(squares / (count - 1) - (width / (count - 1)) ** 2, 0.0)) / (width / (count - 1))
        for squares, width in zip((plain, logs), widths, strict=True)
    ]
    if not uneven[1] < EVENER * uneven[0]:
        return None
    return Logs(name, float(2 * np.log10(first[0]) - np.log10(first[1])) if has_zero else None)


def _with_levels(codec: Codec, values: Sequence[Any]) -> Codec:
    """Levels that were not there before come last."""
    if not isinstance(codec, Levels):
        return codec
    return replace(codec, levels=codec.levels + tuple(sorted(set(values) - set(codec.levels))))


def _unscaled(rows: Matrix, logs: Sequence[Logs | None]) -> Matrix:
    other = rows.copy()
    for place, each in enumerate(logs):
        if each is not None:
            other[:, place] = 10.0 ** rows[:, place]
            if each.zero is not None:
                other[rows[:, place] == each.zero, place] = 0.0
    return other


def _gap(found: tuple[int, float]) -> tuple[float, int]:
    return found[1], found[0]


def _nearest_of(shard: Shard, asked: tuple[Matrix, Vector]) -> list[tuple[int, float]]:
    return nearest(shard, *asked)
