"""How answers are shown: as words, or as JSON for scripts."""

import sys
from typing import Annotated, Any, cast

import msgspec
import typer

from ostinato.study.view import StudyView

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def print_status(study: StudyView, json: bool) -> None:
    found = study.status()
    print_answer(found if not json else plain(found) | {"finished": found.finished}, json)


def print_answer(what: Any, json: bool) -> None:
    if json:
        print(msgspec.json.encode(what).decode())
    elif not sys.stdout.isatty():
        print(what)
    else:  # a person reads it: lines break between words
        from rich.console import Console

        Console().print(str(what), highlight=False, markup=False, emoji=False)


def plain(record: Any) -> Any:
    """For JSON: NumPy's rows as lists."""
    return msgspec.json.decode(msgspec.json.encode(record, enc_hook=lambda each: each.tolist()))


def in_words(candidate: Any) -> str:
    """A row as a person reads it."""
    if isinstance(candidate, dict):
        return ", ".join(f"{name} {value}" for name, value in cast("dict[str, Any]", candidate).items())
    return str(candidate)
