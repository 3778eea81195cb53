"""`study.run`: where it runs does not matter, and what goes wrong loses nothing."""

import io
import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from elsewhere import Awkward, awkwardly, kills_its_process_at_one_candidate, kills_its_process_once, measure
from ostinato import MiniUCB
from ostinato.errors import (
    Failed,
    InvalidFeedback,
    InvalidSetting,
    LostWorkers,
    MissingSetting,
    NothingMeasured,
)
from ostinato.kernels import RBF
from ostinato.running.measure import Measure
from ostinato.stopping import NoImprovement, Spent
from ostinato.study import Study
from terminal import PATIENCE, wait_until

X = np.linspace(0, 1, 40)[:, None]
GIVEN = {"kernel": RBF(0.2), "noise_std": 0.3, "policy": MiniUCB(C=1.5)}


def test_threads_by_default(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)
    result = study.run(measure, 60, workers=3)
    assert (result.ended, result.steps) == ("budget", 60)
    assert study.finished
    assert study.run(measure, 60).steps == 60  # nothing left to do
    assert study.run(measure, 70).steps == 70
    assert all(batch.facts.answered == batch.facts.repeats for batch in study.history())


@pytest.mark.parametrize("kind", ["processes", ProcessPoolExecutor, ThreadPoolExecutor])
def test_any_executor(tmp_path, kind):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)
    if kind == "processes":
        assert study.run(measure, 30, executor=kind, workers=2).steps == 30
        return
    options = {"mp_context": multiprocessing.get_context("spawn")} if kind is ProcessPoolExecutor else {}
    with kind(2, **options) as executor:
        assert study.run(measure, 30, executor=executor).steps == 30
        assert executor.submit(abs, -1).result() == 1  # it is the user's, and goes on


def test_a_process_that_dies_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setenv("OSTINATO_TEST_FLAG", str(tmp_path / "flag"))
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)
    result = study.run(kills_its_process_once, 30, executor="processes", workers=2)
    assert result.steps == 30
    assert (tmp_path / "flag").exists()


def test_an_error_is_passed_on_and_everything_before_it_is_kept(tmp_path):
    study, calls = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN), []

    def sometimes(candidate):
        calls.append(candidate)
        if len(calls) == 12:
            raise RuntimeError("out of reagent")
        return measure(candidate)

    with pytest.raises(RuntimeError, match="out of reagent"):
        study.run(sometimes, 50, workers=1)
    assert study.status().measurements >= 11
    assert study.run(measure, 50, workers=1).steps == 50


def test_measurements_that_fail(tmp_path):
    study, calls = Study("lab", tmp_path / "lab.db", X, seed=0), []

    def failing(candidate):
        calls.append(candidate)
        if len(calls) % 4 == 0:
            raise Failed
        if len(calls) % 7 == 0:
            raise OSError
        return None if len(calls) % 9 == 0 else measure(candidate)

    result = study.run(failing, 40, workers=1, catch=OSError)
    assert result.steps + result.failures == 40
    assert result.failures >= 10
    hopeless = Study("hopeless", tmp_path / "lab.db", X, seed=0)
    with pytest.raises(InvalidFeedback, match="all failed"):
        hopeless.run(lambda candidate: None, 100)


def test_ctrl_c_ends_a_run_with_the_result_so_far(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)

    def slowly(candidate):
        time.sleep(0.02)
        return measure(candidate)

    def interrupt():
        while study.status().measurements < 10:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    result = study.run(slowly, 100_000, workers=2)
    thread.join()
    assert result.ended == "interrupted"
    assert 10 <= result.steps < 100_000
    study.allow(result.steps + 20)
    assert study.run(measure).ended == "budget"


def test_slow_values_are_stored_one_by_one(tmp_path):
    study, seen = Study("lab", tmp_path / "lab.db", X, seed=0, **{**GIVEN, "noise_std": 10.0}), []

    def slow(candidate):
        seen.append(study.status().measurements)
        time.sleep(1.0)
        return measure(candidate)

    study.run(slow, 4, workers=1)
    assert seen == [0, 1, 2, 3]
    assert [batch.facts.repeats for batch in study.history()] == [4]


def test_quick_values_are_stored_together(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)
    assert study.run(measure, 3_000, workers=2).steps == 3_000
    told = study.storage.patiently(lambda: _rows(study))
    assert told < 1_000
    assert sum(batch.facts.answered for batch in study.history()) == 3_000


def _rows(study):
    with study.storage.read(study.name) as reader:
        return reader.record.told


@pytest.mark.parametrize("workers", [1, 3])
def test_what_is_to_be_spent_is_not_overspent(tmp_path, workers):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, switch_cost=7.0, measurement_cost=2.0, **GIVEN)
    result = study.run(measure, stop=Spent(200.0), workers=workers)
    assert result.ended == "Spent(cost=200.0)"
    assert 200 - 7 - 2 <= result.costs.total <= 200 + (workers - 1) * 7  # side by side, who answers first is not known
    assert study.run(measure, stop=Spent(200.0), workers=workers).steps == result.steps
    more = study.run(measure, stop=Spent(300.0), workers=workers)
    assert result.steps < more.steps


@pytest.mark.parametrize("value", [1.0, None])
def test_what_is_to_be_spent_ends_a_run_that_brings_nothing(tmp_path, value):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)
    with pytest.raises(NothingMeasured):
        study.run(lambda candidate: value, 100, stop=Spent(0.5 if value else 10), workers=1)
    assert study.status().failures == (0 if value else 10)


