"""Measurements as rows of a table, for CSV: of the command line and of the service."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, cast

from ostinato.candidates import Candidates
from ostinato.study.records import Measurement

OWN = ("batch", "repeat", "row", "value", "stderr", "count", "std")
ORIGIN = ("began", "told", "worker", "host", "program", "version")


def csv_rows(table: Candidates, measurements: Iterable[Measurement], *, origin: bool = False) -> Iterator[list[Any]]:
    """The names of the columns, then one row a measurement, with the candidate's columns between those of our own.

    origin: with where each comes from, at the end.
    """
    own = own_names(table, (*OWN, *ORIGIN) if origin else OWN)
    yield [*own[:3], *columns_of(table), *own[3:]]
    for each in measurements:
        row = table[each.index]
        values = list(cast("Any", row).values()) if isinstance(row, dict) else list(row)
        source: list[Any] = list(origin_of(each).values()) if origin else []
        told: list[Any] = [each.value, each.stderr, each.count, each.std, *source]
        yield [each.batch, each.repeat, each.index, *values, *told]


def columns_of(table: Candidates) -> tuple[str, ...]:
    return tuple(str(column.name) for column in table.columns)


def own_names(table: Candidates, names: tuple[str, ...] = OWN) -> list[str]:
    """The names of our own columns; marked where the candidates have a column of that name."""
    return [f"study's {name}" if name in columns_of(table) else name for name in names]


def origin_of(each: Measurement) -> dict[str, str | None]:
    """Where a measurement comes from; None for what is not known."""
    words = {name: getattr(each, name) or None for name in ("worker", "host", "program", "version")}
    return {"began": moment_of(each.began) if each.began else None, "told": moment_of(each.at), **words}


def moment_of(seconds: float) -> str:
    """A moment, with its time zone."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat()
