"""Where studies are kept: SQLite files and PostgreSQL databases, behind one promise (`base.py`)."""

from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from ostinato.errors import InvalidSetting
from ostinato.storage.base import (
    BatchRecord,
    Entry,
    Lease,
    LogRow,
    Reader,
    Revision,
    Source,
    Storage,
    StudyRecord,
    TokenRecord,
    Writer,
)
from ostinato.storage.sql import PATIENCE, SQLStorage


def open_storage(where: Any, *, create: bool = True, patience: float = PATIENCE) -> Storage:
    """The storage at an address: sqlite:///lab.db, postgresql://user@host/database, or simply a file.

    create: whether to make it where there is none. patience: for how many seconds a storage that does not answer is
    tried again.
    """
    if isinstance(where, Storage):
        return where
    if isinstance(where, Path) or "://" not in str(where):
        return _sqlite(Path(str(where)), create, patience)
    try:
        url = make_url(str(where))
    except ArgumentError as error:
        raise InvalidSetting(
            f"storage={where!r} is not an address ({error}): give a file, or sqlite:///lab.db."
        ) from None
    if url.get_backend_name() == "sqlite":
        if not url.database or url.database == ":memory:":
            raise InvalidSetting(f"storage={where!r} names no file: studies are kept in one, as in sqlite:///lab.db.")
        if any(mark in str(where) for mark in "?#"):
            raise InvalidSetting(f"storage={where!r} has ? or #, which mean something in addresses: give the file.")
        return _sqlite(Path(str(where).partition("://")[2].removeprefix("/")), create, patience)
    if url.get_backend_name() in ("postgresql", "postgres"):
        from ostinato.storage.postgres import Postgres

        return SQLStorage(Postgres(url), patience=patience, create=create)
    raise InvalidSetting(f"storage={where!r} is of an unknown kind: give sqlite:///lab.db or postgresql://…")


def _sqlite(path: Path, create: bool, patience: float) -> Storage:
    from ostinato.storage.sqlite import SQLite, put_in_place, unfinished

    backend = SQLite(path, create=create)
    if create and not path.exists():
        with unfinished(path) as beside:
            SQLStorage(SQLite(beside, name=str(path)), patience=patience).close()
            put_in_place(beside, path)
    return SQLStorage(backend, patience=patience, create=create)


__all__ = [
    "BatchRecord",
    "Entry",
    "Lease",
    "LogRow",
    "Reader",
    "Revision",
    "Source",
    "Storage",
    "StudyRecord",
    "TokenRecord",
    "Writer",
    "open_storage",
]
