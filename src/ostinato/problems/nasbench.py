"""NAS-Bench-101: small cells, each trained three times, read from the official file `nasbench_only108.tfrecord`.

The file is not part of this package; https://github.com/google-research/nasbench says where it is (about 500 MB).
Nothing here stands in for it: without the file there are the cells (`cells.cells()`), and no rewards.

Every record of the file is one training, a JSON array of

    hash, epochs, adjacency (n × n characters 0 and 1, row by row), operations (comma-separated), metrics (base64)

whose metrics are a protocol buffer: field 1, repeated, is an evaluation, in which field 1 is the epoch and field 4 the
accuracy on the validation set, both float64. The last evaluation by epoch is the end of the training.

Kept are trainings of 108 epochs of cells with 6 vertices whose operations are 3×3 convolutions and max-poolings, in
whatever labelling the file has them. The reward is the validation accuracy, standardised over the cells' means.
"""

import base64
import json
import struct
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from os import PathLike, environ
from pathlib import Path
from typing import Any

import numpy as np

from ostinato.arrays import Matrix
from ostinato.errors import InvalidCandidates, MissingSetting
from ostinato.problems.base import Problem
from ostinato.problems.cells import CELLS, OPERATIONS, VERTICES, Bits, canonical, cells, number
from ostinato.problems.noise import Stored
from ostinato.problems.tfrecord import records

EPOCHS = 108
ABOUT = "validation accuracy of a small convolutional cell on CIFAR-10"
VARIABLE = "OSTINATO_NASBENCH101"
LENGTHSCALES = tuple(float(scale) for scale in np.sqrt(np.linspace(100, 500, 10)))  # nearly linear on 0 and 1
WHERE = (
    "Download nasbench_only108.tfrecord (https://github.com/google-research/nasbench says where), and give its path: "
    f"load('nas101', path='…/nasbench_only108.tfrecord'), or set the environment variable {VARIABLE}."
)


@dataclass(frozen=True, eq=False)
class Trainings:
    """Cells, a row each as in `cells.cells`, and the final validation accuracies of their trainings, NaN-padded."""

    cells: Bits
    accuracies: Matrix


def nas101(path: str | PathLike[str] | None = None, partial: bool = False) -> Problem:
    """NAS-Bench-101 on its small cells, from the file at `path`; `partial` allows a file that lacks some of them."""
    path = environ.get(VARIABLE) if path is None else path
    if not path:
        raise MissingSetting(f"NAS-Bench-101 needs its official file. {WHERE}")
    trainings = read_nasbench(path)
    if len(trainings.cells) < CELLS and not partial:
        raise InvalidCandidates(
            f"{path} holds {len(trainings.cells):,} of the {CELLS:,} cells: it is not the whole of NAS-Bench-101. "
            f"{WHERE} With partial=True the cells it has are used."
        )
    noise = Stored.standardised(trainings.accuracies)
    return Problem("nas101", trainings.cells, noise.means, noise, lengthscales=LENGTHSCALES, about=ABOUT)


def read_nasbench(path: str | PathLike[str]) -> Trainings:
    """The small cells' trainings in an official file; all checksums are verified. Read once a process."""
    if not Path(path).is_file():
        raise MissingSetting(f"path={str(path)!r} is not a file. {WHERE}")
    return _read(str(Path(path).resolve()))


@cache
def _read(path: str) -> Trainings:
    found: list[tuple[str, str, float]] = list(_small_cells(path))
    if not found:
        raise InvalidCandidates(f"{path} holds no training of a small cell: it is not a file of NAS-Bench-101. {WHERE}")
    codes = canonical(*_graphs(found))
    known, accuracies = number(cells()), defaultdict[int, list[float]](list)
    for code, (*_, accuracy) in zip(codes.tolist(), found, strict=True):
        accuracies[code].append(accuracy)
    kept = np.asarray([place for place, code in enumerate(known.tolist()) if code in accuracies], dtype=np.intp)
    if len(kept) < len(accuracies):
        raise InvalidCandidates(f"{path} holds cells that break NAS-Bench-101's rule (9 edges, all connected). {WHERE}")
    return Trainings(cells()[kept], _padded([accuracies[int(known[place])] for place in kept]))


def _small_cells(path: str) -> Iterator[tuple[str, str, float]]:
    """Adjacency, operations and final accuracy of every training that is kept."""
    for record in records(path):
        try:
            _, epochs, adjacency, operations, metrics = json.loads(record)
            if epochs == EPOCHS and _is_small(adjacency, operations):
                yield adjacency, operations, _final_accuracy(base64.b64decode(metrics, validate=True))
        except (ValueError, TypeError, struct.error, IndexError) as error:
            raise InvalidCandidates(
                f"{path} holds {record[:40]!r}…, which is not a record of NAS-Bench-101 ({error}). {WHERE}"
            ) from None


def _is_small(adjacency: str, operations: str) -> bool:
    inner = operations.split(",")[1:-1]
    return len(adjacency) == VERTICES**2 and len(inner) == VERTICES - 2 and all(name in OPERATIONS for name in inner)


def _graphs(found: list[tuple[str, str, float]]) -> tuple[Bits, Bits]:
    text = "".join(adjacency for adjacency, *_ in found)
    adjacency = np.asarray([int(bit) for bit in text], dtype=np.int8).reshape(-1, VERTICES, VERTICES)
    operations = [[OPERATIONS.index(name) for name in names.split(",")[1:-1]] for _, names, _ in found]
    return adjacency, np.asarray(operations, dtype=np.int8)


def _padded(rows: list[list[float]]) -> Matrix:
    table = np.full((len(rows), max(map(len, rows))), np.nan)
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table


def _final_accuracy(message: bytes) -> float:
    """The validation accuracy of the last evaluation."""
    evaluations = [dict(_fields(body)) for field, body in _fields(message) if field == 1]
    if not evaluations:
        raise ValueError("it has no evaluation")
    last = max(evaluations, key=lambda evaluation: evaluation.get(1, 0.0))
    accuracy = float(last.get(4, 0.0))
    if not 0 <= accuracy <= 1:
        raise ValueError(f"an accuracy of {accuracy}")
    return accuracy


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Field numbers and values of a protocol buffer: whole numbers, float64, bytes and float32."""
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        kind = key & 7
        if kind == 0:
            value, place = _varint(message, place)
        elif kind == 1:
            (value,), place = struct.unpack_from("<d", message, place), place + 8
        elif kind == 2:
            length, place = _varint(message, place)
            value, place = message[place : place + length], place + length
        elif kind == 5:
            (value,), place = struct.unpack_from("<f", message, place), place + 4
        else:
            raise ValueError(f"metrics of an unknown kind {kind}")
        if place > len(message):
            raise ValueError("metrics that end early")
        yield key >> 3, value


def _varint(message: bytes, place: int) -> tuple[int, int]:
    """A whole number in groups of seven bits, the lowest first; and the place after it."""
    number = shift = 0
    while True:
        byte = message[place]
        number |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128:
            return number, place
