"""The candidates of a study, as they are stored, and which of them were retired."""

import os

import msgspec

from ostinato.candidates import Candidates, Head, ShardedTable, head_of, unpacked
from ostinato.candidates.shards import connected
from ostinato.errors import Damaged, MissingSetting, StudyDiffers
from ostinato.storage import Reader, StudyRecord

DASK = "OSTINATO_DASK"  # the address of a scheduler, for studies of candidates on a cluster


def table_of(reader: Reader, given: ShardedTable | None = None) -> Candidates:
    """Candidates as they were stored. given: those on a cluster, of which only where they are is stored."""
    head, name = head_of(reader.table()), reader.record.name
    if head.shards:
        return _on_cluster(head, given or _opened(head, name), name)
    stored = reader.blocks() if head.blocks else []
    if len(stored) != len(head.blocks):
        raise Damaged(
            f"The study {name!r} is damaged: its candidates are in {len(head.blocks)} blocks, and "
            f"{len(stored)} are there. `ostinato verify` says what else is."
        )
    return unpacked(head, stored)


def has_same_files(head: Head, given: Candidates) -> bool:
    """Whether candidates on a cluster are those that a study began with."""
    if not head.shards or not isinstance(given, ShardedTable):
        return False
    return {key: value for key, value in head.shards.items() if key != "path"} == given.identity


def _on_cluster(head: Head, given: ShardedTable, name: str) -> ShardedTable:
    if not has_same_files(head, given):
        raise StudyDiffers(
            f"The files at {given.path} are not those that the study {name!r} began with: give the same files, or "
            "begin a study of another name."
        )
    return given.base.with_added(head.parts[1:], head.columns)


def _opened(head: Head, name: str) -> ShardedTable:
    """On the cluster that the environment names."""
    address, path = os.environ.get(DASK), head.shards["path"]
    if not address:
        raise MissingSetting(
            f"The candidates of the study {name!r} are in {path}, on a Dask cluster: give them again, "
            f"Study({name!r}, storage, ShardedTable(client, {path!r})), or set {DASK} to the scheduler's address."
        )
    return ShardedTable(connected(address), path)


def retired_of(record: StudyRecord) -> list[int]:
    """Rows of candidates that are not to be measured any more."""
    return msgspec.json.decode(record.retired, type=list[int]) if record.retired else []
