"""Tables that stay in files: an array that is mapped into memory, or Parquet that is made one.

What is computed of all candidates reads them some rows at a time, so that they need not fit in memory; a GPU gets its
own copy so.
"""

from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, cast

import numpy as np

from ostinato.arrays import Matrix
from ostinato.candidates.columns import Codec, Levels, Numbers
from ostinato.candidates.rows import ArrayRows
from ostinato.candidates.shard import KINDS, FilePiece, files_at, load, same_columns
from ostinato.candidates.table import Candidates
from ostinato.errors import InvalidCandidates, InvalidSetting, installing

AT_ONCE = 2**20  # rows that are looked at at a time


def mapped_array(source: Any) -> Candidates | None:
    """A table of an array that is mapped for reading, as `numpy.load(file, mmap_mode="r")` gives it, without a copy.

    None for arrays that are not, or whose numbers would have to be changed: those are copied.
    """
    if not isinstance(source, np.memmap):
        return None
    array: Matrix = np.asarray(cast("Any", source))
    plain = array.ndim == 2 and array.dtype == np.float64 and array.flags.c_contiguous and not array.flags.writeable
    if not plain or not array.size or not all(_is_clean(array[s : s + AT_ONCE], s) for s in _starts(array)):
        return None
    return Candidates(array, [Numbers(j) for j in range(array.shape[1])], ArrayRows(array), named=False)


def _starts(array: Matrix) -> range:
    return range(0, len(array), AT_ONCE)


def _is_clean(part: Matrix, first: int) -> bool:
    """Whether some rows can stay as they are; those that are no candidates are refused."""
    if not np.isfinite(part).all():
        row, column = (int(each[0]) for each in np.nonzero(~np.isfinite(part)))
        raise InvalidCandidates(
            f"Column {column!r} holds {part[row, column]} in row {first + row}: every feature must be a finite number. "
            "Drop such rows, or fill them in."
        )
    return not np.signbit(part[part == 0]).any()  # −0.0 and 0.0 are one value


class MappedRows:
    """Rows as dicts, from features in a file."""

    def __init__(self, features: Matrix, codecs: list[Codec], kinds: list[str]) -> None:
        self._features, self._codecs, self._kinds = features, codecs, kinds

    def __call__(self, index: int) -> dict[str, Any]:
        each = zip(self._codecs, self._kinds, self._features[index].tolist(), strict=True)
        return {
            str(codec.column.name): codec.levels[int(value)] if isinstance(codec, Levels) else KINDS[kind](value)
            for codec, kind, value in each
        }

    def columns(self) -> list[list[Any]]:
        rows = [self(index) for index in range(len(self._features))]
        return [[row[str(codec.column.name)] for row in rows] for codec in self._codecs]


def mapped_parquet(path: str | Path) -> Candidates:
    """A table of Parquet files, by a path that may have wildcards: read batch by batch into a temporary file."""
    if find_spec("pyarrow") is None or find_spec("fsspec") is None:
        raise InvalidSetting(f"Reading {str(path)!r} needs pyarrow and fsspec: {installing('dask')}.")
    files = files_at(str(path))
    kinds = same_columns(files, str(path))
    shape = sum(file.rows for file in files), len(kinds)
    with TemporaryFile(prefix="ostinato-") as file:  # the mapping keeps it; nobody else sees it
        features = np.memmap(file, dtype=np.float64, mode="w+", shape=shape)
        levels = load([FilePiece(each.path, 0, each.rows) for each in files], kinds, 0, features).levels
        codecs: list[Codec] = []
        for place, (name, kind) in enumerate(kinds):
            codecs.append(_coded(features, place, name, levels[place]) if kind == "text" else Numbers(name))
        features.flush()
        there = np.asarray(np.memmap(file, dtype=np.float64, mode="r", shape=shape))
    return Candidates(there, codecs, MappedRows(there, codecs, [kind for _, kind in kinds]), named=True)


def _coded(features: Matrix, place: int, name: str, texts: tuple[str, ...]) -> Levels:
    """Texts in their order in place of the order in which they came."""
    codec = Levels(name, tuple(sorted(texts)))
    codes = codec.encode(texts)
    for start in _starts(features):
        part = features[start : start + AT_ONCE, place]
        part[:] = codes[part.astype(np.int64)]
    return codec
