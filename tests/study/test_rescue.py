"""What is left of a damaged study can be had."""

import csv

import numpy as np
import pytest
from sqlalchemy import text

from ostinato import MiniUCB
from ostinato.errors import Damaged, OstinatoError
from ostinato.kernels import RBF
from ostinato.storage import open_storage
from ostinato.study import Rescued, Study, verify
from terminal import ostinato

X = np.linspace(0, 1, 30)[:, None]
SETTINGS = {"kernel": RBF(0.2), "noise_std": 0.5, "policy": MiniUCB(C=1.5), "seed": 0}


def measured(address, count=60):
    """A study, and all that was told of it."""
    study, rng = Study("lab", address, X, budget=count, **SETTINGS), np.random.default_rng(0)
    while (task := study.ask()) is not None:
        study.tell(task, rng.standard_normal(task.repeats))
    return study, [(each.index, each.value) for each in study.measurements()]


def damage(storage, statement):
    with storage.backend.engine.connect() as connection:
        connection.execute(text(statement))
        connection.commit()


def test_nothing_is_lost_where_nothing_is_damaged(address):
    study, told = measured(address)
    rescued = Rescued(study.storage, "lab")
    assert [(each.index, each.value) for each in rescued] == told
    assert rescued.lost == 0


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET start = start + 1 WHERE number = 3",
        "DELETE FROM log WHERE number = 3",
        "UPDATE batches SET candidate = candidate + 1 WHERE id = 2",
        "DELETE FROM batches WHERE id = 2",
    ],
)
def test_what_does_not_fit_its_checksum_is_left_out(address, statement):
    study, told = measured(address)
    damage(study.storage, statement)
    assert verify(study.storage, "lab")
    rescued = Rescued(study.storage, "lab")
    left = [(each.index, each.value) for each in rescued]
    assert rescued.lost == 1
    assert len(left) < len(told)
    assert set(left) <= set(told)


def test_flipped_bits(tmp_path):
    """Whatever is rescued was told; and most of it is rescued, unless the file as a whole cannot be read."""
    path = tmp_path / "lab.db"
    _, told = measured(path, 90)
    data, rng, shares = path.read_bytes(), np.random.default_rng(0), []
    for place in rng.integers(0, len(data), 24):
        damaged = bytearray(data)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            left = [(each.index, each.value) for each in Rescued(open_storage(path, create=False, patience=0.1), "lab")]
        except OstinatoError:
            continue
        assert set(left) <= set(told)
        shares.append(len(left) / len(told))
    assert len(shares) > 12
    assert np.mean(shares) > 0.9


def test_from_the_command_line_into_a_new_study(tmp_path):
    study, told = measured(tmp_path / "lab.db")
    damage(study.storage, "UPDATE batches SET candidate = candidate + 1 WHERE id = 2")
    with pytest.raises(Damaged):
        Study("lab", tmp_path / "lab.db").optimizer.best()
    done = ostinato("export", "lab.db", "--damaged", "-o", "left.csv", cwd=tmp_path)
    assert done.returncode == 1
    assert "1 row of the log could not be read" in done.stderr
    with (tmp_path / "left.csv").open() as file:
        assert 0 < len(list(csv.DictReader(file))) < len(told)
    new = Study("lab", tmp_path / "new.db", X, **SETTINGS)
    assert ostinato("import", "new.db", "left.csv", cwd=tmp_path).returncode == 0
    assert 0 < new.status().measurements < len(told)
