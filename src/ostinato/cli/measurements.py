"""Single measurements: as lines in the terminal, and as CSV."""

import csv
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime
from math import isnan
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from ostinato.candidates import Candidates
from ostinato.cli.terminal import in_words, plain, print_answer
from ostinato.running.tables import show, table_of
from ostinato.study import Measurement
from ostinato.study.lines import csv_rows, moment_of, origin_of
from ostinato.study.view import StudyView

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


def show_candidates(study: StudyView, json: bool, wanted: Iterable[int] | None = None) -> None:
    """One line a row of the candidates' table. wanted: which rows; all by default."""
    measured, retired = study.counts(), set(study.retired)
    rows = [
        {"row": row, "candidate": study.candidate(row), "measured": measured.get(row, 0), "retired": row in retired}
        for row in (range(study.table.rows) if wanted is None else wanted)
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
