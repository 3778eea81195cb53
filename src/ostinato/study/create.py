"""How a study begins: candidates and settings are stored once, and are the same ever after."""

from collections.abc import Iterable
from time import time
from typing import Any

import numpy as np

from ostinato.candidates import Candidates, Packed, Sampled, head_of, packed, unlike, unpacked
from ostinato.checks import brief, whole
from ostinato.errors import Damaged, InvalidSetting, StudyDiffers
from ostinato.measurements.tally import MOST
from ostinato.optimizer import Optimizer
from ostinato.optimizer.settings import check_names, noise_variances
from ostinato.stopping import watched
from ostinato.storage import Reader, Storage, StudyRecord
from ostinato.study.settings import as_text


def create(
    storage: Storage, name: str, table: Candidates, budget: int | None, settings: dict[str, Any]
) -> tuple[Packed, int]:
    """Make a study, unless it exists: then it must have the same candidates, or some more.

    Returns the candidates as they are stored, and how many rows are given that the study does not have, after all those
    that it has.
    """
    pack = packed(table)
    if name not in storage.patiently(storage.names):
        seed = settings.get("seed")
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else whole("seed", seed, 0)
        settings = {**settings, "seed": seed}
        own = {name: value for name, value in settings.items() if name != "stop"}
        check_names(own, Optimizer)
        watched(settings.get("stop"))
        most = None if budget is None else read_budget(budget)
        Optimizer(table, budget=most, **own)  # its settings are checked
        record, blocks = StudyRecord(0, name, time(), as_text(settings), pack.digest, most, b""), pack.blocks()
        if storage.patiently(lambda: storage.create(record, pack.head, blocks)):
            return pack, 0
    if np.ndim(settings.get("noise_std", 0.0)):
        noise_variances(settings["noise_std"], table)
    if storage.patiently(lambda: _digest(storage, name)) == pack.digest:
        return pack, 0
    stored = storage.patiently(lambda: _stored(storage, name))
    if isinstance(stored, Sampled) or isinstance(table, Sampled):
        if not _same_space(stored, table):
            raise StudyDiffers(_difference(name, stored, table))
        return pack, 0
    if not _begin_alike(stored, table):
        raise StudyDiffers(_difference(name, stored, table))
    return pack, max(0, table.rows - stored.rows)


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
    return given.rows >= kept.parts[0] and _differs_at(kept, given) is None


def _differs_at(kept: Candidates, given: Candidates) -> int | None:
    """The first row in which two tables differ, of those that both have."""
    rows: Iterable[int] = unlike(kept, given)
    return next((row for row in rows if repr(kept[row]) != repr(given[row])), None)


def read_budget(budget: Any) -> int:
    """How many measurements there may be; a number that every database can hold."""
    most = whole("budget", budget)
    if most > MOST:
        raise InvalidSetting(f"budget={most} is too large: give at most {MOST:,}.")
    return most


def table_of(reader: Reader) -> Candidates:
    """Candidates as they were stored."""
    head = head_of(reader.table())
    stored = reader.blocks() if head.blocks else []
    if len(stored) != len(head.blocks):
        raise Damaged(
            f"The study {reader.record.name!r} is damaged: its candidates are in {len(head.blocks)} blocks, and "
            f"{len(stored)} are there. `ostinato verify` says what else is."
        )
    return unpacked(head, stored)


def _digest(storage: Storage, name: str) -> str:
    with storage.read(name) as reader:
        return reader.record.digest


def _stored(storage: Storage, name: str) -> Candidates:
    with storage.read(name) as reader:
        return table_of(reader)


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
    row = _differs_at(kept, given)
    if row is None:
        return start + f"it has {kept.rows:,} rows, and {given.rows:,} were given." + end
    return start + f"row {row} is {brief(kept[row])}, and {brief(given[row])} was given." + end
