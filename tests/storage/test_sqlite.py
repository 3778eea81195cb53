"""What is SQLite's own: where a file may lie, its journal, and files that are damaged."""

import multiprocessing
import sqlite3
from contextlib import ExitStack
from pathlib import Path
from time import time

import numpy as np
import pytest
from benchmarks.reliability import warm

from elsewhere import open_when_all_are_ready
from ostinato.errors import Damaged, InvalidSetting, OstinatoError, UnknownStudy
from ostinato.storage import StudyRecord, open_storage
from ostinato.storage.sqlite import journal_mode, network_of
from ostinato.storage.values import told_values


def test_files_on_a_network_are_refused(tmp_path, monkeypatch):
    mounts = tmp_path / "mounts"
    mounts.write_text(
        f"/dev/sda1 / ext4 rw 0 0\nserver:/lab {tmp_path}/lab nfs4 rw 0 0\n/dev/sdb {tmp_path}/lab/local ext4 rw 0 0\n"
    )
    assert network_of(tmp_path / "lab" / "a.db", mounts) == "nfs4"
    assert network_of(tmp_path / "lab" / "local" / "a.db", mounts) is None
    assert network_of(tmp_path / "a.db", mounts) is None
    assert network_of(tmp_path / "a.db", tmp_path / "none") is None
    (tmp_path / "lab").mkdir()
    monkeypatch.setattr("ostinato.storage.sqlite.MOUNTS", mounts)
    monkeypatch.setattr(network_of, "__defaults__", (mounts,))
    with pytest.raises(InvalidSetting, match=r"network file system \(nfs4\).*PostgreSQL"):
        open_storage(tmp_path / "lab" / "a.db")


def test_the_journal_is_safe_for_the_version_found():
    assert journal_mode((3, 51, 2)) == "PERSIST"
    assert journal_mode((3, 51, 3)) == "WAL"


def test_whoever_waits_to_write_looks_again_soon_and_at_other_moments(tmp_path, monkeypatch):
    """Otherwise one who writes without a pause would keep all others out."""
    storage, other = open_storage(tmp_path / "lab.db"), open_storage(tmp_path / "lab.db")
    storage.create(StudyRecord(0, "lab", 1.0, "{}", "", None, b""), b"")
    writing, waits = ExitStack(), []
    writing.enter_context(other.write("lab"))

    def released_soon(seconds):
        waits.append(seconds)
        if len(waits) == 5:
            writing.close()

    monkeypatch.setattr("ostinato.storage.sqlite.sleep", released_soon)
    with storage.write("lab") as writer:
        assert writer.record.name == "lab"
    assert len(waits) == len(set(waits)) == 5
    assert max(waits) < 0.02


def test_every_write_is_synchronised(tmp_path):
    storage = open_storage(tmp_path / "lab.db")
    with storage._transaction(write=True) as connection:
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
        level = connection.exec_driver_sql("PRAGMA synchronous").scalar()
    assert (mode, level) in {("persist", 3), ("wal", 2)}


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("sqlite://", "names no file"),
        ("sqlite:///nowhere/lab.db", "There is no folder"),
        ("mysql://host/db", "unknown kind"),
        ("postgresql//x", "There is no folder"),
        (".", "is a folder"),
    ],
)
def test_addresses_that_cannot_be_used(where, words):
    with pytest.raises(InvalidSetting, match=words):
        open_storage(where)


def test_looking_makes_no_file(tmp_path):
    with pytest.raises(UnknownStudy, match="There is no file"):
        open_storage(tmp_path / "lab.db", create=False)
    assert not (tmp_path / "lab.db").exists()


def test_other_files_are_refused_and_left_alone(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("these are my notes, and no database at all" * 100)
    with pytest.raises(Damaged, match="not a database"):
        open_storage(text)
    assert text.read_text().startswith("these are my notes")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('9999')")
    connection.close()
    with pytest.raises(InvalidSetting, match=r"newer Ostinato.*9999"):
        open_storage(other)


def filled(path: Path) -> None:
    storage = open_storage(path)
    storage.create(StudyRecord(0, "study", time(), "{}", "d", None, b""), b"candidates" * 500)
    for _ in range(20):
        with storage.write("study") as writer:
            writer.append(0, writer.record.told, told_values(np.arange(500.0)))
            writer.change(writer.record)


def read_everything(path: Path) -> tuple[int, float]:
    storage = open_storage(path, create=False, patience=0.1)
    problems = storage.check()
    if problems:
        raise Damaged(problems[0])
    with storage.read("study") as reader:
        reader.table()
        entries = reader.log(most=10_000)
        return reader.record.told, sum(float(entry.told.numbers().sum()) for entry in entries)


def test_no_flipped_bit_goes_unnoticed(tmp_path):
    """Flip a bit anywhere: everything reads as before (the place was not used), or it is said."""
    original = tmp_path / "lab.db"
    filled(original)
    whole, data = read_everything(original), original.read_bytes()
    rng, noticed = np.random.default_rng(0), 0
    for place in rng.integers(0, len(data), 60):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        path = tmp_path / "damaged.db"
        path.write_bytes(damaged)
        try:
            assert read_everything(path) == whole
        except OstinatoError:
            noticed += 1
    assert noticed > 20


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_no_truncated_file_goes_unnoticed(tmp_path, share):
    path = tmp_path / "lab.db"
    filled(path)
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    with pytest.raises(Damaged):
        read_everything(path)


@pytest.mark.parametrize("create", [True, False])
def test_an_empty_file_is_no_new_storage(tmp_path, create):
    """Something emptied it: a study that was there must not silently begin anew."""
    path = tmp_path / "lab.db"
    path.touch()
    with pytest.raises(UnknownStudy, match=r"lab.db is empty \(0 bytes\).*restore it.*delete the file"):
        open_storage(path, create=create)
    assert path.read_bytes() == b""


def test_processes_that_begin_at_once_find_a_whole_file(tmp_path):
    """No one of them ever sees the empty file that another is about to fill."""
    context = multiprocessing.get_context("forkserver")
    ready, go = context.Queue(), context.Event()
    others = [warm.start(open_when_all_are_ready, tmp_path / "lab.db", ready, go) for _ in range(4)]
    for _ in others:
        ready.get()
    go.set()
    for other in others:
        other.join()
    assert [other.exitcode for other in others] == [0] * 4
    assert [each.name for each in tmp_path.iterdir()] == ["lab.db"]


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE studies SET name = NULL", "the names of its studies cannot be read"),
        ("DELETE FROM alembic_version", "the number of its schema is missing"),
    ],
)
def test_what_a_storage_cannot_do_without_is_damage(tmp_path, statement, said):
    path = tmp_path / "lab.db"
    storage = open_storage(path)
    storage.create(StudyRecord(0, "lab", 1.0, "{}", "", None, b""), b"")
    storage.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA writable_schema = on")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE name = 'studies'")
    connection.close()
    with sqlite3.connect(path) as connection:
        connection.execute(statement)
    connection.close()
    with pytest.raises(Damaged, match=said):
        open_storage(path, create=False).names()
