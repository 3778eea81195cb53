"""Which study a command means."""

from pathlib import Path
from typing import Annotated

import typer

from ostinato.errors import UnknownStudy
from ostinato.storage import Storage, open_storage
from ostinato.study import LEASE, Study

TABLES = (".csv", ".tsv", ".parquet", ".toml")
PATIENCE = 10.0  # seconds for which somebody who only looks waits for a storage

Where = Annotated[str, typer.Argument(metavar="STUDY", help="A file (lab.db) or an address (postgresql://…).")]
Name = Annotated[str | None, typer.Option("--name", help="Which study, where the storage holds several.")]


def opened(where: str, name: str | None, *, lease: float = LEASE) -> Study:
    """The study that was meant."""
    if Path(where).suffix.lower() in TABLES and Path(where).is_file():
        raise UnknownStudy(
            f"{where} is a table of candidates. Its study is kept in another file, such as {Path(where).stem}.db."
        )
    storage = open_storage(where, create=False, patience=PATIENCE)
    return Study(named(storage, where, name), storage, lease=lease)


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
