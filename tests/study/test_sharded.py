"""Studies of candidates on a Dask cluster, and their commands."""

import numpy as np
import pandas as pd
import pytest

from clusters import written
from ostinato import ShardedTable, Study
from ostinato.errors import MissingSetting, StudyDiffers
from terminal import ostinato

pytestmark = pytest.mark.filterwarnings("default")  # Dask has some of its own
ROWS = 400


def candidates(seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"temp": rng.permutation(ROWS), "ph": rng.random(ROWS), "kind": rng.choice(["x", "y"], ROWS)})


def measured(study, count, rng):
    """What is asked for, and told."""
    picks = []
    for _ in range(count):
        task = study.ask()
        picks.append((task.index, task.candidate, task.repeats))
        study.tell(task, task.candidate["ph"] + 0.1 * rng.standard_normal(task.repeats))
    return picks


def go(path, table):
    """A run that is broken off, with candidates added and retired."""
    rng, study = np.random.default_rng(0), Study("lab", path, table, seed=3, budget=100)
    picks = measured(study, 6, rng)
    picks.append(study.add([{"temp": 500, "ph": 0.99, "kind": "z"}]))
    picks.append(study.retire([picks[0][0]]))
    again = Study("lab", path, table)
    picks += measured(again, 6, rng)
    again.keep_answer()
    return picks, again.best()


def test_a_study_goes_on_as_one_of_a_table_in_memory(tmp_path, two_workers):
    table = ShardedTable(two_workers, written(candidates(), tmp_path / "files", 2))
    (picks, best), (others, other) = go(tmp_path / "shards.db", table), go(tmp_path / "memory.db", candidates())
    assert picks == others
    assert (best.index, best.candidate) == (other.index, other.candidate)
    assert best.mean == pytest.approx(other.mean)


def test_without_a_cluster_a_study_can_be_looked_at(tmp_path, two_workers, monkeypatch):
    path = written(candidates(), tmp_path / "files", 2)
    _, best = go(tmp_path / "lab.db", ShardedTable(two_workers, path))
    study = Study("lab", tmp_path / "lab.db")
    assert study.best().candidate == best.candidate
    with pytest.raises(MissingSetting, match="OSTINATO_DASK"):
        study.ask()
    monkeypatch.setenv("OSTINATO_DASK", two_workers.scheduler.address)
    task = Study("lab", tmp_path / "lab.db").ask()
    assert Study("lab", tmp_path / "lab.db").status().measurements > 0
    assert task.repeats >= 1


def test_other_files_are_refused(tmp_path, two_workers):
    same, others = (written(candidates(seed), tmp_path / name, 2) for seed, name in ((0, "one"), (1, "two")))
    Study("lab", tmp_path / "lab.db", ShardedTable(two_workers, same), seed=3)
    Study("lab", tmp_path / "lab.db", ShardedTable(two_workers, written(candidates(), tmp_path / "moved", 3)))
    with pytest.raises(StudyDiffers, match="other candidates"):
        Study("lab", tmp_path / "lab.db", ShardedTable(two_workers, others))
    with pytest.raises(StudyDiffers, match="a table was given"):
        Study("lab", tmp_path / "lab.db", candidates())


def test_commands(tmp_path, two_workers):
    written(candidates(), tmp_path / "data", 2)
    address, program = two_workers.scheduler.address, "sh -c 'echo 0.{temp}'"
    more = ("--dask", address, "--command", program, "--seed", "1")
    done = ostinato("optimize", "data/*.parquet", *more, "--budget", "8", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "8 of 8 measurements" in done.stdout
    assert ostinato("verify", "data.db", cwd=tmp_path).returncode == 0
    best = ostinato("best", "data.db", cwd=tmp_path)
    assert best.stdout.split(" (")[0] in done.stdout
    away = ostinato("top", "data.db", cwd=tmp_path)
    assert away.returncode == 2
    assert "OSTINATO_DASK" in away.stderr
    top = ostinato("top", "data.db", cwd=tmp_path, OSTINATO_DASK=address)
    assert top.returncode == 0, top.stderr
    assert "temp" in top.stdout
