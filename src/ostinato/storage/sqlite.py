"""SQLite: one file, no server. Safe at the price of a file-system synchronisation for every write.

A new database is made beside its place, and put there when it is whole. So a file that is there and empty was not left
by another process that is about to fill it: something went wrong with it, and it is refused.
"""

import os
import random
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic, sleep, time
from uuid import uuid4

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from ostinato.errors import InvalidSetting, UnknownStudy
from ostinato.storage.schema import log, metadata

WAL_IS_SAFE = (3, 51, 3)  # before it, a write-ahead log that is reset while another process reads can be corrupted
BUSY = 2.0  # seconds of waiting for a lock, which nothing can interrupt
TRY_EVERY = 0.005  # seconds on average between two tries to get the lock for writing
JITTER = random.SystemRandom()  # nothing that users' programs draw from, and not the same in a forked process
SOON_CHECKED = 32 * 2**20  # bytes of a file that is checked as a whole when it is opened; of larger ones not the log
NETWORKS = (
    "nfs",
    "nfs4",
    "cifs",
    "smb",
    "smb2",
    "smb3",
    "smbfs",
    "afs",
    "ncpfs",
    "fuse.sshfs",
    "fuse.glusterfs",
    "ceph",
)
DISKS = ("ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "jfs", "zfs", "bcachefs", "overlay", "tmpfs")  # one machine's
MOUNTS = Path("/proc/self/mounts")


class SQLite:
    """A database file. Only one in the making, which has the name of the file that it is to be, is made here.

    So a file that vanishes is not made again, empty, behind the user's back.
    """

    def __init__(self, path: Path, *, create: bool = True, name: str | None = None) -> None:
        self.name = name or str(path)
        self._check_place(path, create=create)
        self.local = file_system_of(path) in DISKS
        self._path = path
        where = f"{path.absolute().as_uri()}?mode={'rw' if name is None else 'rwc'}"
        connect = partial(sqlite3.connect, where, uri=True, check_same_thread=False, isolation_level=None)
        self.engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)

    def begin(self, connection: Connection, *, write: bool, wait: bool = True, lasting: bool = True) -> None:
        """Begin a transaction, on a connection of its own. lasting is not looked at: every one outlives a power cut."""
        connection.begin()
        seconds = BUSY if wait else 0.0
        for setting in (f"busy_timeout = {1_000 * seconds:.0f}", *SETTINGS):
            connection.exec_driver_sql(f"PRAGMA {setting}")
        if write:
            _lock(connection, seconds)
        else:
            connection.exec_driver_sql("BEGIN")

    def now(self, connection: Connection) -> float:
        return time()

    def damaged(self, error: DBAPIError) -> bool:
        return any(words in str(error.orig) for words in ("malformed", "not a database", "encrypted", "decode to UTF"))

    def passing(self, error: DBAPIError) -> bool:
        lasting = ("readonly", "no such", "unable to open", "too big", "binding parameter")
        return not any(words in str(error.orig) for words in lasting)

    def busy(self, error: DBAPIError) -> bool:
        return "locked" in str(error.orig)

    @property
    def file(self) -> Path | None:
        return self._path

    def check(self, connection: Connection, *, everything: bool) -> list[str]:
        small = everything or self._path.stat().st_size <= SOON_CHECKED
        tables = [table.name for table in metadata.sorted_tables if table is not log]
        found = list[str]()
        for part in ["3"] if small else tables:
            found += connection.execute(text(f"PRAGMA integrity_check({part})")).scalars()
        return [row for row in found if row != "ok"]

    def _check_place(self, path: Path, *, create: bool) -> None:
        if path.is_dir():
            raise InvalidSetting(f"{path} is a folder: give a file, as in sqlite:///lab.db.")
        if not path.parent.is_dir():
            raise InvalidSetting(f"There is no folder {path.parent} for {path.name}: make it first.")
        if not create and not path.exists():
            raise UnknownStudy(f"There is no file {path}.")
        if path.exists() and path.stat().st_size == 0:
            raise UnknownStudy(
                f"{path} is empty (0 bytes), so it holds no study. If it held one, a copy failed or something emptied "
                "the file: restore it from a copy. To begin a new study, delete the file, or give another one."
            )
        network = network_of(path)
        if network is not None:
            raise InvalidSetting(
                f"{path} is on a network file system ({network}), where SQLite's locks cannot be relied on: use a "
                "local disk, or PostgreSQL (postgresql://…) for several machines."
            )


def _lock(connection: Connection, seconds: float) -> None:
    """Begin to write, after waiting for others for so long at most.

    SQLite itself looks for a free lock ten times a second at last: whoever writes again and again without a pause would
    get it every time, and others never. So we look ourselves, far more often, and at times that differ.
    """
    end = monotonic() + seconds
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    while True:
        try:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        except DBAPIError as error:
            if "locked" not in str(error.orig) or monotonic() >= end:
                raise
        else:
            break
        sleep(JITTER.uniform(0.2, 1.8) * TRY_EVERY)
    for_readers = f"PRAGMA busy_timeout = {1_000 * seconds:.0f}"  # of whom the last ends before it is committed
    connection.exec_driver_sql(for_readers)


@contextmanager
def unfinished(path: Path) -> Generator[Path, None, None]:
    """A place beside a file for a database in the making; nothing is left there."""
    beside = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        yield beside
    finally:
        for end in ("", "-journal", "-wal", "-shm"):
            beside.with_name(beside.name + end).unlink(missing_ok=True)


def put_in_place(beside: Path, path: Path, *, replace: bool = False) -> None:
    """A new file under its name, at once and for good; where another process was first, its file stays.

    replace: whether it takes the place of one that is there.
    """
    try:
        with suppress(FileExistsError):
            beside.replace(path) if replace else os.link(beside, path)
    except OSError:  # a file system without links: a name that is taken is all that can be seen
        if not path.exists():
            beside.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def network_of(path: Path, mounts: Path = MOUNTS) -> str | None:
    """The kind of network file system that a path is on; None for a local one, or where that cannot be told."""
    kind = file_system_of(path, mounts)
    return kind if kind in NETWORKS else None


def file_system_of(path: Path, mounts: Path = MOUNTS) -> str:
    """The kind of file system that a path is on; nothing where that cannot be told."""
    try:
        lines = [line.split() for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return ""
    where = path.resolve()
    points = [(Path(fields[1].replace("\\040", " ")), fields[2]) for fields in lines if len(fields) >= 3]
    holding = [(len(point.parts), kind) for point, kind in points if where.is_relative_to(point)]
    return max(holding, default=(0, ""), key=lambda each: each[0])[1]


def journal_mode(version: tuple[int, ...] = sqlite3.sqlite_version_info) -> str:
    """The safe journal for this SQLite.

    A rollback journal that stays, its head overwritten at each commit, is as safe as one that is removed, and takes
    less than half as long: the folder need not be synchronised, twice, for every transaction.
    """
    return "WAL" if version >= WAL_IS_SAFE else "PERSIST"


SETTINGS = (  # of every connection, besides how long it waits
    f"journal_mode = {journal_mode()}",
    f"synchronous = {'FULL' if journal_mode() == 'WAL' else 'EXTRA'}",
    "foreign_keys = ON",
    "cell_size_check = ON",
)
