"""`ostinato import`: measurements that were made elsewhere, from CSV."""

from collections.abc import Iterator
from math import nan
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ostinato.candidates import Candidates, Sampled
from ostinato.candidates.columns import Absent, Levels
from ostinato.candidates.files import Cells, read_cells
from ostinato.checks import counted
from ostinato.cli.opening import Name, Where, opened
from ostinato.errors import InvalidCandidates, InvalidFeedback, OstinatoError, UnknownCandidate
from ostinato.measurements.typed import is_failed, with_point
from ostinato.study import read_one
from ostinato.study.lines import OWN, columns_of, own_names
from ostinato.study.view import StudyView

TRIALS = ("successes", "trials")


def import_(
    where: Where,
    source: Annotated[
        Path,
        typer.Argument(
            help="CSV with the candidates' columns (or row), and value (with stderr, or count and std) or successes "
            "and trials."
        ),
    ],
    value: Annotated[
        str | None,
        typer.Option(help="The column that holds the values. By default value, or the name that the study gave it."),
    ] = None,
    name: Name = None,
) -> None:
    """Measurements that were made elsewhere, taken into a study as observations. All of the file, or none of it.

    What [bold]ostinato export[/bold] writes can be read, and what a spreadsheet writes: with commas, or with semicolons
    and then decimal commas. Other columns are left out. A file that is imported twice counts twice.
    """
    study = opened(where, name)
    measured = list(read_csv(source, study, value))
    if not measured:
        raise InvalidFeedback(f"{source} holds no measurements: its first line names columns, and each other is one.")
    told = study.observe_all(measured)
    Console(stderr=True).print(f"took in {counted(told, 'measurement')} of {source}", highlight=False)


def read_csv(source: Path, study: StudyView, value: str | None = None) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The candidate and what was measured, line by line; errors name the line. value: the column that holds it."""
    found = columns_named(source)
    own: dict[str, str] = dict(zip(OWN, own_names(study.table), strict=True))
    own["value"] = value_column(found.file, found.names, study, own["value"], value)
    for number, row in rows_of(found, own, study):
        try:
            yield _read(row, own, study)
        except OstinatoError as error:
            raise InvalidFeedback(f"{found.file}, line {number}: {error} Nothing of the file was taken in.") from None


def columns_named(source: Path) -> Cells:
    """The cells of a file whose columns have different names."""
    try:
        found = read_cells(source)
    except InvalidCandidates as error:
        raise InvalidFeedback(f"{error} Nothing of the file was taken in.") from None
    names = found.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidFeedback(f"{found.file} has two columns {twice!r}: give each a name of its own.")
    return found


def rows_of(found: Cells, own: dict[str, str], study: StudyView) -> Iterator[tuple[int, dict[str, str]]]:
    """Each line with its number, by columns; decimals of our own columns and of the candidates' have points."""
    columns = list(zip(columns_of(study.table), study.table.codecs, strict=True))
    texts = {name: levels for name, codec in columns if (levels := _texts(codec)) is not None}
    numbers = {*own.values(), *TRIALS, *columns_of(study.table)} - texts.keys()
    for number, cells in found.with_points(numbers, texts).lines:
        yield number, dict(zip(found.names, cells, strict=False))


def _texts(codec: Any) -> set[str] | None:
    """The texts that a column has for levels; None of a column of numbers."""
    if isinstance(codec, Absent):
        return _texts(codec.codec)
    return {level for level in codec.levels if isinstance(level, str)} if isinstance(codec, Levels) else None


def value_column(file: str, names: list[str], study: StudyView, usual: str, wanted: str | None) -> str:
    """The column that holds the values: the one that is wanted, the usual one, or one that bears their name."""
    settings, quantity = columns_of(study.table), study.quantity
    if wanted is not None:
        if wanted in settings:
            raise InvalidFeedback(f"{wanted!r} is a column of the candidates: name the one that holds the values.")
        if wanted not in names:
            raise InvalidFeedback(f"{file} has no column {wanted!r}: its columns are {', '.join(names)}.")
        return wanted
    called = {quantity.name, quantity.label} if quantity.given else set[str]()
    spelt = {each.casefold() for each in called} - {*OWN, *TRIALS}
    found = [name for name in names if name.casefold() in spelt and name not in settings]
    if found and usual in names:
        raise InvalidFeedback(f"{file} has both {usual!r} and {found[0]!r}: say which holds the values (--value).")
    return found[0] if found else usual


