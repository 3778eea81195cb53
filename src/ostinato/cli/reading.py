"""Files of candidates read, and studies of them made; on a terminal it is said meanwhile."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from ostinato.candidates import Candidates, Sampled, read_file
from ostinato.checks import counted
from ostinato.study import Study


def read_table(path: Path) -> Candidates:
    """The candidates of a file; on a terminal it says at once that it reads them."""
    size = path.stat().st_size if path.is_file() else 0
    with said_meanwhile(f"reading {path.name} ({size / 1e6:,.1f} MB)"):
        return read_file(path)


def made(name: str, where: str, table: Candidates, **settings: Any) -> Study:
    """A study of these candidates, made or opened; on a terminal it says at once that it does so."""
    words = "preparing the study" if isinstance(table, Sampled) else f"storing {counted(table.rows, 'candidate')}"
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
