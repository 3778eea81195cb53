"""How answers are shown: as words, as tables, or as JSON for scripts."""

from typing import Annotated, Any, cast

import msgspec
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ostinato.study.view import StudyView

LEFT = ("candidate", "when", "batch", "why")
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def print_status(study: StudyView, json: bool) -> None:
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


def in_words(candidate: Any) -> str:
    """A row as a person reads it."""
    if isinstance(candidate, dict):
        return ", ".join(f"{name} {value}" for name, value in cast("dict[str, Any]", candidate).items())
    return str(candidate)


def table_of(*columns: str) -> Table:
    table = Table(box=SIMPLE_HEAD, header_style="bold", padding=(0, 1), pad_edge=False)
    for name in columns:
        table.add_column(name, justify="left" if name in LEFT else "right", no_wrap=name != "candidate")
    return table
