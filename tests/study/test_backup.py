"""Copies of a study that is being worked on: whole, checked, and studies like any other. From and to every storage."""

import sqlite3
from threading import Event, Thread

import numpy as np
import pytest

from ostinato.errors import Damaged, InvalidSetting, UnknownStudy
from ostinato.study import Study, verify

X = np.arange(30.0)[:, None]


@pytest.fixture
def study(address):
    """Some of all that a study can hold."""
    made = Study("lab", address, X, budget=80, seed=0)
    for _ in range(6):
        task = made.ask(limit=3)
        made.tell(task, [float(task.index)] * task.repeats)
    made.observe(3, n=10, mean=2.5, std=0.5)
    made.observe(4, [1.0, float("nan")])
    made.correct(number=1, new=7.0, why="typo")
    made.retract(number=2)
    made.retire(9)
    return made


def told(study):
    """All that was ever told, as text: NaN is like NaN there."""
    return list(map(repr, study.measurements(everything=True)))


def test_a_copy_says_what_the_study_says(study, tmp_path):
    study.backup(tmp_path / "copy.db")
    copy = Study("lab", tmp_path / "copy.db")
    assert str(copy.status()) == str(study.status())
    assert list(map(repr, copy.history())) == list(map(repr, study.history()))
    assert told(copy) == told(study)
    assert verify(copy.storage, "lab") == []
    one, two = copy.ask(), study.ask()
    assert (one.index, one.start, one.repeats) == (two.index, two.start, two.repeats)


def test_a_copy_can_be_copied_back_beside_other_studies(study, address, tmp_path):
    study.backup(tmp_path / "copy.db")
    Study("other", tmp_path / "home.db", X, budget=5)
    copy = Study("lab", tmp_path / "copy.db")
    copy.backup(f"sqlite:///{tmp_path / 'home.db'}")  # an address: into a storage that is there
    again = Study("lab", tmp_path / "home.db")
    assert told(again) == told(study)
    assert verify(again.storage, "lab") == []
    with pytest.raises(InvalidSetting, match="is for files"):
        copy.backup(f"sqlite:///{tmp_path / 'home.db'}", replace=True)
    with pytest.raises(InvalidSetting, match="There is a study 'lab' already"):
        copy.backup(f"sqlite:///{tmp_path / 'home.db'}")


def test_only_an_older_copy_of_the_study_is_replaced(study, tmp_path):
    (tmp_path / "notes.txt").write_text("precious")
    for replace in (False, True):
        with pytest.raises(InvalidSetting, match="is there already" if not replace else "would be lost"):
            study.backup(tmp_path / "notes.txt", replace=replace)
    assert (tmp_path / "notes.txt").read_text() == "precious"
    study.backup(tmp_path / "copy.db")
    study.observe(5, [1.0])
    study.backup(tmp_path / "copy.db", replace=True)
    assert told(Study("lab", tmp_path / "copy.db")) == told(study)


def test_what_others_work_with_is_not_replaced(study, tmp_path):
    study.backup(tmp_path / "copy.db")
    copy = Study("lab", tmp_path / "copy.db")
    copy.observe(5, [1.0])
    with pytest.raises(InvalidSetting, match="somebody works with it"):
        study.backup(tmp_path / "copy.db", replace=True)
    with pytest.raises(InvalidSetting, match="somebody works with it"):
        copy.backup(tmp_path / "copy.db", replace=True)  # onto itself
    Study("other", tmp_path / "copy.db", X)
    with pytest.raises(InvalidSetting, match="would be lost"):
        study.backup(tmp_path / "copy.db", replace=True)


def test_a_damaged_study_leaves_the_old_copy_as_it_was(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, budget=80, seed=0)
    study.observe(3, [1.0, 2.0])
    study.backup(tmp_path / "copy.db")
    with sqlite3.connect(tmp_path / "lab.db") as connection:
        connection.execute("UPDATE log SET data = zeroblob(16)")
    with pytest.raises(Damaged, match="log does not fit its checksum"):
        study.backup(tmp_path / "copy.db", replace=True)
    assert [each.value for each in Study("lab", tmp_path / "copy.db").measurements()] == [1.0, 2.0]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["copy.db", "lab.db"]


@pytest.mark.parametrize("place", ["", "nowhere/copy.db"])
def test_a_place_that_cannot_be_written_is_refused(study, tmp_path, place):
    with pytest.raises(InvalidSetting, match="folder"):
        study.backup(tmp_path / place)


def test_what_is_not_there_cannot_be_copied(study, tmp_path):
    with pytest.raises(UnknownStudy):
        study.storage.copy("none", Study("other", tmp_path / "other.db", X).storage)


def test_every_copy_of_a_live_study_is_whole(address, tmp_path):
    """While another thread tells, each copy is one moment: what it counts is what it holds."""
    Study("lab", address, X, budget=10_000, seed=0)
    enough = Event()

    def work():
        mine = Study("lab", address)
        while not enough.is_set():
            task = mine.ask(limit=2)
            mine.tell(task, [1.0] * task.repeats)

    worker = Thread(target=work)
    worker.start()
    try:
        looking, counts = Study("lab", address), []
        for i in range(4):
            looking.backup(tmp_path / f"copy{i}.db")
            copy = Study("lab", tmp_path / f"copy{i}.db")
            assert verify(copy.storage, "lab") == []
            counts.append(copy.numbered)
    finally:
        enough.set()
        worker.join()
    assert counts == sorted(counts)
