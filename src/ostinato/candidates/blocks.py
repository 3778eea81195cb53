"""Rows of large tables as bytes: blocks of rows, each with all its columns, so that one row is read from one block.

A column of few different values is stored as these and their places; any other as it is. Bytes are stored plane by
plane (all first bytes, then all second ones, …), and a plane is compressed where that makes it much smaller: of numbers
that are not random the leading bytes are alike.
"""

from collections.abc import Iterator, Sequence
from zlib import compress, decompress

import msgspec
import numpy as np
from numpy.typing import NDArray

SIZE = 65_536  # rows of a block
SAMPLE = 4_096  # bytes, or values, by which is decided how a column is stored
FEWER = 8  # times as many values as different ones, at least, where these are stored by themselves
SMALLER = 0.7  # of a sample's bytes, at most, where a plane is compressed
LEVEL = 1  # of compression: others take several times as long, and save little


class Part(msgspec.Struct, frozen=True, array_like=True):
    """One column of a block: its type, its different values where they are few, and its bytes, plane by plane."""

    dtype: str
    levels: bytes
    planes: list[bytes]
    compressed: list[bool]


def starts(parts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first row of each block and the row after its last; no block holds rows that were added at two times."""
    begin = 0
    for rows in parts:
        for start in range(begin, begin + rows, SIZE):
            yield start, min(start + SIZE, begin + rows)
        begin += rows


def encoded(columns: Sequence[NDArray[np.generic]]) -> bytes:
    """A block: some rows of every column."""
    return msgspec.msgpack.encode([_part(column) for column in columns])


def decoded(block: bytes) -> list[NDArray[np.generic]]:
    """The columns of a block."""
    return [_values(part) for part in msgspec.msgpack.decode(block, type=list[Part])]


def _part(values: NDArray[np.generic]) -> Part:
    bits = _bits(values)
    levels = _few(bits)
    if levels is None:
        return Part(values.dtype.str, b"", *_planes(bits))
    places = np.searchsorted(levels, bits).astype(_places_type(len(levels)))
    return Part(values.dtype.str, levels.astype(levels.dtype.newbyteorder("<")).tobytes(), *_planes(places))


def _bits(values: NDArray[np.generic]) -> NDArray[np.generic]:
    """As whole numbers with the same bytes, so that equal means the same: 0.0 and -0.0 are not."""
    return np.ascontiguousarray(values).view(np.dtype(f"<u{values.dtype.itemsize}"))


def _few(bits: NDArray[np.generic]) -> NDArray[np.generic] | None:
    """The different values, where they are few."""
    some = bits[:: max(1, len(bits) // SAMPLE)]
    if bits.dtype.itemsize == 1 or FEWER * len(np.unique(some)) > 4 * len(some):
        return None
    levels = np.unique(bits)
    return levels if FEWER * len(levels) <= len(bits) else None


def _places_type(levels: int) -> str:
    return "<u1" if levels <= 2**8 else "<u2" if levels <= 2**16 else "<u4"


def _planes(values: NDArray[np.generic]) -> tuple[list[bytes], list[bool]]:
    planes = [plane.tobytes() for plane in values.view(np.uint8).reshape(-1, values.dtype.itemsize).T]
    pays = [len(compress(plane[:SAMPLE], LEVEL)) <= SMALLER * len(plane[:SAMPLE]) for plane in planes]
    kept = [compress(plane, LEVEL) if smaller else plane for plane, smaller in zip(planes, pays, strict=True)]
    return kept, pays


def _values(part: Part) -> NDArray[np.generic]:
    dtype = np.dtype(part.dtype)
    if not part.levels:
        return _joined(part, dtype.itemsize).view(dtype)
    levels = np.frombuffer(part.levels, dtype=f"<u{dtype.itemsize}")
    places = _joined(part, len(part.planes)).view(_places_type(len(levels)))
    return levels[places].view(dtype)


def _joined(part: Part, size: int) -> NDArray[np.uint8]:
    planes = [decompress(each) if small else each for each, small in zip(part.planes, part.compressed, strict=True)]
    together = np.frombuffer(b"".join(planes), dtype=np.uint8).reshape(size, -1)
    return np.ascontiguousarray(together.T).ravel()