def test_two_runs_share_what_is_to_be_spent(tmp_path):
    study, total = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN), 30

    def slowly(candidate):
        time.sleep(0.05)
        return measure(candidate)

    def another():
        Study("lab", tmp_path / "lab.db").run(slowly, stop=Spent(total), workers=2)

    threads = [threading.Thread(target=another) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert total - 3 <= study.status().measurements <= total


def not_for_other_processes():
    return lambda candidate: 1.0


@pytest.mark.parametrize(
    ("f", "options"),
    [
        (not_for_other_processes(), {"executor": "processes"}),
        (lambda candidate, repeats: [float("inf")] * repeats, {"vectorized": True}),
        (lambda candidate: 1 / 0, {}),
        (lambda candidate: sys.exit(3), {}),
    ],
    ids=["cannot be sent", "infinite", "raises", "exits"],
)
def test_however_a_run_ends_it_hands_everything_back(tmp_path, f, options):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)
    with pytest.raises(BaseException):  # noqa: B017, PT011
        study.run(f, 30, workers=2, **options)
    assert study.status().in_flight == 0
    assert study.run(measure, 30, workers=2).steps == 30


def test_an_executor_that_was_shut_down(tmp_path):
    study, executor = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN), ThreadPoolExecutor(2)
    executor.shutdown()
    with pytest.raises(RuntimeError, match="shutdown"):
        study.run(measure, 30, executor=executor)
    assert study.status().in_flight == 0


def test_an_error_that_cannot_travel_arrives_in_words(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)
    with pytest.raises(Awkward, match="out of reagent"):  # it need not travel
        study.run(awkwardly, 30, workers=2)
    with pytest.raises(RuntimeError, match="Awkward: out of reagent"):
        study.run(awkwardly, 30, executor="processes", workers=2)
    assert study.status().failures == 0


def test_a_candidate_that_kills_its_worker_fails_alone(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, kernel=RBF(0.02), noise_std=0.3, policy=MiniUCB(C=1.5))
    with pytest.warns(LostWorkers, match="ended 3 times"):
        study.run(kills_its_process_at_one_candidate, 60, executor="processes", workers=2)
    (failed,) = {batch.facts.index for batch in study.history() if batch.facts.failed}
    assert 0.45 < X[failed, 0] < 0.48
    assert study.status().measurements > 50


def test_a_task_that_turns_slow_is_cut_short():
    values, calls = [], []

    def slower(candidate):
        calls.append(candidate)
        time.sleep(0.0 if len(calls) < 5 else 0.1)
        return 1.0

    Measure(slower, False, ())([0.0], 1_000, values, patience=0.3)
    assert 5 <= len(values) <= 10


def test_values_before_one_that_is_refused_are_kept(tmp_path):
    study, calls = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN), []

    def absurd(candidate):
        calls.append(candidate)
        return 1e200 if len(calls) == 30 else measure(candidate)

    with pytest.raises(InvalidFeedback, match=r"1e\+200"):
        study.run(absurd, 100, workers=1)
    assert study.status().measurements == 29


def test_ctrl_c_before_anything_was_measured(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)

    def interrupting(candidate):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.3)
        return

    with pytest.raises(KeyboardInterrupt):
        study.run(interrupting, 100, workers=1)
    assert study.status().in_flight == 0


def test_ctrl_c_waits_for_what_is_under_way_and_a_second_one_does_not(tmp_path, monkeypatch):
    study, calls = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN), []
    said, ended = io.StringIO(), threading.Event()
    monkeypatch.setattr(sys, "stderr", said)

    def interrupted(times):
        os.kill(os.getpid(), signal.SIGINT)
        wait_until(lambda: said.getvalue().count("waiting for 1 task under way") == times)

    def slow(candidate):
        calls.append(candidate)
        if len(calls) == 3:
            interrupted(times=1)
        elif len(calls) == 5:
            interrupted(times=2)
            os.kill(os.getpid(), signal.SIGINT)
            ended.wait(PATIENCE)
        return measure(candidate)

    assert study.run(slow, 100, workers=1).steps == 3
    assert study.run(slow, 100, workers=1).steps == 4  # without the one that is still under way
    ended.set()
    assert study.status().in_flight == 0


def test_rules_and_bad_settings(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)
    with pytest.raises(MissingSetting, match="budget="):
        study.run(measure)
    with pytest.raises(InvalidSetting, match="executor='cloud'"):
        study.run(measure, 10, executor="cloud")
    assert "NoImprovement" in study.run(measure, 5_000, stop=NoImprovement(50)).ended


def test_values_of_a_task_are_stored_before_it_is_over(tmp_path):
    """Quick measurements come many to a task; a crash in the middle of one does not lose them all."""
    study = Study("lab", tmp_path / "lab.db", X, seed=0, kernel=RBF(0.2), noise_std=30.0, policy=MiniUCB(C=1.5))
    stored, waited = threading.Event(), threading.Event()
    calls = []

    def measured(candidate):
        calls.append(1)
        if len(calls) > 3:  # tasks of several repeats begin when it is known how long one takes
            time.sleep(0.01)
        if len(calls) == 30:
            waited.set()
            assert stored.wait(PATIENCE)
        return float(candidate[0])

    def look():
        waited.wait(PATIENCE)
        wait_until(lambda: study.status().measurements == 29)  # all but the one that is under way
        stored.set()

    looking = threading.Thread(target=look)
    looking.start()
    result = study.run(measured, 60, workers=1)
    looking.join()
    assert result.steps == 60
    assert [each.repeat for each in study.measurements() if each.batch == 0] == list(range(len(calls)))[
        : study.history()[0].facts.repeats
    ]
