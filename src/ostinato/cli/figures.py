"""A study as pictures: figures, and a report with all of them."""

import re
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from ostinato.cli.opening import Name, Where, viewed
from ostinato.cli.terminal import Json
from ostinato.plots.figures import DEFAULT, FIGURES, drawn, save, series_of
from ostinato.running.tables import show, table_of


def plot(
    where: Where,
    figure: Annotated[str | None, typer.Argument(help="Which figure; without it they are listed.")] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="The file: .svg, .png or .pdf. By default STUDY-FIGURE.svg, here."),
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option("--column", help="For posterior: the column along which; give two for a map.")
    ] = None,
    name: Name = None,
    json: Json = False,
) -> None:
    """Draw a figure of a study: measurements, progress, posterior, parallel, batches, noise or calibration.

    A file that is there already is replaced. With --json the data of the figure are printed, and nothing is drawn.
    Needs matplotlib (the extra "plots").
    """
    if figure is None and out is None and not json:
        _list()
        return
    study, which = viewed(where, name), figure or DEFAULT
    series = series_of(study, which, columns=column or ())
    if json:
        print(msgspec.json.encode(series).decode())
        return
    path = out or Path(f"{_file_name(study.name)}-{which}.svg")
    save(drawn(series, which), path)
    Console(stderr=True).print(f"wrote {path}", highlight=False, markup=False)


def report(
    where: Where,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="The HTML file. By default STUDY-report.html, here.")
    ] = None,
    name: Name = None,
) -> None:
    """Write a report of a study: one HTML page with the answer, figures, tables, settings and where values come from.

    The page needs nothing else: it can be sent by mail, printed, or opened anywhere. A file that is there already is
    replaced. Needs matplotlib (the extra "plots").
    """
    from ostinato.plots.page import report as page

    study = viewed(where, name)
    path = out or Path(f"{_file_name(study.name)}-report.html")
    path.write_text(page(study), encoding="utf-8")
    Console(stderr=True).print(f"wrote {path}", highlight=False, markup=False)


def _list() -> None:
    table = table_of("figure", "what it shows")
    for name, kind in FIGURES.items():
        table.add_row(name, kind.words)
    show(Console(), table)


def _file_name(name: str) -> str:
    """A name that any file system takes."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "study"
