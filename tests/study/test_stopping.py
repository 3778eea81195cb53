"""Stopping always works, and loses nothing that was finished: also where nothing can be stored."""

import fcntl
import signal

import numpy as np
import pytest
from benchmarks.reliability import full

from ostinato import MiniUCB
from ostinato.errors import UnsavedValues
from ostinato.kernels import RBF
from ostinato.study import Study
from ostinato.study.unsaved import Unsaved

X = np.arange(20.0)[:, None]


@pytest.mark.parametrize(
    ("workers", "patience", "signals", "background", "code"),
    [
        (4, 1.0, (), False, 75),  # the storage is waited for, for a while
        (4, 3_600.0, (signal.SIGINT, signal.SIGINT), False, 130),
        (1, 3_600.0, (signal.SIGTERM,), False, 143),
        (4, 3_600.0, (signal.SIGTERM,), True, 143),
    ],
)
def test_a_full_disk_loses_nothing(tmp_path, workers, patience, signals, background, code, capsys):
    found = full.run(tmp_path, workers, patience, signals, background=background)
    assert (found.lost, found.doubled, found.problems) == (0, 0, [])
    assert found.code == code
    assert "that could not be stored before" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.unsaved.jsonl"))


@pytest.fixture
def study(tmp_path):
    return Study("a b/c", tmp_path / "lab.db", X, budget=40, seed=0)


@pytest.fixture
def unsaved(study):
    return Unsaved(study.name, study._stored.created, study.storage)


def test_what_was_put_aside_is_taken_in_once(study, unsaved, capsys):
    task = study.ask(limit=3)
    assert unsaved.keep([(task, [1.0, float("nan"), 3.0][: task.repeats])]) == ""
    (file,) = unsaved.found()
    assert file.name == "a b_c.unsaved.jsonl"
    study.run(lambda x: 0.5, study.numbered + task.repeats + 2, progress=False)
    assert "took in" in capsys.readouterr().err
    told = [each.value for each in study.measurements() if each.batch == task.batch]
    assert told[0] == 1.0
    assert not unsaved.found()


def test_what_was_measured_again_meanwhile_stays_as_it_is(study, unsaved):
    task = study.ask(limit=1)
    unsaved.keep([(task, [1.0])])
    study.tell(task, [2.0])
    assert unsaved.take_in(study.tell) == 0
    assert [each.value for each in study.measurements()] == [2.0]
    assert not unsaved.found()


def test_of_several_values_only_those_that_were_measured_again_are_left_out(tmp_path):
    given = {"kernel": RBF(3.0), "noise_std": 2.0, "policy": MiniUCB(C=2.0)}
    study = Study("lab", tmp_path / "lab.db", X, budget=200, seed=0, **given)
    unsaved, task = Unsaved("lab", study._stored.created, study.storage), study.ask(limit=3)
    assert task.repeats == 3
    unsaved.keep([(task, [1.0, 2.0, 3.0])])
    study.tell(task, [9.0])
    assert unsaved.take_in(study.tell) == 2
    assert [each.value for each in study.measurements()] == [9.0, 2.0, 3.0]


def test_what_somebody_was_taking_in_when_it_was_killed_is_found(study, unsaved):
    unsaved.keep([(study.ask(limit=1), [1.0])])
    (file,) = unsaved.found()
    file.rename(f"{file}.0123")
    assert unsaved.take_in(study.tell) == 1
    assert not unsaved.found()


def test_values_are_kept_where_the_study_was_restored_from_an_older_copy(study, unsaved, tmp_path):
    study.observe(0, [0.5])
    study.backup(tmp_path / "copy.db")
    unsaved.keep([(study.ask(limit=1), [1.25])])
    copy = Study(study.name, tmp_path / "copy.db")
    copy.run(lambda x: 0.5, 4, progress=False)
    assert [each.value for each in copy.measurements()].count(1.25) == 1


def test_what_cannot_be_taken_in_stays_aside(study, unsaved):
    first, second = study.ask(limit=1), study.ask(limit=1)
    unsaved.keep([(first, [1.0]), (second, [2.0])])

    def tell(task, values):
        if task.batch == second.batch and task.start == second.start:
            raise OSError("the disk is full")
        return study.tell(task, values)

    with pytest.raises(OSError, match="full"):
        unsaved.take_in(tell)
    assert unsaved.take_in(study.tell) == 1
    assert [each.value for each in study.measurements()] == [1.0, 2.0]


def test_values_of_another_study_of_the_same_name_are_left_alone(study, unsaved, tmp_path):
    other = Unsaved(study.name, 1.0, study.storage)
    other.keep([(study.ask(limit=1), [1.0])])
    task = study.ask(limit=1)
    unsaved.keep([(task, [2.0])])
    with pytest.warns(UnsavedValues, match="another study"):
        assert unsaved.take_in(study.tell) == 1
    (file,) = other.found()
    assert len(file.read_text().splitlines()) == 1


def test_a_line_that_was_cut_off_spoils_no_other(study, unsaved):
    first, second = study.ask(limit=1), study.ask(limit=1)
    unsaved.keep([(first, [1.0])])
    (file,) = unsaved.found()
    file.write_bytes(file.read_bytes() + b'{"study": "a b/c", "bat')
    unsaved.keep([(second, [2.0])])
    assert unsaved.take_in(study.tell) == 2


def test_where_the_place_beside_the_study_is_full_another_is_found(study, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    monkeypatch.setattr("tempfile.tempdir", None)
    unsaved = Unsaved(study.name, study._stored.created, study.storage)
    (tmp_path / "a b_c.unsaved.jsonl").mkdir()  # nothing can be written there
    assert unsaved.keep([(study.ask(limit=1), [1.0])]) == ""
    assert (tmp_path / "elsewhere" / "a b_c.unsaved.jsonl").exists()


def test_what_is_among_temporary_files_outlives_a_restart_where_it_can(study, tmp_path, monkeypatch):
    for name in ("fleeting", "lasting"):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(f"ostinato.study.unsaved.{name.upper()}", tmp_path / name)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "fleeting"))
    unsaved = Unsaved(study.name, study._stored.created, study.storage)
    (tmp_path / "a b_c.unsaved.jsonl").mkdir()  # nothing can be written there
    assert unsaved.keep([(study.ask(limit=1), [1.0])]) == ""
    assert unsaved.found() == [tmp_path / "lasting" / "a b_c.unsaved.jsonl"]
    assert unsaved.take_in(study.tell) == 1


def test_what_is_put_aside_while_the_file_is_taken_in_is_not_lost(study, unsaved, monkeypatch):
    """Whoever writes may have opened the file just before it was given another name, and write after it was read."""
    first, second = study.ask(limit=1), study.ask(limit=1)
    unsaved.keep([(first, [1.0])])
    locking, taken = fcntl.flock, []

    def take_in_between(file, how):
        if not taken and "+" in file.mode:
            taken.append(1)
            assert unsaved.take_in(study.tell) == 1
        locking(file, how)

    monkeypatch.setattr("fcntl.flock", take_in_between)
    unsaved.keep([(second, [2.0])])
    assert taken
    assert unsaved.take_in(study.tell) == 1
    assert [each.value for each in study.measurements()] == [1.0, 2.0]
