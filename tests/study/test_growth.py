"""A study that grows is not slower for it: what an ask, a tell or an observation takes does not depend on the length of
the log. Measured in steps of SQLite's own machine, which are the same on any machine.
"""

import sqlite3

import numpy as np
import pytest
from sqlalchemy import event

from inside import execute, unheard
from ostinato import MiniUCB, Optimizer
from ostinato.errors import Conflict, Damaged, InvalidFeedback
from ostinato.kernels import RBF
from ostinato.storage import sqlite
from ostinato.study import Study, verify

X = np.linspace(0, 1, 40)[:, None]
GIVEN = {"kernel": RBF(0.2), "noise_std": 0.3, "policy": MiniUCB(C=1.5), "seed": 0}


class Steps:
    """What SQLite does in one study, counted."""

    def __init__(self, study):
        self.count = 0
        event.listen(study.storage.backend.engine, "connect", self._connect)

    def _connect(self, connection, _):
        connection.set_progress_handler(self._step, 10)

    def _step(self):
        self.count += 10

    def of(self, action):
        before = self.count
        action()
        return self.count - before


def grown(path, values, *, one_batch):
    """Values told or observed one by one, each a row of the log."""
    study, rng = Study("lab", path, X, **GIVEN), np.random.default_rng(0)
    if one_batch:
        told = 0
        while told < values:
            task = study.ask()
            count = min(task.repeats, values - told)
            numbers = rng.standard_normal(count).tolist()
            study.tell_all([(task, [value], task.start + place) for place, value in enumerate(numbers)])
            told += count
    else:
        study.observe_all([(int(rng.integers(len(X))), {"value": value}) for value in rng.standard_normal(values)])
    return study


@pytest.mark.parametrize("one_batch", [False, True])
def test_asks_and_tells_take_as_long_in_a_long_study(tmp_path, one_batch):
    steps = []
    for values in (40, 1_500):
        study = grown(tmp_path / f"{values}.db", values, one_batch=one_batch)
        task = study.ask(limit=1)
        study.optimizer  # noqa: B018  it is in step: the first look reads all batches
        counted, rng = Steps(study), np.random.default_rng(1)
        each = [
            counted.of(lambda study=study, task=task: study.tell(task, [0.1])),
            counted.of(lambda study=study, task=task: study.tell(task, [0.1])),
            counted.of(lambda study=study, rng=rng: study.observe(3, rng.standard_normal(1))),
            counted.of(lambda study=study: study.ask(limit=1)),
            counted.of(lambda study=study, task=task: study.task(task.batch)) if one_batch else 0,
            counted.of(lambda study=study: study.correct(number=study.numbered, new=1.0)),
        ]
        steps.append(each)
    few, many = steps
    assert all(b <= 1.5 * a + 500 for a, b in zip(few, many, strict=True)), (few, many)


def test_a_long_log_is_not_read_when_a_study_is_opened(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "SOON_CHECKED", 0)  # as for a file of gigabytes
    for values in (40, 1_500):
        grown(tmp_path / f"{values}.db", values, one_batch=False)
    statements = []
    connect = sqlite3.connect

    def traced(*where, **how):
        connection = connect(*where, **how)
        connection.set_trace_callback(statements.append)
        return connection

    monkeypatch.setattr(sqlite3, "connect", traced)
    study = Study("lab", tmp_path / "1500.db")
    assert study.best().n > 1
    assert len(study.history()) == len({row.facts.index for row in study.history()}) == len(X)
    assert any("integrity_check(batches)" in each for each in statements)
    assert not any("FROM log" in each or "integrity_check(log)" in each or "check(3)" in each for each in statements)


def test_what_a_large_file_lost_is_still_found(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite, "SOON_CHECKED", 0)
    study = grown(tmp_path / "lab.db", 40, one_batch=False)
    execute(study, "UPDATE log SET start = start + 1 WHERE number = 7")
    assert Study("lab", tmp_path / "lab.db").best().n >= 1  # its batches are whole
    assert "row 7 of the log" in verify(study.storage, "lab")[0]
    with pytest.raises(Damaged, match="row 7 of the log"):
        list(study.measurements())
    data = bytearray((tmp_path / "lab.db").read_bytes())
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'batches_unfinished'").fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    connection.close()
    data[(page - 1) * size + 3] ^= 1
    (tmp_path / "lab.db").write_bytes(data)
    with pytest.raises(Damaged):
        Study("lab", tmp_path / "lab.db")


