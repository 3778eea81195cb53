"""A study copied from one storage into another, row by row, every row checked against its checksum on the way."""

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from sqlalchemy import Connection, Row, Table, insert, select, update
from sqlalchemy.exc import DBAPIError

from ostinato.errors import Damaged, InvalidSetting
from ostinato.storage import schema
from ostinato.storage.rows import LOG, seal_of

ROWS_AT_ONCE = 10_000  # rows that are copied at a time
Values: TypeAlias = "dict[str, Any]"


def copied(
    source: Connection,
    target: Connection,
    study: int,
    unreadable: Callable[[DBAPIError], Exception],
    progress: Callable[[int], object] = int,
) -> int:
    """The study of that number, with all that belongs to it; returns its number in the target.

    Leases are left behind: what was handed out and has no value is handed out again. So are stored answers, which are
    of the moment. unreadable: an error of the source, in words. progress: called with the number of rows so far.
    """
    (row,) = source.execute(select(schema.studies).where(schema.studies.c.id == study)).all()
    values = _checked(schema.studies, row)
    if target.execute(select(schema.studies.c.id).where(schema.studies.c.name == row.name)).first():
        raise InvalidSetting(f"There is a study {row.name!r} already where the copy is to go: give another file.")
    place = {name: value for name, value in values.items() if name not in ("id", "check")}
    (number,) = target.execute(insert(schema.studies), place | {"check": 0}).inserted_primary_key or (0,)
    seal = SEALS["studies"](values | {"id": number})
    target.execute(update(schema.studies).where(schema.studies.c.id == number).values(check=seal))
    rows = 1
    for table in (schema.tables, schema.blocks, schema.batches, schema.sources, schema.log, schema.revisions):
        for part in _parts(source, table, study, unreadable):
            target.execute(insert(table), [_for_another(table, each, number) for each in part])
            rows += len(part)
            progress(rows)
    return int(number)


def _parts(
    source: Connection, table: Table, study: int, unreadable: Callable[[DBAPIError], Exception]
) -> Iterator[list[Values]]:
    query = select(table).where(table.c.study == study).order_by(*table.primary_key.columns)
    try:
        for part in source.execute(query).partitions(ROWS_AT_ONCE):
            yield [_checked(table, row) for row in part]
    except DBAPIError as error:
        raise unreadable(error) from error


def _checked(table: Table, row: Row[Any]) -> Values:
    """What a row says, where that is what was written."""
    values = dict[str, Any](row._mapping)
    try:
        fits = values["check"] == SEALS[table.name](values)
    except (TypeError, ValueError, OverflowError, AttributeError):
        fits = False
    if not fits:
        raise Damaged(
            f"A row of {table.name} does not fit its checksum: nothing was copied. See what `ostinato verify` says, "
            "and rescue the rest with `ostinato export --damaged`."
        )
    return values


def _for_another(table: Table, values: Values, study: int) -> Values:
    """The same row under another study's number."""
    row = values | {"study": study}
    return row | {"check": SEALS[table.name](row)}


SEALS: dict[str, Callable[[Values], int]] = {
    "studies": seal_of,
    "tables": seal_of,
    "blocks": lambda row: seal_of({"study": row["study"], "number": row["number"]}, row["data"]),
    "batches": seal_of,
    "sources": seal_of,
    "log": lambda row: seal_of({name: row[name] for name in LOG}, row["data"]),
    "revisions": seal_of,
}
