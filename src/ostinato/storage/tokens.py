"""Rows of the table of tokens: a damaged one counts as none, so that whoever has that token is refused."""

from typing import Any

import msgspec
from sqlalchemy import Connection, Row, delete, insert, select

from ostinato.storage.base import TokenRecord
from ostinato.storage.rows import seal_of
from ostinato.storage.schema import tokens


def all_tokens(connection: Connection) -> list[TokenRecord]:
    """Every token that can be read, the oldest first."""
    rows = connection.execute(select(tokens).order_by(tokens.c.created, tokens.c.id))
    return [record for record in map(_record, rows) if record is not None]


def keep(connection: Connection, record: TokenRecord) -> None:
    """A token, in place of the one with the same id."""
    row: dict[str, Any] = {**msgspec.structs.asdict(record), "studies": msgspec.json.encode(record.studies).decode()}
    connection.execute(delete(tokens).where(tokens.c.id == record.id))
    connection.execute(insert(tokens), {**row, "check": seal_of(row)})


def _record(row: Row[Any]) -> TokenRecord | None:
    values: dict[str, Any] = dict(row._mapping)
    try:
        if values.pop("check") != seal_of(values):
            return None
        values["studies"] = msgspec.json.decode(row.studies, type=tuple[str, ...])
        return TokenRecord(**values)
    except (TypeError, ValueError, msgspec.DecodeError):
        return None
