"""Single measurements: as lines in the terminal, as CSV, and taken in from CSV."""

import csv
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from math import isnan
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from ostinato.candidates import Candidates, Sampled
from ostinato.candidates.columns import Absent, Levels
from ostinato.cli.terminal import in_words, plain, print_answer
from ostinato.errors import InvalidFeedback, OstinatoError, UnknownCandidate
from ostinato.running.tables import show, table_of
from ostinato.study import Measurement, read_one
from ostinato.study.lines import OWN, columns_of, csv_rows, moment_of, origin_of, own_names
from ostinato.study.view import StudyView

TRIALS = ("successes", "trials")
UNREVISED = {"withdrawn": 0, "corrected": 0}
SHOWN = ("began", "worker", "program", "version")  # of where a measurement comes from, in the terminal


def write_csv(
    out: Path | None, table: Candidates, measurements: Iterable[Measurement], *, origin: bool = False
) -> None:
    """One line a measurement, with the candidate's columns between those of our own.

    origin: with where each comes from, at the end.
    """
    file = out.open("w", newline="", encoding="utf-8") if out else sys.stdout
    try:
        csv.writer(file).writerows(csv_rows(table, measurements, origin=origin))
        file.flush()
    finally:
        if out:
            file.close()


def read_csv(source: Path, study: StudyView) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The candidate and what was measured, line by line; errors name the line."""
    with source.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        names = list(reader.fieldnames or [])
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidFeedback(f"{source.name} has two columns {twice!r}: give each a name of its own.")
        for row in reader:
            try:
                yield _read(row, study)
            except OstinatoError as error:
                raise InvalidFeedback(
                    f"{source.name}, line {reader.line_num}: {error} Nothing of the file was taken in."
                ) from None


def ranges(measurements: Iterable[Measurement]) -> dict[int, str]:
    """The numbers of each batch's measurements, in short: 41 to 45."""
    found: dict[int, list[int]] = {}
    for each in measurements:
        found.setdefault(each.batch, []).extend((each.number, each.number + each.count - 1))
    return {
        batch: str(numbers[0]) if numbers[0] == numbers[-1] else f"{min(numbers)} to {max(numbers)}"
        for batch, numbers in found.items()
    }


def revisions(measurements: Iterable[Measurement]) -> dict[int, dict[str, int]]:
    """How many measurements of each batch were taken back, and how many corrected; of those that have any."""
    found: dict[int, dict[str, int]] = {}
    for each in measurements:
        if each.revisions:
            counts = found.setdefault(each.batch, dict(UNREVISED))
            counts["withdrawn" if each.value is None else "corrected"] += each.count
    return found


def show_measurements(study: StudyView, json: bool, *, everything: bool, origin: bool = False) -> None:
    """One line a measurement."""
    rows = [_line(study, each) for each in study.measurements(everything=everything)]
    if json:
        print_answer([plain(row) for row in rows], json)
        return
    more = ["was", "revised", "why"] if everything else []
    table = table_of("number", "when", "batch", "candidate", "value", *more, *(SHOWN if origin else ()))
    for row in rows:
        told = [row["number"], _short(row["when"]), row["batch"], in_words(row["candidate"])]
        source = [_short(row["began"]), *(row[name] or "" for name in SHOWN[1:])] if origin else []
        steps = list(_steps(row)) if everything and row["revisions"] else [(_value(row), "", None, "")]
        for value, was, revised, why in steps:
            cells = [*told, value, *([was, _short(revised), why] if everything else []), *source]
            table.add_row(*map(escape, map(str, cells)))
    show(Console(), table)


def _steps(row: dict[str, Any]) -> Iterator[tuple[str, str, str | None, str]]:
    """What a measurement became, one revision after the other, and what it was before each."""
    was = _number_or_nothing(row["was"])
    for each in row["revisions"]:
        value = "taken back" if each["value"] is None else _number_or_nothing(each["value"])
        yield value, was, each["at"], each["why"]
        was = value


