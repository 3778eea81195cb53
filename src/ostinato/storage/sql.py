"""Storage in an SQL database, with SQLAlchemy's Core: the same statements for SQLite and PostgreSQL.

What differs between the two (how a transaction begins, whose clock it is, what an error means) is in `sqlite.py` and
`postgres.py`.
"""

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import asdict, replace
from sqlalchemy import Connection, delete, insert, inspect, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError

from ostinato.errors import Damaged, InvalidSetting, Unavailable, UnknownStudy
from ostinato.storage import schema, tokens
from ostinato.storage.access import Backend, SQLReader, SQLWriter, damage_in
from ostinato.storage.base import Lease, Storage, StudyRecord, TokenRecord
from ostinato.storage.copying import copied
from ostinato.storage.patience import PATIENCE, Patience
from ostinato.storage.renewing import renewed
from ostinato.storage.rows import block_rows, seal_of
from ostinato.storage.schema import HEAD, answers, batches, leases, log, revisions, sources, studies, tables


class SQLStorage(Storage):
    """Studies in a database."""

    def __init__(self, backend: Backend, *, patience: float = PATIENCE, create: bool = True) -> None:
        self.backend, self.patiently = backend, Patience(patience)
        self.patiently(lambda: self._prepare(create=create))

    def __repr__(self) -> str:
        return f"<storage in {self}>"

    def __str__(self) -> str:
        return self.backend.name

    @property
    def address(self) -> str:
        return self.backend.name

    def names(self) -> list[str]:
        with self._transaction(write=False) as connection:
            found = list(connection.execute(select(studies.c.name).order_by(studies.c.id)).scalars())
        names = [name for name in found if isinstance(name, str)]
        if found and not names:
            raise Damaged(damage_in(self.backend.name, "the names of its studies cannot be read"))
        return names

    def create(self, record: StudyRecord, table: bytes, blocks: Sequence[bytes] = ()) -> bool:
        try:
            with self._transaction(write=True) as connection:
                values = asdict(record)
                values.pop("id")
                result = connection.execute(insert(studies).values(**values, check=0))
                (number,) = result.inserted_primary_key or (0,)
                made = replace(record, id=number)
                seal = seal_of(asdict(made))
                connection.execute(update(studies).where(studies.c.id == number).values(check=seal))
                row = {"study": number, "data": table}
                connection.execute(insert(tables).values(**row, check=seal_of(row)))
                if blocks:
                    connection.execute(insert(schema.blocks), block_rows(number, blocks))
        except IntegrityError:
            return False
        return True

    def delete(self, name: str) -> None:
        with self._transaction(write=True) as connection:
            number = SQLWriter(connection, self.backend, name).record.id
            for table in (leases, revisions, log, sources, batches, answers, schema.blocks, tables):
                connection.execute(delete(table).where(table.c.study == number))
            connection.execute(delete(studies).where(studies.c.id == number))

    @contextmanager
    def read(self, name: str) -> Generator["SQLReader", None, None]:
        with self._transaction(write=False) as connection:
            yield SQLReader(connection, self.backend, name)

    @contextmanager
    def write(self, name: str, *, wait: bool = True) -> Generator["SQLWriter", None, None]:
        with self._transaction(write=True, wait=wait) as connection:
            yield SQLWriter(connection, self.backend, name)

    def renew(self, name: str, workers: Collection[str], seconds: float | None = None) -> list[Lease]:
        with self._transaction(write=True, lasting=False) as connection:
            return renewed(connection, self.backend, name, workers, seconds)

    def tokens(self) -> list[TokenRecord]:
        with self._transaction(write=False) as connection:
            return tokens.all_tokens(connection)

    def keep_token(self, token: TokenRecord) -> None:
        with self._transaction(write=True) as connection:
            tokens.keep(connection, token)

    @property
    def file(self) -> Path | None:
        return self.backend.file

    @property
    def folder(self) -> Path:
        file = self.backend.file
        return Path.cwd() if file is None else file.parent

    def copy(self, name: str, target: Storage, progress: Callable[[int], object] = int) -> None:
        if not isinstance(target, SQLStorage):
            raise InvalidSetting(f"A study cannot be copied into {target!r}: give a file, or an address.")
        with self._transaction(write=False) as source, target._transaction(write=True) as place:
            study = SQLReader(source, self.backend, name).record.id
            copied(source, place, study, self._translated, progress)

    def check(self, *, everything: bool = True) -> Sequence[str]:
        with self._transaction(write=False) as connection:
            return self.backend.check(connection, everything=everything)

    def close(self) -> None:
        self.backend.engine.dispose()

    @contextmanager
    def _transaction(
        self, *, write: bool, wait: bool = True, lasting: bool = True
    ) -> Generator[Connection, None, None]:
        try:
            with self.backend.engine.connect() as connection:
                self.backend.begin(connection, write=write, wait=wait, lasting=lasting)
                try:
                    yield connection
                except BaseException:
                    connection.rollback()
                    raise
                connection.commit()
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise self._translated(error) from error
        except UnicodeDecodeError as error:
            raise Damaged(damage_in(self.backend.name, str(error))) from error

    def _translated(self, error: DBAPIError) -> Exception:
        cause = str(error.orig).strip().partition("\n")[0]
        if self.backend.damaged(error):
            return Damaged(damage_in(self.backend.name, cause))
        passing, busy = self.backend.passing(error), self.backend.busy(error)
        words = (
            f"{self.backend.name} does not work at the moment ({cause}): nothing that was acknowledged is lost, and "
            "what was not can be told again."
            if passing
            else f"{self.backend.name} cannot be used ({cause}): see that it is there, and that you may write to it."
        )
        return Unavailable(words, passing=passing, busy=busy)

    def _prepare(self, *, create: bool) -> None:
        """Bring the tables to the schema that this code knows."""
        with self._transaction(write=False) as connection:
            version = _version(connection)
            if version is None and inspect(connection).has_table(schema.version.name):
                raise Damaged(damage_in(self.backend.name, "the number of its schema is missing"))
        if version == HEAD:
            return
        if version is None and not create:
            raise UnknownStudy(f"{self.backend.name} holds no studies of Ostinato.")
        with self._transaction(write=True) as connection:
            _bring_up_to_date(connection, self.backend.name)


def _version(connection: Connection) -> str | None:
    """The schema that is there; None for none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _bring_up_to_date(connection: Connection, name: str) -> None:
    """Make the tables, or migrate them, within the transaction at hand; other processes wait for it."""
    if connection.dialect.name == "postgresql":  # in SQLite there is only one writer at a time
        connection.execute(text("SELECT pg_advisory_xact_lock(7411283)"))
    version = _version(connection)
    if version is None:
        make_tables(connection)
    elif version != HEAD:
        migrate(connection, name)


def make_tables(connection: Connection) -> None:
    """The newest schema, in an empty database: what all migrations together make, in a tenth of the time."""
    schema.metadata.create_all(connection)
    schema.version.create(connection)
    connection.execute(insert(schema.version).values(version_num=HEAD))


def migrate(connection: Connection, name: str) -> None:
    """From whatever schema there is to the newest."""
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    version = _version(connection)
    config = Config()
    config.set_main_option("script_location", "ostinato.storage:migrations")
    known = [script.revision for script in ScriptDirectory.from_config(config).walk_revisions()]
    if version is not None and version not in known:
        raise InvalidSetting(
            f"{name} was made by a newer Ostinato (its schema is {version}; this one knows {', '.join(sorted(known))})"
            ": upgrade."
        )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
