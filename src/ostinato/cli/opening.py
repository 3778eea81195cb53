"""Which study a command means."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostinato.errors import UnknownStudy
from ostinato.storage import Storage, open_storage
from ostinato.study.stored import StoredStudy
from ostinato.study.view import StudyView

if TYPE_CHECKING:
    from ostinato.study import Study

TABLES = (".csv", ".tsv", ".parquet", ".toml")
PATIENCE = 10.0  # seconds for which somebody who only looks waits for a storage

Where = Annotated[str, typer.Argument(metavar="STUDY", help="A file (lab.db) or an address (postgresql://…).")]
Name = Annotated[str | None, typer.Option("--name", help="Which study, where the storage holds several.")]


def viewed(where: str, name: str | None) -> StudyView:
    """The study that was meant, to be looked at: so that no optimiser is imported where none is needed."""
    storage = _storage(where)
    return StudyView(StoredStudy(named(storage, where, name), storage))


def opened(where: str, name: str | None, *, lease: float | None = None) -> "Study":
    """The study that was meant, to be changed."""
    from ostinato.study import LEASE, Study

    storage = _storage(where)
    return Study(named(storage, where, name), storage, lease=LEASE if lease is None else lease)


def _storage(where: str) -> Storage:
    if Path(where).suffix.lower() in TABLES and Path(where).is_file():
        raise UnknownStudy(
            f"{where} is a table of candidates. Its study is kept in another file, such as {Path(where).stem}.db."
        )
    return open_storage(where, create=False, patience=PATIENCE)


def exists(where: str, name: str) -> bool:
    """Whether there is a study of this name."""
    try:
        return name in open_storage(where, create=False, patience=PATIENCE).names()
    except UnknownStudy:
        return False


def named(storage: Storage, where: str, name: str | None) -> str:
    """The only study there is, or that of the name."""
    names = [name] if name else storage.names()
    if len(names) != 1:
        listed = f"it holds {', '.join(names)}: say which with --name" if names else "it holds none"
        raise UnknownStudy(f"{where} does not hold one study, {listed}.")
    return names[0]
