"""How answers are shown: as words, or as JSON for scripts."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
import typer

from ostinato.records import Outlier
from ostinato.study.exchange import in_words, plain
from ostinato.study.view import StudyView

__all__ = ["Json", "in_words", "plain", "print_answer", "print_status", "remedy"]

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts.")]


def print_status(study: StudyView, json: bool) -> None:
    found = study.status()
    print_answer(f"{found}{remedy(found.outliers)}" if not json else plain(found) | {"finished": found.finished}, json)


def remedy(outliers: Sequence[Outlier]) -> str:
    """How values that do not fit are changed, in a line of its own; nothing where there are none."""
    if not outliers:
        return ""
    return f"\n            If a value is wrong, `ostinato correct STUDY {outliers[0].number} VALUE` changes it."


def print_answer(what: Any, json: bool) -> None:
    if json:
        print(msgspec.json.encode(what).decode())
    elif not sys.stdout.isatty():
        print(what)
    else:  # a person reads it: lines break between words
        from rich.console import Console

        Console().print(str(what), highlight=False, markup=False, emoji=False)