def _read(row: dict[str, str], own: dict[str, str], study: StudyView) -> tuple[Any, dict[str, Any]]:
    table = study.table
    what = {name: number_in(row, own[name]) for name in ("stderr", "count", "std") if row.get(own[name])}
    if row.get(own["value"]):
        what["value"] = value_in(row, own["value"])
    tried = [name for name in TRIALS if row.get(name) and name not in columns_of(table)]
    if "value" in what and tried:
        raise InvalidFeedback(f"it has both {own['value']} and {tried[0]}: give one of them.")
    if "value" not in what and len(tried) < len(TRIALS):
        counts = "Name columns of counts successes and trials; " if study.outcome.binary else ""
        which = f" The columns are {', '.join(row)}. {counts}--value says which holds the values."
        hint = "" if own["value"] in row else which
        raise InvalidFeedback(f"there is no {own['value']} (nor successes and trials).{hint}")
    if "value" not in what:
        what |= {name: number_in(row, name) for name in tried}
    read_one(**what, outcome=study.outcome)
    return _candidate(row, own["row"], study), what


def _candidate(row: dict[str, str], own_row: str, study: StudyView) -> Any:
    """The candidate that a line names: by its columns, or by the number of its row. Both must say the same.

    In a space rows are numbered as they are asked for, in every study in its own way: columns decide.
    """
    table = study.table
    optional = [str(codec.column.name) for codec in table.codecs if isinstance(codec, Absent)]
    columns = list(zip(columns_of(table), table.codecs, strict=True))
    missing = [name for name, codec in columns if not _is_given(row.get(name), codec) and name not in optional]
    if len(missing) == len(columns_of(table)) - len(optional) and row.get(own_row):
        return _row(row, own_row, table)
    if missing:
        raise InvalidFeedback(f"there is no {missing[0]} (nor {own_row}, the number of the candidate's row).")
    cells = {name: cell_in(row.get(name) or "", codec) for name, codec in columns}
    if isinstance(table, Sampled):
        table.holding(cells)
        return cells
    words = ", ".join(f"{name} {row.get(name) or None}" for name in cells)
    try:
        index = study.index(cells if table.named else list(cells.values()))
    except OstinatoError:
        raise UnknownCandidate(f"{words} is none of the study's candidates.") from None
    if row.get(own_row) and table.number_of(_row(row, own_row, table)) != table.number_of(index):
        raise UnknownCandidate(f"{words} is row {index} of the study, and not {own_row} {row[own_row]}.")
    return index


def _row(row: dict[str, str], own_row: str, table: Candidates) -> int:
    index = number_in(row, own_row)
    if index != int(index) or not 0 <= index < table.rows:
        there = f"none of the rows 0 to {table.rows - 1}" if table.rows else "of a study that has no rows yet"
        raise UnknownCandidate(f"{own_row} {row[own_row]} is {there}.")
    return int(index)


def value_in(row: dict[str, str], name: str) -> float:
    """What was measured; NaN where a cell says that it failed, as on the page of a plate."""
    return nan if is_failed(row[name]) else number_in(row, name)


def number_in(row: dict[str, str], name: str) -> float:
    """A number, also one with a decimal comma, which a file has in quotes where commas separate its columns."""
    plain = with_point(row[name])
    try:
        return float(plain)
    except ValueError:
        raise InvalidFeedback(f"{name} is {row[name]!r}, which is not a number.") from None


def _number(text: str) -> float:
    """A whole number that float64 cannot hold stays one."""
    value = float(text)
    return int(text) if text.lstrip("+-").isdecimal() and int(text) != value else value


def _is_given(text: str | None, codec: Any) -> bool:
    """Whether a cell holds a value; an empty one may be a level."""
    return bool(text) or (text is not None and isinstance(codec, Levels) and text in codec.levels)


def cell_in(text: str, codec: Any) -> Any:
    """A cell, as the kind of thing that the candidates hold in its column."""
    if isinstance(codec, Absent):
        return None if text in ("", "None") else cell_in(text, codec.codec)
    if isinstance(codec, Levels):
        known = {str(level): level for level in codec.levels} | {str(level).lower(): level for level in codec.levels}
        return known.get(text, known.get(text.lower(), text))
    plain = with_point(text)
    try:
        value = {"true": 1.0, "false": 0.0}.get(text.lower())
        return _number(plain) if value is None else value
    except ValueError:
        return text
