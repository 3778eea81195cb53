"""How answers are shown: as words, as tables, or as JSON for scripts."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ostinato.candidates import Candidates, Sampled, read_file
from ostinato.checks import counted
from ostinato.study import Study

LEFT = ("candidate", "when", "batch", "why", "worker", "state")
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


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


def print_status(study: Study, json: bool) -> None:
    found = study.status()
    print_answer(found if not json else plain(found) | {"finished": found.finished}, json)


def print_answer(what: Any, json: bool) -> None:
    if json:
        print(msgspec.json.encode(what).decode())
        return
    console = Console()
    console.print(escape(str(what)), highlight=False, soft_wrap=not console.is_terminal)


def plain(record: Any) -> Any:
    """For JSON: NumPy's rows as lists."""
    return msgspec.json.decode(msgspec.json.encode(record, enc_hook=lambda each: each.tolist()))


def table_of(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1), pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in LEFT else "right", no_wrap=name != "candidate")
    return table
