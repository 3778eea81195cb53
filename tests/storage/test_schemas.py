"""A stored database of every schema that was ever released is opened, migrated, and goes on.

A new schema brings a new file: `python tests/storage/test_schemas.py` writes it.
"""

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import inspect

from ostinato.storage import open_storage
from ostinato.storage.rows import seal_of
from ostinato.storage.schema import HEAD, metadata, version
from ostinato.storage.sql import _version, migrate
from ostinato.study import Study, verify

FOLDER = Path(__file__).parent / "schemas"
X = np.arange(20.0)[:, None]
FILES = sorted(FOLDER.glob("*.db"))


def test_every_schema_has_its_file():
    assert HEAD in [file.stem for file in FILES]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_stored_study_goes_on(tmp_path, file):
    path = tmp_path / "lab.db"
    shutil.copy(file, path)
    study = Study("kept", path, budget=80)
    assert study.status().measurements == 40
    assert study.best().n > 1
    assert verify(study.storage, "kept") == []
    while (task := study.ask()) is not None:
        study.tell(task, np.sin(X[task.index, 0]) + 0.1 * np.arange(task.repeats))
    assert study.status().measurements == 80
    assert verify(study.storage, "kept") == []


def test_a_lease_without_a_length_is_honoured_and_lasts_no_year(tmp_path):
    path, now = tmp_path / "lab.db", time.time()
    shutil.copy(FOLDER / "0005.db", path)
    names = ("study", "batch", "start", "repeats", "worker", "until")
    columns = ", ".join([*names, '"check"'])
    with closing(sqlite3.connect(path)) as connection, connection:
        for row in ((1, 0, 0, 1, "robot-3|a", now + 600.0), (1, 0, 1, 1, "robot-3|b", now + 365 * 86_400.0)):
            seal = seal_of(dict(zip(names, row, strict=True)))
            connection.execute(f"INSERT INTO leases ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, seal))
    study = Study("kept", path)
    assert [(each.state, each.since) for each in study.leases()] == [("held", None), ("over", None)]
    assert study.renew("robot-3", lease=60.0) == 2
    assert [each.state for each in study.leases()] == ["held", "held"]


def shape_of(connection):
    """Columns, keys and indexes of all tables, without regard to order."""
    seen = inspect(connection)
    return {
        table: (
            {(column["name"], str(column["type"]), column["nullable"]) for column in seen.get_columns(table)},
            set(seen.get_pk_constraint(table)["constrained_columns"]),
            {(*index["column_names"], index["unique"], index["name"]) for index in seen.get_indexes(table)},
            {tuple(each["column_names"]) for each in seen.get_unique_constraints(table)},
            {(*each["constrained_columns"], each["referred_table"]) for each in seen.get_foreign_keys(table)},
        )
        for table in seen.get_table_names()
    }


def test_the_migrations_make_the_schema_that_new_databases_have(address):
    storage = open_storage(address)
    with storage._transaction(write=True) as connection:
        made = shape_of(connection)
        metadata.drop_all(connection)
        version.drop(connection)
        migrate(connection, address)
        assert shape_of(connection) == made
        assert _version(connection) == HEAD
    assert len(made) == len(metadata.tables) + 1
    storage.close()


if __name__ == "__main__":
    study = Study("kept", FOLDER / f"{HEAD}.db", X, budget=40, seed=0)
    while (task := study.ask()) is not None:
        study.tell(task, np.sin(X[task.index, 0]) + 0.1 * np.arange(task.repeats))