def show_candidates(study: StudyView, json: bool) -> None:
    """One line a row of the candidates' table."""
    measured, retired = study.counts(), set(study.retired)
    rows = [
        {"row": row, "candidate": study.candidate(row), "measured": measured.get(row, 0), "retired": row in retired}
        for row in range(study.table.rows)
    ]
    if json:
        print_answer([plain(row) for row in rows], json)
        return
    table = table_of("row", "candidate", "measured", "")
    for row in rows:
        words = [row["row"], in_words(row["candidate"]), row["measured"] or "", "retired" if row["retired"] else ""]
        table.add_row(*map(str, words))
    show(Console(), table)


def _line(study: StudyView, each: Measurement) -> dict[str, Any]:
    return {
        "number": each.number,
        "when": moment_of(each.at),
        "batch": each.batch,
        "repeat": each.repeat,
        "row": each.index,
        "candidate": study.candidate(each.index),
        "value": each.value,
        "count": each.count,
        "withdrawn": each.value is None,
        "was": each.told,
        "revisions": [{"value": r.value, "at": moment_of(r.at), "why": r.why} for r in each.revisions],
        **{name: said for name, said in origin_of(each).items() if name != "told"},
    }


def _value(row: dict[str, Any]) -> str:
    if row["withdrawn"]:
        return "taken back"
    many = f" (average of {row['count']:,})" if row["count"] > 1 else ""
    return "failed" if isnan(row["value"]) else f"{row['value']:.6g}{many}"


def _number_or_nothing(value: float | None) -> str:
    return "" if value is None else "failed" if isnan(value) else f"{value:.6g}"


def _short(moment: str | None) -> str:
    return "" if moment is None else f"{datetime.fromisoformat(moment):%Y-%m-%d %H:%M:%S}"


def _read(row: dict[str, Any], study: StudyView) -> tuple[Any, dict[str, Any]]:
    table = study.table
    own = dict(zip(OWN, own_names(table), strict=True))
    what = {name: _number(row, own[name]) for name in ("value", "stderr", "count", "std") if row.get(own[name])}
    tried = [name for name in TRIALS if row.get(name) and name not in columns_of(table)]
    if "value" in what and tried:
        raise InvalidFeedback(f"it has both {own['value']} and {tried[0]}: give one of them.")
    if "value" not in what and len(tried) < len(TRIALS):
        raise InvalidFeedback(f"there is no {own['value']} (nor successes and trials).")
    if "value" not in what:
        what |= {name: _number(row, name) for name in tried}
    read_one(**what, outcome=study.outcome)
    return _candidate(row, own["row"], study), what


def _candidate(row: dict[str, Any], own_row: str, study: StudyView) -> Any:
    """The candidate that a line names: by its columns, or by the number of its row. Both must say the same.

    In a space rows are numbered as they are asked for, in every study in its own way: columns decide.
    """
    table = study.table
    optional = [str(codec.column.name) for codec in table.codecs if isinstance(codec, Absent)]
    missing = [name for name in columns_of(table) if not row.get(name) and name not in optional]
    if len(missing) == len(columns_of(table)) - len(optional) and row.get(own_row):
        return _row(row, own_row, table)
    if missing:
        raise InvalidFeedback(f"there is no {missing[0]} (nor {own_row}, the number of the candidate's row).")
    columns = zip(columns_of(table), table.codecs, strict=True)
    cells = {name: _cell(row.get(name) or "", codec) for name, codec in columns}
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


def _row(row: dict[str, Any], own_row: str, table: Candidates) -> int:
    index = _number(row, own_row)
    if index != int(index) or not 0 <= index < table.rows:
        there = f"none of the rows 0 to {table.rows - 1}" if table.rows else "of a study that has no rows yet"
        raise UnknownCandidate(f"{own_row} {row[own_row]} is {there}.")
    return int(index)


def _number(row: dict[str, Any], name: str) -> float:
    try:
        return float(row[name])
    except ValueError:
        raise InvalidFeedback(f"{name} is {row[name]!r}, which is not a number.") from None


def _cell(text: str, codec: Any) -> Any:
    """A cell, as the kind of thing that the candidates hold in its column."""
    if isinstance(codec, Absent):
        return None if text in ("", "None") else _cell(text, codec.codec)
    if isinstance(codec, Levels):
        known = {str(level): level for level in codec.levels} | {str(level).lower(): level for level in codec.levels}
        return known.get(text, known.get(text.lower(), text))
    try:
        value = {"true": 1.0, "false": 0.0}.get(text.lower())
        return float(text) if value is None else value
    except ValueError:
        return text
