"""Tasks as a table to fill in, for people with a spreadsheet or a plate reader: one line a measurement."""

import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from ostinato.cli.importing import TRIALS, cell_in, columns_named, number_in, rows_of, value_column, value_in
from ostinato.errors import InvalidFeedback, OstinatoError
from ostinato.study import Task
from ostinato.study.exchange import Answer, plain
from ostinato.study.lines import OWN, columns_of, own_names
from ostinato.study.view import StudyView

PLACE = ("batch", "repeat", "row")  # what says which measurement a line is of


def print_sheet(study: StudyView, tasks: Iterable[Task]) -> None:
    """All measurements of some tasks as CSV, with an empty cell for the value of each."""
    own = dict(zip(OWN, own_names(study.table), strict=True))
    taken = {each.casefold() for each in (*OWN, *TRIALS, *own.values(), *columns_of(study.table))}
    label = study.quantity.label if study.quantity.given else ""
    value = own["value"] if not label or label.casefold() in taken else label
    writer = csv.writer(sys.stdout, lineterminator="\n")  # what other programs of the shell expect
    writer.writerow([*(own[name] for name in PLACE), *columns_of(study.table), value])
    for task in tasks:
        candidate: Any = task.candidate
        cells = list(cast("Any", candidate).values() if isinstance(candidate, dict) else candidate)
        writer.writerows([task.batch, task.start + i, task.index, *cells, ""] for i in range(task.repeats))


def read_sheet(source: Path, study: StudyView) -> Iterator[tuple[int, Answer]]:
    """The answers of such a table once it is filled in, each with the number of its line.

    Lines without a value are still to be measured.
    """
    found = columns_named(source)
    names = found.names
    own: dict[str, str] = dict(zip(OWN, own_names(study.table), strict=True))
    missing = [own[name] for name in ("batch", "repeat") if own[name] not in names]
    if missing:
        raise InvalidFeedback(
            f"{source.name} has no column {missing[0]!r}: fill in what `ostinato ask --csv` wrote. What was not asked "
            "for is taken in by `ostinato import`."
        )
    value = value_column(source.name, names, study, own["value"], None)
    if value not in names:
        raise InvalidFeedback(
            f"{source.name} has no column {value!r} for the values: its columns are {', '.join(names)}. Keep the "
            "headings that `ostinato ask --csv` wrote."
        )
    for line, row in rows_of(found, own | {"value": value}, study):
        if not row.get(value):
            continue
        try:
            batch, repeat = (_whole_in(row, own[name]) for name in ("batch", "repeat"))
            which = _whole_in(row, own["row"]) if row.get(own["row"]) else None
            number = value_in(row, value)
        except OstinatoError as error:
            raise InvalidFeedback(f"{source.name}, line {line}: {error} Nothing of the file was taken in.") from None
        told = None if number != number else number
        yield line, Answer(batch, row=which, candidate=_candidate_in(row, study), start=repeat, values=[told])


def _candidate_in(row: dict[str, str], study: StudyView) -> dict[str, Any] | list[Any] | None:
    """What a line says of its candidate: a sheet that was sorted by some of its columns only must not be taken in."""
    columns = zip(columns_of(study.table), study.table.codecs, strict=True)
    said = {name: cell_in(row[name], codec) for name, codec in columns if row.get(name)}
    if study.table.named:
        return plain(said)
    return plain(list(said.values())) if len(said) == len(study.table.codecs) else None


def _whole_in(row: dict[str, str], name: str) -> int:
    number = number_in({name: row.get(name, "")}, name)
    if not number.is_integer():
        raise InvalidFeedback(f"{name} is {row[name]!r}, which is not a whole number.")
    return int(number)
