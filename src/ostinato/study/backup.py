"""A copy of a study, made while others work on it, and checked before it takes its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from ostinato.errors import Damaged, InvalidSetting
from ostinato.storage import Storage, open_storage
from ostinato.storage.sqlite import put_in_place, unfinished
from ostinato.study.verifying import verify

Progress: TypeAlias = Callable[[int], object]


def backup(storage: Storage, name: str, to: Any, *, replace: bool = False, progress: Progress = int) -> None:
    """Copy one moment of a study into a new file, or into another storage that has no study of this name.

    replace: whether a file that is there is replaced, once the copy is whole.
    """
    if isinstance(to, Storage) or "://" in str(to):
        _copied(storage, name, open_storage(to), progress)
        return
    path = Path(str(to))
    if path.exists() and not replace:
        raise InvalidSetting(f"{path} is there already: give another file, or replace=True.")
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"cannot be written: there is no folder {path.parent}"
        raise InvalidSetting(f"{path} {what}. Give a file, such as copy.db.")
    with unfinished(path) as beside:
        _copied(storage, name, open_storage(beside), progress)
        put_in_place(beside, path, replace=replace)


def _copied(storage: Storage, name: str, target: Storage, progress: Progress) -> None:
    storage.patiently(lambda: storage.copy(name, target, progress))
    problems = verify(target, name)
    target.close()
    if problems:
        raise Damaged(f"The copy of {name!r} is not whole ({problems[0]}): it was not kept.")
