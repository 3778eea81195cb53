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

from ostinato.storage.schema import HEAD, metadata
from ostinato.storage.values import checksum
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
    columns = 'study, batch, start, repeats, worker, until, "check"'
    with closing(sqlite3.connect(path)) as connection, connection:
        for row in ((1, 0, 0, 1, "robot-3|a", now + 600.0), (1, 0, 1, 1, "robot-3|b", now + 365 * 86_400.0)):
            connection.execute(f"INSERT INTO leases ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, checksum(*row)))
    study = Study("kept", path)
    assert [(each.state, each.since) for each in study.leases()] == [("held", None), ("over", None)]
    assert study.renew("robot-3", lease=60.0) == 2
    assert [each.state for each in study.leases()] == ["held", "held"]


def test_the_migrations_make_the_schema_that_the_code_knows(address):
    from sqlalchemy import inspect

    from ostinato.storage import open_storage

    storage = open_storage(address)
    with storage._transaction(write=False) as connection:
        seen = inspect(connection)
        for table in metadata.sorted_tables:
            assert {column["name"] for column in seen.get_columns(table.name)} == {
                column.name for column in table.columns
            }
            assert set(seen.get_pk_constraint(table.name)["constrained_columns"]) == {c.name for c in table.primary_key}
    storage.close()


if __name__ == "__main__":
    study = Study("kept", FOLDER / f"{HEAD}.db", X, budget=40, seed=0)
    while (task := study.ask()) is not None:
        study.tell(task, np.sin(X[task.index, 0]) + 0.1 * np.arange(task.repeats))
