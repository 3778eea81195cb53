"""PostgreSQL: for several machines. Needs psycopg, the extra `postgres`."""

import os
from importlib.util import find_spec
from pathlib import Path
from weakref import finalize

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DataError, DBAPIError

from ostinato.errors import MissingSetting, installing

PERMANENT = ("28", "3D", "42", "22", "23")  # classes of errors that do not go away: passwords, databases, our own slips
LOCKED = "55P03"  # others hold a row for too long
LOCK = 2  # seconds that the server waits for others to let go of a row; then it is tried again
CONNECT = 10  # seconds until a server that does not answer counts as away
SILENCE = {  # the same for one that falls silent later
    "keepalives": 1, "keepalives_idle": CONNECT, "keepalives_interval": 2, "keepalives_count": 3,
    "tcp_user_timeout": 1000 * CONNECT,
}  # fmt: skip


class Postgres:
    """A database on a server."""

    local = False

    def __init__(self, url: URL) -> None:
        if find_spec("psycopg") is None:
            raise MissingSetting(
                f"PostgreSQL needs the package psycopg: {installing('postgres')}. Or use sqlite:///lab.db."
            )
        self.name = url.render_as_string(hide_password=True)
        self._url = url.set(drivername="postgresql+psycopg")
        self._made: tuple[int, Engine] | None = None

    @property
    def engine(self) -> Engine:
        """One a process: connections do not survive a fork."""
        if self._made is None or self._made[0] != os.getpid():
            if self._made is not None:
                self._made[1].dispose(close=False)
            engine = create_engine(
                self._url,
                pool_pre_ping=True,
                max_overflow=-1,  # one a thread, as many as there are
                connect_args={"connect_timeout": CONNECT, "application_name": "ostinato", **SILENCE},
            )
            event.listen(engine, "connect", _configure)
            self._made = os.getpid(), engine
            finalize(self, _let_go, os.getpid(), engine)
        return self._made[1]

    def begin(self, connection: Connection, *, write: bool, wait: bool = True, lasting: bool = True) -> None:
        connection.begin()
        if not wait:
            connection.execute(text("SET LOCAL lock_timeout = '1ms'"))  # 0 would be for ever
        if not lasting:
            connection.execute(text("SET LOCAL synchronous_commit = off"))
        if not write:
            connection.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"))

    def now(self, connection: Connection) -> float:
        return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())

    def damaged(self, error: DBAPIError) -> bool:
        return getattr(error.orig, "sqlstate", None) in ("XX001", "XX002")

    def passing(self, error: DBAPIError) -> bool:
        state = getattr(error.orig, "sqlstate", None)
        if isinstance(error, DataError):  # a text that it cannot hold, such as one with a zero byte
            return False
        if state is None:
            return "password" not in str(error.orig) and "does not exist" not in str(error.orig)
        return not state.startswith(PERMANENT)

    def busy(self, error: DBAPIError) -> bool:
        return getattr(error.orig, "sqlstate", None) == LOCKED

    @property
    def file(self) -> Path | None:
        return None

    def check(self, connection: Connection, *, everything: bool) -> list[str]:
        return []


def _let_go(process: int, engine: Engine) -> None:
    """Close the connections of a backend that nobody holds any more, in the process that opened them."""
    engine.dispose(close=process == os.getpid())


def _configure(connection: object, _: object) -> None:
    connection.execute("SET synchronous_commit = on")  # type: ignore[attr-defined]
    connection.execute(f"SET lock_timeout = '{LOCK}s'")  # type: ignore[attr-defined]
    connection.commit()  # type: ignore[attr-defined]
