"""How answers are shown: as words, or as JSON for scripts."""

import sys
from typing import Annotated, Any

import msgspec
import typer

from ostinato.study.exchange import in_words, plain
from ostinato.study.view import StudyView

__all__ = ["Json", "in_words", "plain", "print_answer", "print_status"]

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
