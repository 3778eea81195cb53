"""The records of a TFRecord file, with their checksums verified.

A record is framed as: its length (8 bytes, little-endian), a checksum of those 8 bytes, the data, a checksum of the
data. Checksums (4 bytes) are CRC-32C, rotated right by 15 bits and added 0xA282EAD8 modulo 2³².

A CRC goes byte by byte, register ← table[(register ⊕ byte) & 255] ⊕ (register ≫ 8), far too slow in Python for half a
gigabyte. So many records go at once, a NumPy step a byte. They are made equally long by zeros *in front*: those leave
a register of 0 as it is. CRC-32C starts at 0xFFFFFFFF, which is to start at 0 with the first four bytes inverted.
"""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import InvalidCandidates

POLYNOMIAL = 0x82F63B78  # CRC-32C, bits reversed
TOGETHER = 4096  # records whose checksums are computed at once
LONGEST = 1 << 24  # bytes of a record: far above any that is read here, and small enough to allocate


def records(path: str | Path) -> Iterator[bytes]:
    """The data of every record, in the file's order."""
    with Path(path).open("rb") as file:
        batch: list[bytes] = []
        sums: list[int] = []
        while (framed := _next(file, path)) is not None:
            batch.append(framed[0])
            sums.append(framed[1])
            if len(batch) == TOGETHER:
                yield from _verified(batch, sums, path)
                batch, sums = [], []
        yield from _verified(batch, sums, path)


def masked_crc(data: Sequence[bytes]) -> NDArray[np.uint32]:
    """The checksum of each piece of data (at least 4 bytes each) as TFRecord files hold it."""
    width = max(map(len, data), default=0)
    padded = np.zeros((len(data), width), dtype=np.uint8)
    for row, piece in zip(padded, data, strict=True):
        row[width - len(piece) :] = np.frombuffer(piece, dtype=np.uint8)
        row[width - len(piece) : width - len(piece) + 4] ^= 255
    register = np.zeros(len(data), dtype=np.uint32)
    for byte in np.ascontiguousarray(padded.T):
        register = TABLE[(register ^ byte) & 255] ^ (register >> 8)
    crc = ~register
    return (((crc >> 15) | (crc << 17)) + np.uint32(0xA282EAD8)).astype(np.uint32)


def _next(file: BinaryIO, path: str | Path) -> tuple[bytes, int] | None:
    """The data of the next record and its checksum; None at the end of the file."""
    start = file.tell()
    head = file.read(12)
    if not head:
        return None
    length, check = struct.unpack("<QI", head) if len(head) == 12 else (0, 0)
    if len(head) < 12 or _masked_crc_of_length(head[:8]) != check or not 4 <= length <= LONGEST:
        raise _damaged(path, start)
    body = file.read(length + 4)
    if len(body) < length + 4:
        raise _damaged(path, start)
    return body[:-4], int.from_bytes(body[-4:], "little")


def _verified(batch: list[bytes], sums: list[int], path: str | Path) -> list[bytes]:
    wrong = np.flatnonzero(masked_crc(batch) != np.asarray(sums, dtype=np.uint32))
    if wrong.size:
        raise InvalidCandidates(f"{path} is damaged: the checksum of {batch[wrong[0]][:40]!r}… is wrong. {REMEDY}")
    return batch


def _masked_crc_of_length(head: bytes) -> int:
    """The same checksum for 8 bytes, in plain Python, which is faster for one."""
    register = 0xFFFFFFFF
    for byte in head:
        register = PLAIN[(register ^ byte) & 255] ^ (register >> 8)
    crc = register ^ 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def _damaged(path: str | Path, start: int) -> InvalidCandidates:
    what = "is not a TFRecord file" if start == 0 else f"is damaged, or cut, after byte {start:,}"
    return InvalidCandidates(f"{path} {what}. {REMEDY}")


def _table() -> list[int]:
    entries = list(range(256))
    for _ in range(8):
        entries = [(entry >> 1) ^ (POLYNOMIAL if entry & 1 else 0) for entry in entries]
    return entries


REMEDY = "Download it again."
PLAIN = _table()
TABLE = np.asarray(PLAIN, dtype=np.uint32)
