"""How a study begins: candidates and settings are stored once, and are the same ever after."""

from time import time
from typing import Any

import numpy as np

from ostinato.candidates import Candidates, Head, Packed, Sampled, ShardedTable, head_of, packed
from ostinato.candidates.identifiers import remark_measured
from ostinato.checks import whole
from ostinato.errors import InvalidSetting, StudyDiffers, UnknownStudy
from ostinato.measurements.tally import MOST
from ostinato.optimizer import Optimizer
from ostinato.optimizer.settings import noise_variances
from ostinato.stopping import watched
from ostinato.storage import Storage, StudyRecord, open_storage
from ostinato.study.candidate_difference import difference, differs_at
from ostinato.study.candidates import has_same_files, table_of
from ostinato.study.settings import as_text


def create(
    where: Any, name: str, table: Candidates, budget: int | None, settings: dict[str, Any], patience: float
) -> tuple[Storage, Packed, int]:
    """Make a study, unless it exists: then it must have the same candidates, or some more.

    Returns its storage, the candidates as they are stored, and how many rows are given that the study does not have,
    after all those that it has.
    """
    pack, ready = packed(table), None
    try:
        storage = open_storage(where, create=False, patience=patience)
    except UnknownStudy:  # settings that are refused leave no storage behind
        ready = _checked(table, budget, settings)
        storage = open_storage(where, patience=patience)
    if name not in storage.patiently(storage.names):
        kept, most = ready or _checked(table, budget, settings)
        record, blocks = StudyRecord(0, name, time(), as_text(kept), pack.digest, most, b""), pack.blocks()
        if storage.patiently(lambda: storage.create(record, pack.head, blocks)):
            return storage, pack, 0
    if np.ndim(settings.get("noise_std", 0.0)):
        noise_variances(settings["noise_std"], table)
    if storage.patiently(lambda: _digest(storage, name)) == pack.digest:
        return storage, pack, 0
    return storage, pack, _rows_more(storage, name, table)


def _rows_more(storage: Storage, name: str, table: Candidates) -> int:
    """How many rows are given that the study does not have; an error where others differ."""
    head = storage.patiently(lambda: _head(storage, name))
    if head.shards or isinstance(table, ShardedTable):
        if not has_same_files(head, table):
            raise StudyDiffers(_other_files(name, head, table))
        return 0
    stored = storage.patiently(lambda: _stored(storage, name))
    if isinstance(stored, Sampled) or isinstance(table, Sampled):
        if not _same_space(stored, table):
            raise StudyDiffers(difference(name, stored, table))
        return 0
    if not _begin_alike(stored, table):
        raise StudyDiffers(difference(name, stored, table))
    return max(0, table.rows - stored.rows)


def _checked(table: Candidates, budget: int | None, settings: dict[str, Any]) -> tuple[dict[str, Any], int | None]:
    """Settings, with a seed, and budget of a new study; an error where any of them is refused."""
    seed = settings.get("seed")
    seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else whole("seed", seed, 0)
    own: dict[str, Any] = {**{name: value for name, value in settings.items() if name != "stop"}, "seed": seed}
    watched(settings.get("stop"))
    most = None if budget is None else read_budget(budget)
    remark_measured(table, Optimizer(table, budget=most, **own).quantity)
    return {**settings, "seed": seed}, most


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
    return given.rows >= kept.parts[0] and differs_at(kept, given) is None


def read_budget(budget: Any) -> int:
    """How many measurements there may be; a number that every database can hold."""
    most = whole("budget", budget)
    if most > MOST:
        raise InvalidSetting(f"budget={most} is too large: give at most {MOST:,}.")
    return most


def _digest(storage: Storage, name: str) -> str:
    with storage.read(name) as reader:
        return reader.record.digest


def _head(storage: Storage, name: str) -> Head:
    with storage.read(name) as reader:
        return head_of(reader.table())


def _other_files(name: str, kept: Head, given: Candidates) -> str:
    was = f"the files at {kept.shards['path']} ({kept.parts[0]:,} rows)" if kept.shards else "a table"
    now = f"the files at {given.path} ({given.rows:,} rows)" if isinstance(given, ShardedTable) else "a table"
    return (
        f"The study {name!r} exists with other candidates: they are {was}, and {now} was given. Give the same ones, or "
        "begin a study of another name."
    )


def _stored(storage: Storage, name: str) -> Candidates:
    with storage.read(name) as reader:
        return table_of(reader)
