"""Some of the candidates of a `ShardedTable`, as a Dask worker holds them: read from Parquet, as numbers.

A shard follows from the files alone, so that Dask makes it again elsewhere when a worker is lost. What was worked out
from its numbers is kept beside them (`held`), is not copied with them, and can be lost at any time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Matrix, Vector
from ostinato.candidates.columns import Levels
from ostinato.errors import InvalidCandidates, InvalidSetting, installing

EXACT = 2.0**53  # whole numbers up to which floating-point numbers hold them all
HASH = np.uint64(0x9E3779B97F4A7C15)  # an odd multiplier whose bits look random
SAMPLE = 256  # values of a shard by which ranges of a column are divided
KINDS = {"integer": int, "number": float, "boolean": bool, "text": str}


@dataclass(frozen=True)
class FilePiece:
    """Some rows of one file."""

    path: str
    first: int
    stop: int


@dataclass(frozen=True)
class FileFacts:
    """What a Parquet file says of itself: its rows, and the name and kind of each column."""

    path: str
    rows: int
    columns: tuple[tuple[str, str], ...]


@dataclass(frozen=True, eq=False)
class LoadedRows:
    """The rows of a shard; texts by the place of each among its own."""

    features: Matrix
    levels: dict[int, tuple[str, ...]]

    def __sizeof__(self) -> int:
        return self.features.nbytes


class Shard:
    """Candidates start … start + size."""

    def __init__(self, start: int, features: Matrix) -> None:
        self.start, self.features = start, features
        self.held: dict[str, Any] = {}
        self.lock = RLock()

    def __len__(self) -> int:
        return len(self.features)

    def __sizeof__(self) -> int:
        return self.features.nbytes

    def __getstate__(self) -> tuple[int, Matrix]:
        return self.start, self.features

    def __setstate__(self, state: tuple[int, Matrix]) -> None:
        self.__init__(*state)


# What workers do


def files_at(pattern: str) -> list[FileFacts]:
    """The Parquet files that a path with wildcards names, in order; on any file system that fsspec knows."""
    import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs]

    system, path = _file_system(pattern)
    try:
        folder, named = system.isdir(path), sorted(system.glob(path))
    except Exception as error:  # each file system has its own
        raise InvalidCandidates(f"{pattern} cannot be read ({type(error).__name__}: {error}).") from None
    if folder:
        raise InvalidCandidates(f"{pattern} is a folder: give its files, such as {pattern.rstrip('/')}/*.parquet.")
    found: list[FileFacts] = []
    for each in named:
        with system.open(each, "rb") as file:
            try:
                about: Any = pq.ParquetFile(file)
            except Exception as error:
                raise InvalidCandidates(f"{each} cannot be read as Parquet ({error}).") from None
            schema: Any = about.schema_arrow
            columns = tuple((name, _kind(name, schema.field(name).type)) for name in schema.names)
            found.append(FileFacts(system.unstrip_protocol(each), about.metadata.num_rows, columns))
    return found


def _file_system(address: str) -> tuple[Any, str]:
    """The file system of a path or an address, and the path within it."""
    import fsspec  # pyright: ignore[reportMissingTypeStubs]

    try:
        system, path = cast("tuple[Any, str]", fsspec.url_to_fs(address))  # pyright: ignore[reportUnknownMemberType]
    except (ImportError, ValueError) as error:  # a library is missing, or there is none
        raise InvalidSetting(
            f"{address} cannot be read: {error}. Whoever reads it, all workers of a cluster too, needs the library for "
            f"it. For s3://…: {installing('s3')}."
        ) from None
    system.invalidate_cache()  # what it remembers of a folder may have changed since
    return system, path


def same_columns(files: Sequence[FileFacts], path: str) -> list[tuple[str, str]]:
    """Name and kind of each column; whole numbers in one file and others in another are numbers."""
    if not files:
        raise InvalidCandidates(f"There is no file at {path}: give Parquet files, such as data/*.parquet.")
    if not sum(file.rows for file in files):
        raise InvalidCandidates(f"There are no rows in the Parquet files at {path}.")
    columns = list(files[0].columns)
    for file in files[1:]:
        if [name for name, _ in file.columns] != [name for name, _ in columns]:
            raise InvalidCandidates(
                f"{file.path} has the columns {[name for name, _ in file.columns]}, and {files[0].path} "
                f"{[name for name, _ in columns]}: give files with the same columns."
            )
        for place, ((name, was), (_, kind)) in enumerate(zip(columns, file.columns, strict=True)):
            if was != kind and {was, kind} != {"integer", "number"}:
                raise InvalidCandidates(f"Column {name!r} holds {kind}s in {file.path}, and {was}s in other files.")
            columns[place] = name, was if was == kind else "number"
    return columns


def _kind(name: str, of: Any) -> str:
    import pyarrow.types as types  # pyright: ignore[reportMissingTypeStubs]

    types = cast("Any", types)
    if types.is_dictionary(of):
        of = of.value_type
    if types.is_integer(of):
        return "integer"
    if types.is_floating(of) or types.is_decimal(of):
        return "number"
    if types.is_boolean(of):
        return "boolean"
    if types.is_string(of) or types.is_large_string(of) or getattr(types, "is_string_view", types.is_string)(of):
        return "text"
    raise InvalidCandidates(
        f"Column {name!r} holds {of}, which has no meaning as a feature: turn it into numbers (for dates, days since "
        "a start) or into text."
    )


def load(
    pieces: Sequence[FilePiece], kinds: Sequence[tuple[str, str]], first: int, into: Matrix | None = None
) -> LoadedRows:
    """The rows of some pieces, the first of which is row `first` of all. into: where they are written."""
    rows = sum(piece.stop - piece.first for piece in pieces)
    features = np.empty((rows, len(kinds))) if into is None else into
    levels, row = dict[int, dict[str, int]](), 0
    for piece in pieces:
        for batch in _batches(piece, [name for name, _ in kinds]):
            part = features[row : row + batch.num_rows]
            for place, (name, kind) in enumerate(kinds):
                column: Any = batch.column(place)
                if column.null_count:
                    where = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
                    raise InvalidCandidates(
                        f"Column {name!r} has no value in row {first + row + where}: every candidate needs all its "
                        "columns. Drop such rows, or fill them in."
                    )
                known = levels.setdefault(place, {}) if kind == "text" else {}
                part[:, place] = _codes(column, known) if kind == "text" else _numbers(column)
            _check(part, kinds, first + row)
            part += 0.0  # −0.0 and 0.0 are one value
            row += batch.num_rows
    return LoadedRows(features, {place: tuple(known) for place, known in levels.items()})


def _batches(piece: FilePiece, names: list[str]) -> Iterator[Any]:
    """Rows of a piece, some at a time; groups of rows that it has nothing of are not read."""
    import pyarrow.parquet as pq  # pyright: ignore[reportMissingTypeStubs]

    system, path = _file_system(piece.path)
    with system.open(path, "rb") as file:
        about: Any = pq.ParquetFile(file)
        groups = [about.metadata.row_group(number).num_rows for number in range(about.num_row_groups)]
        stops = np.cumsum(groups)
        wanted = [n for n, stop in enumerate(stops) if stop > piece.first and stop - groups[n] < piece.stop]
        at = int(stops[wanted[0]]) - groups[wanted[0]] if wanted else 0
        for batch in about.iter_batches(row_groups=wanted, columns=names, use_threads=False):
            low, high = max(piece.first - at, 0), min(piece.stop - at, batch.num_rows)
            if low < high:
                yield batch.slice(low, high - low).select(names)
            at += batch.num_rows


def _numbers(column: Any) -> Vector:
    return np.asarray(column.to_numpy(zero_copy_only=False)).astype(np.float64)


def _codes(column: Any, known: dict[str, int]) -> Vector:
    """The places of texts among those that are known, which grow."""
    import pyarrow as pa  # pyright: ignore[reportMissingTypeStubs]

    coded: Any = column if isinstance(column, cast("Any", pa).DictionaryArray) else column.dictionary_encode()
    places = np.array([known.setdefault(text, len(known)) for text in coded.dictionary.to_pylist()], dtype=np.float64)
    return places[coded.indices.to_numpy(zero_copy_only=False)]


def _check(features: Matrix, kinds: Sequence[tuple[str, str]], first: int) -> None:
    for column, (name, kind) in zip(features.T, kinds, strict=True):
        bad = np.flatnonzero(~np.isfinite(column))
        if len(bad):
            raise InvalidCandidates(
                f"Column {name!r} holds {column[bad[0]]} in row {first + int(bad[0])}: every feature must be a finite "
                "number. Drop such rows, or fill them in."
            )
        if kind == "integer" and len(column) and float(np.max(np.abs(column))) > EXACT:
            raise InvalidCandidates(
                f"Column {name!r} holds whole numbers beyond 2^53, which are not exact as numbers: leave the column "
                "out if it only names candidates, or make it text."
            )


def levels_of(loaded: LoadedRows) -> dict[int, tuple[str, ...]]:
    return loaded.levels


def made(loaded: LoadedRows, codecs: Sequence[Any], start: int, left_out: NDArray[np.int64]) -> Shard:
    """A shard of what was loaded, with the codes of all shards, without some of its rows."""
    features = loaded.features
    if loaded.levels or len(left_out):
        features = features.copy()
    for place, texts in loaded.levels.items():
        codec = cast("Levels", codecs[place])
        codes = {level: code for code, level in enumerate(codec.levels)}
        features[:, place] = np.array([codes[text] for text in texts], dtype=np.float64)[
            features[:, place].astype(np.int64)
        ]
    return Shard(start, np.delete(features, left_out, axis=0) if len(left_out) else features)


def row_in_files(pattern: str, kinds: Sequence[tuple[str, str]], index: int) -> dict[str, Any] | None:
    """One row of some files, read from where they are; None where they cannot be read from this machine."""
    try:
        for file in files_at(pattern):
            if index < file.rows:
                loaded = load([FilePiece(file.path, index, index + 1)], kinds, index)
                return {
                    name: loaded.levels[place][0] if kind == "text" else KINDS[kind](loaded.features[0, place].item())
                    for place, (name, kind) in enumerate(kinds)
                }
            index -= file.rows
    except (OSError, ImportError):
        return None
    return None


def rows_at(shard: Shard, places: NDArray[np.int64]) -> Matrix:
    return shard.features[places]


def span_of(shard: Shard, _: None = None) -> tuple[Vector, Vector]:
    return np.min(shard.features, axis=0), np.max(shard.features, axis=0)


def checksum_of(shard: Shard, _: None = None) -> int:
    """By which the same candidates in the same order are known; those of all shards add up."""
    numbers = np.arange(shard.start, shard.start + len(shard), dtype=np.uint64)
    mixed = (hashes_of(shard.features) ^ (numbers * HASH)) * HASH
    return int(np.sum(mixed ^ (mixed >> np.uint64(29)), dtype=np.uint64))


def axes_of(shard: Shard, longest: int) -> list[Vector | None]:
    """The different values in each column; None for more than so many."""
    axes = (np.unique(column) for column in shard.features.T)
    return [axis if len(axis) <= longest else None for axis in axes]


def nearest(shard: Shard, points: Matrix, scales: Vector) -> list[tuple[int, float]]:
    """The candidate nearest to each of some points, and how far it is; in units of the columns' scales."""
    found: list[tuple[int, float]] = []
    for point in points:
        gaps = np.zeros(len(shard))
        for column, value, scale in zip(shard.features.T, point, scales, strict=True):
            np.maximum(gaps, np.abs(column - value) / scale, out=gaps)
        place = int(np.argmin(gaps))
        found.append((shard.start + place, float(gaps[place])))
    return found


