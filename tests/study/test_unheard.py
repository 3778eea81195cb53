"""What goes wrong between a study and its storage: answers that are not heard, files that are replaced, rows that are
damaged. Nothing is lost, and nothing counts twice.
"""

import multiprocessing
import os
import shutil
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from benchmarks.reliability import warm

from inside import cut, execute, next_batch, unheard
from ostinato import MiniUCB
from ostinato.errors import Damaged, StudyDiffers, Unavailable
from ostinato.kernels import RBF
from ostinato.storage import Lease
from ostinato.study import Study, verify
from ostinato.study.workers import GivenUpCheck, is_gone, this_worker

X = np.linspace(0, 1, 40)[:, None]
GIVEN = {"kernel": RBF(0.2), "noise_std": 0.3, "policy": MiniUCB(C=1.5), "seed": 0}


@pytest.fixture
def study(address):
    return Study("lab", address, X, budget=60, **GIVEN)


def test_observations_that_were_kept_unheard_count_once(study, monkeypatch):
    unheard(study.storage, monkeypatch)
    study.observe(3, [1.0, 2.0])
    assert study.status().measurements == 2
    study.observe(3, [1.0, 2.0])  # the same again, on purpose
    assert study.status().measurements == 4


def test_an_answer_that_was_kept_unheard_is_new_once(study, monkeypatch):
    task = study.ask(1)
    unheard(study.storage, monkeypatch)
    assert study.tell(task, [1.0]) == 1
    assert study.tell(task, [1.0]) == 0
    assert study.status().measurements == 1


def test_a_task_that_was_handed_out_unheard_is_handed_out_once(study, monkeypatch):
    unheard(study.storage, monkeypatch)
    task = study.ask(1)
    assert study.in_hand() == {task.batch: 1}
    assert len(study.history()) == 1


@pytest.mark.filterwarnings("ignore::ostinato.errors.DuplicateCandidates")
@pytest.mark.parametrize("busy", [False, True])
def test_changes_that_were_kept_unheard_are_made_once(study, monkeypatch, busy):
    """Also where others tell something between the two tries."""

    def change(action):
        with monkeypatch.context() as patch:
            unheard(study.storage, patch, (lambda: Study("lab", study.storage).observe(9, [0.0])) if busy else int)
            return action()

    study.observe(3, [1.0, 2.0, np.nan, np.nan])
    assert change(lambda: study.add(X[:2], again=True)) == [40, 41]
    assert study.table.rows == 42
    assert change(lambda: study.retire([5, 6])) == 2
    assert change(lambda: study.restore(6)) == 1
    assert study.retired == [5]
    assert change(lambda: study.retract(number=1)) == 1
    assert change(lambda: study.retract(failures=True)) == 2
    change(lambda: study.correct(number=2, new=7.0))
    (corrected,) = (each for each in study.measurements() if each.number == 2)
    assert len(corrected.revisions) == 1
    assert verify(study.storage, "lab") == []


def test_a_retraction_that_was_not_kept_is_not_taken_for_one_of_somebody_else(study, monkeypatch):
    study.observe(3, [1.0, 2.0, 3.0])
    original, left = study.storage.write, [1]

    @contextmanager
    def write(name, **how):
        with original(name, **how) as writer:
            yield writer
            if left[0]:
                left[0] -= 1
                raise cut()  # within the transaction: nothing of it is kept

    def retried(action):
        try:
            return action()
        except Unavailable:
            Study("lab", study.storage).retract(number=2)
            return action()

    monkeypatch.setattr(study.storage, "write", write)
    monkeypatch.setattr(study.storage, "patiently", retried)
    assert study.retract(number=1) == 1
    assert [each.value for each in study.measurements()] == [3.0]


def test_an_older_copy_in_place_of_the_file(tmp_path):
    path = tmp_path / "lab.db"
    study = Study("lab", path, X, **GIVEN)
    for _ in range(3):
        study.observe(5, [1.0])
    study.tell(study.ask(1), [0.0])
    shutil.copy(path, tmp_path / "copy")
    for _ in range(3):
        task = study.ask()
        study.tell(task, [0.0] * task.repeats)
    shutil.copy(tmp_path / "copy", path)
    assert study.status().measurements == study.optimizer.steps == 4
    task = study.ask()
    assert task.batch == Study("lab", path).history()[-1].facts.id
    assert verify(study.storage, "lab") == []


def test_another_study_of_the_same_name(study, address):
    study.tell(study.ask(1), [0.0])
    study.storage.delete("lab")
    Study("lab", address, X + 100, **GIVEN)
    with pytest.raises(StudyDiffers, match="open it again"):
        study.ask()
    with pytest.raises(StudyDiffers, match="open it again"):
        study.best()


@pytest.mark.parametrize(
    "statement",
    ["UPDATE leases SET repeats = repeats + 4", "UPDATE leases SET until = 1e300", "DELETE FROM leases"],
)
def test_repeats_whose_lease_is_damaged_are_handed_out_again(study, statement):
    study.ask(1)
    execute(study, statement)
    while (task := study.ask()) is not None:
        study.tell(task, np.zeros(task.repeats))
    assert study.finished


def test_an_answer_that_the_log_has_lost_is_not_taken_for_a_new_one(study):
    task = study.ask(1)
    study.tell(task, [1.0])
    execute(study, "DELETE FROM log")
    with pytest.raises(Damaged, match="counts 1 answers, and 0"):
        study.tell(task, [1.0])
    assert study.status().measurements == 1


