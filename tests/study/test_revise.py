"""What a study was told can be taken back and corrected: then it is what it would be with the right values."""

from datetime import datetime

import numpy as np
import pytest

from ostinato import Optimizer
from ostinato.errors import Conflict, InvalidFeedback, InvalidSetting, UnknownBatch
from ostinato.kernels import RBF
from ostinato.study import Study, verify

X = np.linspace(0, 1, 40)[:, None]
TRUTH = 10 * np.sin(4 * X[:, 0]) + 20
GIVEN = {"kernel": RBF(0.3, std=10.0), "noise_std": 1.0, "mean": 20.0}
pytestmark = [
    pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement"),
    pytest.mark.filterwarnings("ignore::ostinato.errors.SurprisingMeasurements"),
]


def same(study, other):
    """Everything that can be seen, and the next decision."""
    assert verify(study.storage, study.name) == []
    one, two = study.status(), other.status()
    for name in ("measurements", "failures", "unique", "switches"):
        assert getattr(one, name) == getattr(two, name), name
    here, there = study.optimizer, other.optimizer
    assert str(here.certificate) == str(there.certificate)
    assert here.learned == there.learned
    assert here.predict().mean == pytest.approx(there.predict().mean, abs=1e-9)
    a, b = study.ask(), other.ask()
    assert (a.index, a.repeats) == (b.index, b.repeats)


@pytest.mark.parametrize("settings", [{}, GIVEN, {"half_life": 20}])
def test_a_study_with_its_mistakes_corrected_is_one_without(address, settings):
    wrong, right = (Study(name, address, X, seed=1, budget=80, **settings) for name in ("wrong", "right"))
    rng = np.random.default_rng(0)
    numbers, n = [], 0
    for row in range(0, 40, 4):
        values = TRUTH[row] + rng.standard_normal(3)
        told, kept = values.copy(), values.copy()
        if row % 8 == 0:
            told[1] *= 10
            numbers.append((n + 2, values[1]))
        if row % 12 == 0:
            told[2], kept = 999.0, kept[:2]
            numbers.append((n + 3, None))
        wrong.observe(row, told)
        right.observe(row, kept)
        n += 3
    for number, value in numbers:
        if value is None:
            wrong.retract(number=number, why="another sample")
        else:
            wrong.correct(number=number, new=float(value), why="a typo")
    same(wrong, right)
    same(Study("wrong", address), Study("right", address))


def test_decisions_go_on_from_the_right_values(address):
    study = Study("s", address, X, seed=0, budget=60)
    rng = np.random.default_rng(1)
    while study.status().measurements < 30:
        task = study.ask(limit=30)
        study.tell(task, TRUTH[task.index] + rng.standard_normal(task.repeats))
    last = list(study.measurements())[-1]
    study.correct(study.candidate(last.index), last.value, 900.0, why="as a joke")
    study.correct(number=last.number, new=last.value)
    told = [each for each in study.measurements(everything=True) if each.number == last.number]
    assert (told[0].value, told[0].told) == (last.value, last.value)
    fresh = Optimizer(X, seed=0, budget=60)
    for each in study.measurements():
        fresh.observe(each.index, each.value)
    assert study.best().mean == pytest.approx(fresh.best().mean, abs=0.3)
    assert verify(study.storage, "s") == []
    assert study.ask() is not None


def test_what_was_taken_back_is_kept_with_when_and_why(address):
    study = Study("s", address, X, seed=0)
    study.observe(3, [20.0, 125.0, float("nan")])
    study.observe(4, n=10, mean=20.0, std=1.0)
    assert study.retract(3, value=125.0, why="a typo") == 1
    assert [each.number for each in study.measurements()] == [1, 3, 4]
    gone = [each for each in study.measurements(everything=True) if each.value is None]
    assert [(each.number, each.told, each.revision.why) for each in gone] == [(2, 125.0, "a typo")]
    assert gone[0].revision.at >= gone[0].at
    assert study.retract(number=7) == 10  # an average goes as a whole
    assert study.retract(failures=True, why="no power") == 1
    status = study.status()
    assert (status.measurements, status.failures) == (1, 0)
    study.correct(number=2, new=12.5)  # after all
    assert study.status().measurements == 2
    assert verify(study.storage, "s") == []


