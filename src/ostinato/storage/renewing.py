"""Renewing leases, beside whoever writes: a heart that beats must not wait for decisions, nor they for it."""

from collections.abc import Collection

from msgspec.structs import replace
from sqlalchemy import Connection, select

from ostinato.storage import statements
from ostinato.storage.access import Backend
from ostinato.storage.base import Lease
from ostinato.storage.rows import lease_of, lease_row
from ostinato.storage.schema import studies

AT_ONCE = 500  # names in one statement


def renewed(
    connection: Connection, backend: Backend, name: str, workers: Collection[str], seconds: float | None
) -> list[Lease]:
    """The leases of some workers begin anew; returns them. Those that a write has in hand are left out."""
    study = connection.execute(select(studies.c.id).where(studies.c.name == name)).scalar()
    if study is None:
        return []
    names, now, found = sorted(set(workers)), backend.now(connection), list[Lease]()
    for first in range(0, len(names), AT_ONCE):
        which = {"in_study": study, "workers": names[first : first + AT_ONCE]}
        found += [lease for lease in map(lease_of, connection.execute(statements.OF_WORKERS, which)) if lease]
    lengths = [(lease, seconds or lease.seconds or lease.until - now) for lease in found]
    given = [replace(lease, until=now + length, seconds=length) for lease, length in lengths if length > 0]
    if given:
        rows = [lease_row(study, lease) for lease in given]
        keys = [{"in_study": study, "in_batch": row["batch"], "low": row["start"]} for row in rows]
        changed = [{each: row[each] for each in ("until", "seconds", "check")} for row in rows]
        connection.execute(statements.RENEW, [{**key, **row} for key, row in zip(keys, changed, strict=True)])
    return given