def test_the_same_failure_and_the_same_zero_are_the_same_answer(study):
    task = study.ask(1)
    study.tell(task, [float("nan")])
    assert study.tell(task, [-np.float64("nan")]) == 0
    other = study.ask(1)
    study.tell(other, [0.0])
    assert study.tell(other, [-0.0]) == 0


def test_a_lower_budget_holds_for_what_was_asked_for_already(address):
    study = Study("lab", address, X, budget=100, **{**GIVEN, "noise_std": 3.0})
    task = study.ask(1)
    study.tell(task, [0.0])
    assert study.status().waiting > 5
    study.allow(3)
    while (task := study.ask()) is not None:
        study.tell(task, np.zeros(task.repeats))
    assert study.status().measurements == 3
    assert study.finished


def test_part_of_a_task_is_handed_back(address):
    study = Study("lab", address, X, budget=100, **{**GIVEN, "noise_std": 3.0})
    task = study.ask(6)
    study.tell(task, [0.0])
    study.release(task, keep=4)
    assert sum(study.in_hand().values()) == 3
    again = study.ask(10)
    assert (again.batch, again.start, again.repeats) == (task.batch, 4, 2)
    study.release(task, keep=6)  # nothing is beyond
    assert sum(study.in_hand().values()) == 5


@pytest.mark.parametrize(
    "settings",
    [
        {"noise_std": np.full(40, 0.3)},
        {"noise_std": np.float64(0.3), "kernel": RBF(np.float64(0.2))},
        {"switch_cost": np.ones((40, 40))},
        {"seed": None},
        {"seed": np.int64(3), "budget": np.int64(50)},
    ],
    ids=str,
)
def test_settings_of_numpy(address, settings):
    study = Study("lab", address, X, **settings)
    study.tell(study.ask(1), [1.0])
    again = Study("lab", address, X, **settings)
    assert again.ask(1).batch == 1


class TestAnswersAreThoseOfAFreshProcess:
    """Whatever happened on the way here."""

    def test_with_and_without_standard_errors(self, address):
        study = Study("lab", address, X, **{**GIVEN, "noise_std": 3.0})
        failed = study.ask(20)
        study.tell(failed, [None] * failed.repeats)
        study.close(failed)
        task = study.ask(4)
        study.tell(task, [-5.0], stderr=0.01)
        study.observe(task.index, [-90.0])
        study.tell(task, [-4.0] * 3, stderr=10.0, start=task.start + 1)
        self.same(study, Study("lab", address))

    def test_looked_at_before_a_decision_and_after(self, address):
        study = Study("lab", address, X, seed=0)
        for row in range(0, 40, 3):
            study.observe(row, np.sin(row / 9) + np.array([-0.1, 0.1]))
        study.best()
        study.ask(1)
        self.same(study, Study("lab", address))

    def test_told_in_parts(self, address):
        study = Study("lab", address, X, **{**GIVEN, "noise_std": 3.0})
        task = study.ask(6)
        for i in range(task.repeats):
            study.tell(task, [float(i)], start=task.start + i)
        for _ in range(3):
            other = study.ask()
            study.tell(other, np.arange(other.repeats, dtype=float))
        self.same(study, Study("lab", address))

    def same(self, live, fresh):
        one, two = live.optimizer, fresh.optimizer
        assert one.predict().mean == pytest.approx(two.predict().mean, abs=1e-9)
        assert one.best().mean == pytest.approx(two.best().mean, abs=1e-9)
        assert str(one.diagnose()) == str(two.diagnose())
        a, b = next_batch(one), next_batch(two)
        assert (a.index, a.repeats) == (b.index, b.repeats)


def ask_in_a_child(study, said):
    said.put(study.ask(1).start)


def test_a_process_that_was_forked_while_a_thread_held_the_study(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, **GIVEN)
    context, held, go = multiprocessing.get_context("fork"), threading.Event(), threading.Event()

    def hold(optimizer):
        held.set()
        go.wait()

    thread = threading.Thread(target=study.looked, args=(hold,))
    thread.start()
    held.wait()
    said = context.SimpleQueue()
    child = context.Process(target=ask_in_a_child, args=(study, said))
    try:
        child.start()
        child.join(20)
        assert child.exitcode == 0
        assert said.get() == 0
    finally:
        go.set()
        thread.join()
        child.kill()


class TestWorkers:
    def test_this_one_is_not_gone(self):
        assert not is_gone(this_worker())
        assert not GivenUpCheck(10.0)(Lease(0, 0, 1, this_worker(), 11.0))
        assert GivenUpCheck(10.0)(Lease(0, 0, 1, this_worker(), 9.0))

    def test_one_that_has_ended_is(self):
        child = warm.start(os.getpid)
        name = this_worker().replace(f"|{os.getpid()}|", f"|{child.pid}|")
        child.join()
        child.close()
        assert is_gone(name)

    @pytest.mark.parametrize("part", [0, 1, 2])
    def test_elsewhere_nobody_knows(self, part):
        """Another machine, one that was started anew, another container of the same name."""
        words = this_worker().replace(f"|{os.getpid()}|", "|999999999|").split("|")
        words[part] += "x"
        assert not is_gone("|".join(words))

    @pytest.mark.parametrize("name", ["", "somebody", "a|b|c|d|e", "||||"])
    def test_names_of_others(self, name):
        assert not is_gone(name)