def test_failures_since_a_moment_are_taken_back(address):
    study = Study("s", address, X, seed=0)
    study.observe(3, [float("nan")])
    (first,) = study.measurements()
    with study.storage.read("s") as reader:
        while reader.now() <= first.at:
            pass
        moment = reader.now()
    study.observe(4, [float("nan"), float("nan"), 1.0])
    assert study.retract(failures=True, since=datetime.fromtimestamp(moment)) == 2
    assert study.status().failures == 1


def test_a_repeat_that_is_taken_back_is_asked_for_again_while_its_batch_waits(address):
    study = Study("s", address, X, seed=0, budget=40, **GIVEN | {"noise_std": 30.0})
    study.observe(3, 20.0)
    task = study.ask(limit=6)
    batch, asked = task.batch, study.optimizer.in_flight[0].repeats
    assert asked > 2
    study.tell(task, [999.0])
    study.retract(number=2)
    got = 0
    while True:
        again = study.ask(limit=40)
        if again.batch != batch:
            break
        study.tell(again, [20.0] * again.repeats)
        got += again.repeats
    study.tell(task, [20.0] * (task.repeats - 1), start=task.start + 1)
    assert got + task.repeats - 1 == asked
    assert verify(study.storage, "s") == []


def test_a_whole_task_is_taken_back(address):
    study = Study("s", address, X, seed=0, budget=40, **GIVEN)
    task = study.ask()
    with pytest.raises(UnknownBatch, match="nothing to take back"):
        study.retract(task)
    study.tell(task, [20.0] * task.repeats)
    assert study.retract(task) == task.repeats
    assert study.status().measurements == 0


def test_a_task_is_its_own_repeats_and_a_batch_is_all_of_them(address):
    study = Study("s", address, X, seed=0, budget=40, **GIVEN | {"noise_std": 30.0})
    study.observe(3, 20.0)
    tasks = [study.ask(limit=2) for _ in range(3)]
    assert {task.batch for task in tasks} == {0}
    for task in tasks:
        study.tell(task, [20.0, 21.0])
    assert study.retract(tasks[1]) == 2
    counting = [each.repeat for each in study.measurements() if each.batch == 0]
    assert counting == [0, 1, 4, 5]
    with pytest.raises(UnknownBatch, match=r"repeats 2 to 3 of batch 0 that counts"):
        study.retract(tasks[1])
    assert study.retract(batch=0) == 4
    with pytest.raises(UnknownBatch, match="Nothing was told of batch 0"):
        study.retract(study.history()[-1])
    assert study.retract(batch=-1) == 1  # the observation
    assert verify(study.storage, "s") == []


def test_a_repeat_that_was_taken_back_is_not_told_again(address):
    study = Study("s", address, X, seed=0, budget=40, **GIVEN)
    study.observe(3, 20.0)
    task = study.ask(limit=1)
    study.tell(task, [999.0])
    study.retract(number=2, why="the wrong sample")
    words = r"Repeat 0 of batch 0 was told before and taken back \(measurement 2\).*correct\(number=2, new=…\)"
    with pytest.raises(Conflict, match=words):
        study.tell(task, [20.0])
    study.tell(task, [999.0])  # the same again is nothing new
    assert study.status().measurements == 1
    study.correct(number=2, new=20.0)
    assert study.status().measurements == 2