# Rows and values that belong together, wherever they are: each shard divides its own, and each bucket has one of all


def hashed(shard: Shard, buckets: int) -> list[tuple[NDArray[np.uint64], NDArray[np.int64]]]:
    """Hashes of rows and the rows' numbers, in buckets by hash."""
    hashes = hashes_of(shard.features)
    numbers, bucket = np.arange(shard.start, shard.start + len(shard)), hashes % np.uint64(buckets)
    return [(hashes[bucket == each], numbers[bucket == each]) for each in range(buckets)]


def hashes_of(features: Matrix) -> NDArray[np.uint64]:
    hashes = np.zeros(len(features), dtype=np.uint64)
    for column in features.T:
        hashes ^= np.ascontiguousarray(column).view(np.uint64)
        hashes *= HASH
        hashes ^= hashes >> np.uint64(29)
    return hashes


def sharing(parts: Sequence[tuple[NDArray[np.uint64], NDArray[np.int64]]]) -> NDArray[np.int64]:
    """The rows of a bucket that share a hash with another one."""
    hashes, numbers = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.argsort(hashes, kind="stable")
    same = hashes[order][1:] == hashes[order][:-1]
    return numbers[order[np.append(same, False) | np.insert(same, 0, False)]]


def sample_of(shard: Shard, place: int) -> Vector:
    column = shard.features[:, place]
    return np.quantile(column, np.linspace(0, 1, SAMPLE), method="nearest")


def divided(shard: Shard, place: int, edges: Vector) -> list[Vector]:
    """The different values of a column above 0, by edges."""
    values = np.unique(shard.features[:, place])
    values = values[values > 0]
    return np.split(values, np.searchsorted(values, edges))


@dataclass(frozen=True)
class Gaps:
    """Different values in increasing order: how many, the first two, the last, and squared gaps, plain and of logs."""

    count: int
    first: tuple[float, ...]
    last: float
    plain: float
    logs: float


def gaps_of(parts: Sequence[Vector]) -> Gaps:
    values = np.unique(np.concatenate(parts))
    plain, logs = np.diff(values), np.diff(np.log10(values))
    first = tuple(values[:2].tolist())
    return Gaps(len(values), first, float(values[-1]) if len(values) else 0.0, float(plain @ plain), float(logs @ logs))
