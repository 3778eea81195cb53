"""Candidates of a study that change: added, retired, restored."""

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from ostinato.candidates import Candidates, extended, packed, read_candidates
from ostinato.checks import brief, counted
from ostinato.errors import StudyDiffers
from ostinato.optimizer import Optimizer
from ostinato.optimizer.settings import more_noise
from ostinato.storage import Writer
from ostinato.study import log
from ostinato.study.candidates import retired_of
from ostinato.study.leases import in_hand
from ostinato.study.revise import forget, without_round
from ostinato.study.settings import with_setting
from ostinato.study.stored import StoredStudy


def add(stored: StoredStudy, rows: Any, noise_std: Any = None, *, again: bool) -> list[int]:
    """More candidates from now on, with noise of their own where all have that; returns their indices."""

    def change(writer: Writer) -> list[int]:
        before = stored.refresh(writer)
        table = extended(before, rows, again=again)
        if table.rows == before.rows:
            return []
        noise = more_noise(stored.settings.get("noise_std"), noise_std, table.rows - before.rows)
        Optimizer(table, **{**stored.settings, "noise_std": noise})  # settings may speak of rows
        stored.change_table(writer, packed(table))
        if np.ndim(noise):
            writer.change(replace(writer.record, settings=with_setting(writer.record.settings, "noise_std", noise)))
        forget(writer)
        return list(range(before.rows, table.rows))

    added = stored.write_once(change)
    stored.read(stored.refresh)
    return added


def take_missing(stored: StoredStudy, candidates: Any, missing: int, noise_std: Any, *, extend: bool) -> None:
    """The last `missing` rows that were given, after all those that the study has, are added; or refused."""
    given = read_candidates(candidates)
    rows = [given[row] for row in range(given.rows - missing, given.rows)]
    if not extend:
        new = f"{counted(missing, 'row')} more, the first of them {brief(rows[0])}"
        raise StudyDiffers(
            f"The study {stored.name!r} has {counted(stored.table.rows, 'row')}, and the candidates that were given "
            f"{new}: give extend=True (on the command line --add) to add them, or begin a study of another name."
        )
    noise = noise_std[-missing:] if np.ndim(noise_std) else None
    add(stored, rows if given.named else np.asarray(rows), noise, again=True)


def retire(stored: StoredStudy, rows: Any) -> int:
    """Candidates that are not to be measured any more; returns how many rows that is."""
    return _change(stored, rows, lambda retired, given: retired | given)


def restore(stored: StoredStudy, rows: Any) -> int:
    """Retired candidates may be measured again; returns how many rows that is."""
    return _change(stored, rows, lambda retired, given: retired - given)


def _change(stored: StoredStudy, rows: Any, join: Callable[[set[int], set[int]], set[int]]) -> int:
    stored.hold(rows)

    def change(writer: Writer) -> int:
        table = stored.refresh(writer)
        numbers = _numbers(table, rows)
        before = set(retired_of(writer.record))
        after = join(before, {table.index_of(number) for number in numbers})
        text = msgspec.json.encode(sorted(after)).decode() if after else ""
        writer.change(replace(writer.record, retired=text))
        if after - before:
            without_round(writer)
            _close_waiting(table, writer, numbers)
        return len(after ^ before)

    return stored.write_once(change)


def _numbers(table: Candidates, rows: Any) -> set[int]:
    """The numbers of the different candidates that some rows are."""
    given = list(rows) if isinstance(rows, range) else rows
    if isinstance(given, list) and not given:
        return set()
    named = table.named_by(given)
    return {named} if isinstance(named, int) else set(named)


def close_retired(stored: StoredStudy, writer: Writer) -> None:
    """Batches of retired candidates whose worker did not answer in time will not be made."""
    rows = retired_of(writer.record)
    if rows:
        table = stored.refresh(writer)
        _close_waiting(table, writer, {table.number_of(row) for row in rows})


def _close_waiting(table: Candidates, writer: Writer, numbers: set[int]) -> None:
    """Batches of some candidates that are not assigned to a worker will not be made."""
    assigned = in_hand(writer)
    for batch in writer.unfinished():
        if table.number_of(batch.facts.index) in numbers and not assigned.get(batch.facts.id):
            log.close(writer, batch.facts.id)