def test_outliers_go_by_the_numbers_of_the_study(address):
    study = Study("s", address, X, seed=0)
    study.observe(0, [999.0])
    for row in range(0, 40, 2):
        study.observe(row, [TRUTH[row], TRUTH[row] + 0.2, 2000.0 if row == 10 else TRUTH[row] + 0.1])
    study.retract(number=1)
    (outlier,) = study.outliers
    assert (outlier.number, outlier.value) == (19, 2000.0)
    study.retract(number=outlier.number)
    assert study.outliers == []


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda study: study.retract(3, value=7.0), "No measurement of 3 gave 7.0. Its last values are 1, 2"),
        (lambda study: study.retract(5, value=7.0), "It has none"),
        (lambda study: study.retract(3), "What is to be taken back"),
        (lambda study: study.retract(number=99), "no measurement 99: they are numbered 1 to 12"),
        (lambda study: study.correct(number=5, new=3.0), "one of an average of 10"),
        (lambda study: study.correct(3, 1.0), "old and new value"),
        (lambda study: study.correct(3, 1.0, 5.0, number=1), "by number= and by candidate and old value"),
        (lambda study: study.retract(3, value=1.0, number=1), "by a candidate and by number=: name them in one way"),
        (lambda study: study.retract(number=1, batch=-1), "by number= and by batch="),
        (lambda study: study.retract(failures=True, number=1), "by number= and by failures=True"),
        (lambda study: study.retract(failures=True, since="yesterday"), "'yesterday' is not a moment"),
        (lambda study: study.retract(failures=True, since=float("nan")), "nan is not a moment"),
        (lambda study: study.retract(3, value=1.0, since=5.0), "since= is for failures"),
        (lambda study: study.retract(3, value="1.0"), "'1.0'.* are not numbers"),
        (lambda study: study.correct(3, "1.0", 2.0), "'1.0'.* are not numbers"),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(tmp_path, act, words):
    study = Study("s", tmp_path / "lab.db", X, seed=0)
    study.observe(3, [1.0, 2.0])
    study.observe(4, n=10, mean=20.0, std=1.0)
    with pytest.raises(InvalidFeedback, match=words):
        act(study)
    assert study.status().measurements == 12
    assert verify(study.storage, "s") == []


def test_failures_of_one_candidate_are_taken_back_alone(address):
    study = Study("lab", address, np.arange(4.0)[:, None], seed=0)
    for index in (0, 1, 1):
        study.observe(index, [np.nan])
    assert study.retract([1.0], failures=True) == 2
    assert study.status().failures == 1


def test_measurements_are_read_while_others_work(address):
    """What comes after the first was read is left for the next time."""
    study, other = Study("lab", address, np.arange(4.0)[:, None], seed=0), Study("lab", address)
    study.observe_all([(0, {"value": 1.0})] * 1001)  # more than a page of the log
    listed = study.measurements()
    first = next(listed)
    other.observe(2, [5.0])
    assert len([first, *listed]) == 1001


def test_a_corrected_value_that_is_told_again(address):
    study = Study("s", address, X, seed=0, budget=20)
    task = study.ask(1)
    study.tell(task, [125.0])
    study.correct(number=1, new=12.5)
    assert study.tell(task, [125.0]) == 0  # whoever did not hear the answer tells the same again
    assert study.tell(task, [12.5]) == 0  # that is what it is
    with pytest.raises(Conflict, match=r"has the value 12.5 \(it was told as 125.0, and corrected\), and 3.0 was told"):
        study.tell(task, [3.0])
    assert study.status().measurements == 1


def test_numbers_may_be_of_numpy(tmp_path):
    study = Study("s", tmp_path / "lab.db", X, seed=0)
    study.observe(3, [1.0, 2.0, 3.0, 4.0])
    assert study.retract(number=np.int64(1)) == 1
    assert study.retract(number=np.array([2, 3])) == 2
    assert study.status().measurements == 1


@pytest.mark.parametrize("why", [["a"], None, 3, "a\x00b", "a\ud800b"], ids=repr)
def test_a_reason_that_cannot_be_stored_is_refused_at_once(address, why):
    """And is not taken for a storage that does not answer."""
    study = Study("s", address, X, seed=0)
    study.observe(3, [1.0, 2.0])
    for act in (lambda: study.correct(number=1, new=5.0, why=why), lambda: study.retract(number=1, why=why)):
        with pytest.raises(InvalidSetting, match=r"why=.* cannot be stored: give a text that can be printed"):
            act()
    study.correct(number=1, new=5.0, why="a\nb \t c")
    (first, _) = study.measurements()
    assert (first.value, first.revisions[0].why) == (5.0, "a b c")


def test_tasks_of_another_study_change_nothing(tmp_path):
    one, other = (Study(name, tmp_path / "lab.db", X, seed=0) for name in ("one", "other"))
    mine, task = one.ask(limit=1), other.ask(limit=1)
    assert mine.batch == task.batch
    one.tell(mine, [1.0])
    for act in (
        lambda: one.retract(task),
        lambda: one.retract(task, failures=True),
        lambda: one.skip(task, 0),
        lambda: one.close(task),
        lambda: one.release(task),
        lambda: one.renew(task),
        lambda: one.tell(task, [1.0]),
    ):
        with pytest.raises(UnknownBatch, match="is not a task of the study 'one'"):
            act()
    assert one.status().measurements == 1
