"""A copy of a study, made while others work on it, and checked before it takes its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from ostinato.errors import Damaged, InvalidSetting, OstinatoError
from ostinato.storage import Storage, StudyRecord, open_storage
from ostinato.storage.sqlite import put_in_place, unfinished
from ostinato.study.verifying import verify

SOON = 5.0  # seconds for which a file that is to be replaced is waited for
Progress: TypeAlias = Callable[[int], object]


def backup(storage: Storage, name: str, to: Any, *, replace: bool = False, progress: Progress = int) -> None:
    """Copy one moment of a study into a new file, or into another storage that has no study of this name.

    replace: whether an older copy that is there is replaced, once the new one is whole. Nothing else is ever replaced.
    """
    if isinstance(to, Storage) or "://" in str(to):
        if replace:
            raise InvalidSetting(f"replace=True is for files, and {to} is an address: give a file, or leave it out.")
        _copied(storage, name, open_storage(to), progress)
        return
    path = Path(str(to))
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"cannot be written: there is no folder {path.parent}"
        raise InvalidSetting(f"{path} {what}. Give a file, such as copy.db.")
    if path.exists() and not replace:
        raise InvalidSetting(f"{path} is there already: give another file, or replace=True for an older copy.")
    if path.exists():
        _check_older(storage, name, path)
    with unfinished(path) as beside:
        _copied(storage, name, open_storage(beside), progress)
        put_in_place(beside, path, replace=replace)


def _copied(storage: Storage, name: str, target: Storage, progress: Progress) -> None:
    storage.patiently(lambda: storage.copy(name, target, progress))
    problems = verify(target, name)
    if problems:
        target.delete(name)
    target.close()
    if problems:
        raise Damaged(f"The copy of {name!r} is not whole ({problems[0]}): it was not kept.")


def _check_older(storage: Storage, name: str, path: Path) -> None:
    """Whether a file is a copy of the study and nothing else, with nothing that the study does not have."""
    try:
        there = open_storage(path, create=False, patience=SOON)
        copy = _records(there) if there.names() == [name] else []
    except OstinatoError:
        copy = []
    with storage.read(name) as reader:
        ours = reader.record
    if not copy or copy[0].created != ours.created:
        raise InvalidSetting(
            f"{path} is not a copy of the study {name!r} alone, and would be lost: give another file, or delete it."
        )
    if copy[0].told > ours.told or _is_same(storage, path):
        raise InvalidSetting(
            f"{path} is not an older copy of the study {name!r}: somebody works with it. Give another file."
        )


def _records(storage: Storage) -> list[StudyRecord]:
    with storage.read(storage.names()[0]) as reader:
        return [reader.record]


def _is_same(storage: Storage, path: Path) -> bool:
    return storage.file is not None and storage.file.exists() and storage.file.samefile(path)
