"""How a study begins: candidates and settings are stored once, and are the same ever after."""

import hashlib
from time import time
from typing import Any
from zlib import compress, decompress

import numpy as np

from ostinato.candidates import Candidates, Sampled, packed, read_candidates, unpacked
from ostinato.checks import brief, whole
from ostinato.errors import InvalidSetting, StudyDiffers
from ostinato.measurements.tally import MOST
from ostinato.optimizer import Optimizer
from ostinato.optimizer.settings import check_names, noise_variances
from ostinato.stopping import watched
from ostinato.storage import Storage, StudyRecord
from ostinato.study.settings import as_text


def create(storage: Storage, name: str, candidates: Any, budget: int | None, settings: dict[str, Any]) -> int:
    """Make a study, unless it exists: then it must have the same candidates, or some more.

    Returns how many rows are given that it does not have, after all those that it has.
    """
    table = read_candidates(candidates)
    data = packed(table)
    digest = digest_of(data)
    if name not in storage.patiently(storage.names):
        seed = settings.get("seed")
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else whole("seed", seed, 0)
        settings = {**settings, "seed": seed}
        own = {name: value for name, value in settings.items() if name != "stop"}
        check_names(own, Optimizer)
        watched(settings.get("stop"))
        most = None if budget is None else read_budget(budget)
        Optimizer(read_candidates(candidates), budget=most, **own)  # its settings are checked
        record = StudyRecord(0, name, time(), as_text(settings), digest, most, b"")
        if storage.patiently(lambda: storage.create(record, compress(data))):
            return 0
    if np.ndim(settings.get("noise_std", 0.0)):
        noise_variances(settings["noise_std"], table)
    kept_digest, kept = storage.patiently(lambda: _stored(storage, name))
    if kept_digest == digest:
        return 0
    stored = table_of(kept)
    if isinstance(stored, Sampled) or isinstance(table, Sampled):
        if not _same_space(stored, table):
            raise StudyDiffers(_difference(name, stored, table))
        return 0
    if not _begin_alike(stored, table):
        raise StudyDiffers(_difference(name, stored, table))
    return max(0, table.rows - stored.rows)


def _same_space(kept: Candidates, given: Candidates) -> bool:
    """Whether both are points of the same space; which have indices is the study's business."""
    if not (isinstance(kept, Sampled) and isinstance(given, Sampled)):
        return False
    same = list(kept.space.parameters.items()) == list(given.space.parameters.items())
    return same and len(kept.space.constraints) == len(given.space.constraints)


def _begin_alike(kept: Candidates, given: Candidates) -> bool:
    """Whether columns are the same, and rows as far as both have some; those that it began with must be given."""
    if kept.named != given.named or [c.name for c in kept.columns] != [c.name for c in given.columns]:
        return False
    if [c.kind for c in kept.columns] != [c.kind for c in given.columns]:
        return False
    shared = min(kept.rows, given.rows)
    return given.rows >= kept.parts[0] and all(repr(kept[row]) == repr(given[row]) for row in range(shared))


def digest_of(data: bytes) -> str:
    """By which equal candidates are known."""
    return hashlib.sha256(data).hexdigest()


def read_budget(budget: Any) -> int:
    """How many measurements there may be; a number that every database can hold."""
    most = whole("budget", budget)
    if most > MOST:
        raise InvalidSetting(f"budget={most} is too large: give at most {MOST:,}.")
    return most


def table_of(stored: bytes) -> Candidates:
    """Candidates as they were stored."""
    return unpacked(decompress(stored))


def _stored(storage: Storage, name: str) -> tuple[str, bytes]:
    with storage.read(name) as reader:
        return reader.record.digest, reader.table()


def _difference(name: str, kept: Candidates, given: Candidates) -> str:
    """In words, where two sets of candidates differ first."""
    start = f"The study {name!r} exists with other candidates: "
    end = " Give the same ones, or begin a study of another name."
    spaces = [table.space if isinstance(table, Sampled) else None for table in (kept, given)]
    if spaces != [None, None]:
        was, new = ("a table" if space is None else repr(space) for space in spaces)
        return start + f"they are {was}, and {new} was given." + end
    names = [[column.name for column in table.columns] for table in (kept, given)]
    if names[0] != names[1]:
        return start + f"its columns are {names[0]}, and {names[1]} were given." + end
    shared = range(min(kept.rows, given.rows))
    row = next((i for i in shared if repr(kept[i]) != repr(given[i])), None)
    if row is None:
        return start + f"it has {kept.rows:,} rows, and {given.rows:,} were given." + end
    return start + f"row {row} is {brief(kept[row])}, and {brief(given[row])} was given." + end