class TestObservations:
    """Those of one candidate share a batch; each measurement has its own number, and is put right by it."""

    def test_they_share_batches_and_count_as_in_memory(self, address):
        study, optimizer, rng = Study("lab", address, X, **GIVEN), Optimizer(X, **GIVEN), np.random.default_rng(0)
        given = [(int(row), {"value": float(rng.standard_normal())}) for row in rng.integers(0, 5, 60)]
        for row, what in given[:20]:
            study.observe(row, [what["value"]])
        assert study.observe_all(given[20:]) == 40
        for row, what in given:
            optimizer.observe(row, [what["value"]])
        assert len(study.history()) == 5
        assert study.counts() == optimizer.counts()
        assert [(each.index, each.value) for each in study.measurements()] == [(r, w["value"]) for r, w in given]
        assert [each.number for each in study.measurements()] == list(range(1, 61))
        assert study.best().mean == pytest.approx(optimizer.best().mean)
        study.correct(number=31, new=2.5)
        assert study.retract(number=[2, 45]) == 2
        assert verify(study.storage, "lab") == []
        study.observe(given[30][0], [1.0])
        again = Study("lab", address)
        assert verify(study.storage, "lab") == []
        assert again.optimizer.steps == study.optimizer.steps == 59
        assert again.best().mean == pytest.approx(study.best().mean)

    def test_a_batch_that_is_full_is_left(self, address, monkeypatch):
        monkeypatch.setattr("ostinato.study.log.FULL", 10)
        study = Study("lab", address, X, **GIVEN)
        for _ in range(4):
            study.observe(3, [1.0, 2.0, 3.0, 4.0])
        study.observe(3, np.arange(50.0))
        assert sorted(row.facts.repeats for row in study.history()) == [4, 12, 50]
        assert verify(study.storage, "lab") == []

    @pytest.mark.parametrize("setting", [{"setup_std": 0.2}, {"half_life": 50}])
    def test_they_stay_apart_where_it_matters_which_came_together(self, address, setting):
        study = Study("lab", address, X, noise_std=0.3, seed=0, **setting)
        for _ in range(3):
            study.observe(3, [1.0])
        assert len(study.history()) == 3

    def test_other_kinds_stay_apart(self, address):
        study = Study("lab", address, X, **GIVEN)
        study.observe(3, [1.0])
        study.observe(3, [1.1], stderr=0.1)
        study.observe(3, n=4, mean=1.0, std=0.2)
        study.observe(3, [float("nan")], stderr=0.1)
        assert sorted(row.facts.repeats for row in study.history()) == [2, 5]
        study.ask(limit=1)
        study.observe(3, [1.2])  # what was known before the first decision is not counted by certificates
        assert len(study.history()) == 4
        assert verify(study.storage, "lab") == []

    def test_kept_unheard_while_others_observe(self, address, monkeypatch):
        study = Study("lab", address, X, **GIVEN)
        other = Study("lab", address)
        with monkeypatch.context() as patch:
            unheard(study.storage, patch, lambda: other.observe(3, [1.0]))
            study.observe(3, [1.0])
        assert [each.value for each in study.measurements()] == [1.0, 1.0]
        assert verify(study.storage, "lab") == []


class TestSeveralTasks:
    """`tell_all`: all of them, or none."""

    def test_together(self, address):
        study = Study("lab", address, X, **GIVEN)
        tasks = [study.ask(limit=2) for _ in range(3)]
        assert study.tell_all([(task, [0.5] * task.repeats, task.start) for task in tasks]) == sum(
            task.repeats for task in tasks
        )
        assert study.tell_all([(task, [0.5], task.start) for task in tasks]) == 0
        assert study.tell_all([]) == 0
        assert verify(study.storage, "lab") == []

    def test_one_that_is_wrong_keeps_all_out(self, address):
        study = Study("lab", address, X, **GIVEN)
        one, two = study.ask(limit=1), study.ask(limit=1)
        study.tell(two, [1.0])
        with pytest.raises(Conflict):
            study.tell_all([(one, [0.5], one.start), (two, [2.0], two.start)])
        with pytest.raises(InvalidFeedback, match="the task has"):
            study.tell_all([(one, [0.5], one.start + 7)])
        assert study.status().measurements == 1


def test_a_log_that_holds_what_its_batch_does_not_know_is_refused(address):
    study = Study("lab", address, X, **GIVEN)
    task = study.ask(limit=1)
    other = study.ask(limit=1)
    study.tell(other, [1.0])
    execute(study, f"UPDATE log SET batch = {task.batch} WHERE number = 1")
    if task.batch != other.batch:
        with pytest.raises(Damaged):
            study.tell(task, [1.0])
    with pytest.raises(Damaged):
        study.tell(other, [1.0])
