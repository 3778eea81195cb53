"""A study's file is cut off, or one of its bits is flipped: is that noticed, or is what is read right?"""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from benchmarks.reliability.torture import stored_in
from benchmarks.reliability.worker import SETTINGS, X, measured
from ostinato.errors import OstinatoError
from ostinato.study import Study, verify

CUT, FLIPPED = 512, 128  # bytes: a file is cut off at every so many-th, and one bit of every so many is flipped
TASKS = 40


class Damages(msgspec.Struct, frozen=True):
    """What became of so many damages: noticed when the study was read, by `verify` only, harmless, or wrong."""

    done: int
    noticed: int
    verified: int  # what was read was right, and `verify` remarked on something
    harmless: int  # what was read was right, and everything that is stored was
    silent: int  # something else was read than was stored, and nobody said so


class Whole(msgspec.Struct, frozen=True):
    """A study as it was before, and its file's bytes."""

    data: bytes
    values: dict[tuple[int, int], str]


def made(folder: Path) -> Whole:
    """A study with a history: asked, told, observed, taken back and corrected."""
    path = folder / "whole.db"
    study = Study("torture", path, X, seed=0, budget=10_000, **SETTINGS)
    for _ in range(TASKS):
        task = study.ask(limit=3)
        assert task is not None
        study.tell(task, measured(task))
    for row in range(0, len(X), 9):
        study.observe(row, [float(row), row + 0.5])
    study.retract(number=7)
    study.correct(number=9, new=1.25)
    values = stored_in(study)
    return Whole(path.read_bytes(), values)


def cuts(whole: Whole, step: int = CUT) -> Iterator[bytes]:
    """The file, cut off at every so many-th byte."""
    for end in range(0, len(whole.data), step):
        yield whole.data[:end]


def flips(whole: Whole, step: int = FLIPPED) -> Iterator[bytes]:
    """The file with one bit flipped: one of every so many bytes, at a random place among them."""
    rng = random.Random(0)
    for start in range(0, len(whole.data) - step + 1, step):
        place, bit = start + rng.randrange(step), 1 << rng.randrange(8)
        yield b"".join([whole.data[:place], bytes([whole.data[place] ^ bit]), whole.data[place + 1 :]])


def damaged(whole: Whole, folder: Path, files: Iterator[bytes], report: Callable[[int], object] = int) -> Damages:
    """Read each of these files."""
    counts = dict.fromkeys(("noticed", "verified", "harmless", "silent"), 0)
    for done, data in enumerate(files, 1):
        counts[_read(whole, folder, data)] += 1
        report(done)
    return Damages(sum(counts.values()), **counts)


def _read(whole: Whole, folder: Path, data: bytes) -> str:
    path = folder / "lab.db"
    path.with_name("lab.db-journal").unlink(missing_ok=True)
    path.write_bytes(data)
    try:
        study = Study("torture", path, patience=0.1)
        there, rows = stored_in(study), [tuple(study._stored.table[row]) for row in range(len(X))]
    except OstinatoError:
        return "noticed"
    if there != whole.values or rows != [tuple(row) for row in X]:
        return "silent"
    return "verified" if verify(study.storage, "torture") else "harmless"
