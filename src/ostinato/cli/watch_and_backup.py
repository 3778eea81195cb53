"""`ostinato watch` and `ostinato backup`: a live view of a study, and a copy of it."""

from collections.abc import Callable
from datetime import datetime
from time import sleep
from typing import Annotated

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from ostinato.cli.opening import PATIENCE, Name, Where, named, viewed
from ostinato.cli.reading import said_meanwhile
from ostinato.cli.terminal import in_words
from ostinato.errors import Unavailable
from ostinato.running.tables import table_of
from ostinato.storage import open_storage
from ostinato.study.backup import backup as copied
from ostinato.study.records import Measurement
from ostinato.study.view import StudyView

SHOWN = 8  # of the last values


def watch(
    where: Where,
    every: Annotated[float, typer.Option(min=0.1, help="Seconds between two looks.")] = 2.0,
    name: Name = None,
) -> None:
    """Look on while others measure: where a study stands, the best so far, and the last values. Ctrl-C ends it.

    It only looks, and works anything out again only when something has changed. On a terminal it draws; otherwise it
    writes a line for every change. It ends by itself when the budget is spent.

    Example: [bold]ostinato watch lab.db[/bold]
    """
    study, console = viewed(where, name), Console()
    try:
        if console.is_terminal:
            with Live(console=console, auto_refresh=False) as live:
                _look_on(study, every, lambda: live.update(_drawn(study), refresh=True))
        else:
            _look_on(study, every, _Lines(study, console).say)
    except KeyboardInterrupt:
        return


def _look_on(study: StudyView, every: float, draw: Callable[[], object]) -> None:
    """Draw what has changed, until the budget is spent; a storage that is away is waited for."""
    seen: object = None
    while True:
        try:
            now = study.moment()
            if now != seen:
                draw()
                seen = now
            if study.finished:
                return
        except Unavailable as error:
            Console(stderr=True).print(f"[yellow]note:[/yellow] {escape(str(error))}", highlight=False)
        sleep(every)


def _drawn(study: StudyView) -> Group:
    table = table_of("number", "when", "candidate", "value")
    for each in study.last_measurements(SHOWN):
        table.add_row(f"{each.number:,}", _clock(each.at), in_words(study.candidate(each.index)), _value(each))
    looked = Text(f"{datetime.now():%H:%M:%S}  Ctrl-C ends watching, and nothing else", style="dim")
    return Group(Text(str(study.status())), Text(""), table, looked)


class _Lines:
    """Lines for a file; what would say the same as the last one is left out."""

    def __init__(self, study: StudyView, console: Console) -> None:
        self._study, self._console, self._last = study, console, ""

    def say(self) -> None:
        text = _line(self._study)
        if text != self._last:
            self._console.print(f"{datetime.now():%Y-%m-%d %H:%M:%S}  {text}", highlight=False, soft_wrap=True)
        self._last = text


def _line(study: StudyView) -> str:
    status = study.status()
    made = f"{status.measurements + status.failures:,}" + (f"/{status.budget:,}" if status.budget else "")
    best = f" · best {status.best}" if status.best else ""
    failed = f" · {status.failures:,} failed" if status.failures else ""
    paused = "".join(f" · paused {each}" for each in status.paused)
    return escape(f"{made}{failed}{paused}{best}")


def _clock(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M:%S}"


def _value(measured: Measurement) -> str:
    if measured.value is None:
        return "taken back"
    return "failed" if measured.value != measured.value else f"{measured.value:.5g}"


def backup(
    where: Where,
    to: Annotated[str, typer.Argument(metavar="COPY", help="A new file, or postgresql://….")],
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace an older copy of the study, once the new one is whole.")
    ] = False,
    name: Name = None,
) -> None:
    """A copy of a study at one moment, while others go on with it. Every row is checked on the way.

    A copy holds one study, and is one like any other: look at it, go on with it, or copy it back. A copy that fails
    leaves nothing behind, and with --replace the old copy. What is being measured at the moment is not in it.

    Example, every night: [bold]ostinato backup lab.db /backup/lab.db --replace[/bold]
    """
    storage = open_storage(where, create=False, patience=PATIENCE)
    which = named(storage, where, name)
    with said_meanwhile(f"copying {which}"):
        copied(storage, which, to, replace=replace)
    Console(stderr=True).print(f"copied {escape(which)} to {escape(to)}", highlight=False)
