"""Files of candidates read, and studies of them made; on a terminal it is said meanwhile."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from ostinato.candidates import Candidates, Sampled, ShardedTable, read_file
from ostinato.candidates.files import KINDS
from ostinato.candidates.shards import connected
from ostinato.checks import counted
from ostinato.errors import InvalidCandidates, InvalidSetting
from ostinato.study import Study

WILD = set("*?[")
PARQUET = (".parquet", ".pq")


def read_table(path: Path | str, dask: str | None = None, ignore: list[str] | None = None) -> Candidates:
    """The candidates of a file, or of files on a Dask cluster; on a terminal it says at once that it reads them.

    ignore: columns that are left out.
    """
    if dask and (WILD.intersection(str(path)) or str(path).endswith(PARQUET)):
        if ignore:
            raise InvalidSetting("--ignore is for one table: leave the columns out of the files.")
        with said_meanwhile(f"reading {path} on {dask}"):
            return ShardedTable(connected(dask), path)
    path = Path(path)
    size = path.stat().st_size if path.is_file() else 0
    with said_meanwhile(f"reading {path.name} ({size / 1e6:,.1f} MB)"):
        return read_file(path, ignore or ())


def place_beside(candidates: str) -> tuple[str | None, str]:
    """Where a study of some candidates is kept by default, and its name; of many files, those of their folder.

    None for files that are not on this machine.
    """
    path = Path(candidates)
    if WILD.intersection(path.name):
        path = path.parent if path.parent.name else path.parent.resolve()
    elif path.is_dir() and path.suffix.lower() not in PARQUET:
        raise InvalidCandidates(f"{candidates} is a folder: give a table of candidates ({KINDS}).")
    return None if "://" in candidates else str(path.with_suffix(".db")), path.stem


def made(name: str, where: str, table: Candidates, **settings: Any) -> Study:
    """A study of these candidates, made or opened; on a terminal it says at once that it does so."""
    words = (
        "preparing the study"
        if isinstance(table, Sampled | ShardedTable)
        else f"storing {counted(table.rows, 'candidate')}"
    )
    with said_meanwhile(words):
        return Study(name, where, table, **settings)


@contextmanager
def said_meanwhile(words: str) -> Generator[None, None, None]:
    """What is being done, for a person who waits for it; gone when it is done."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(escape(words)):
        yield
