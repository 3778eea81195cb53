"""`study.run`: where it runs does not matter, and what goes wrong loses nothing."""

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from ostinato import MiniUCB
from ostinato.errors import Failed, InvalidFeedback, InvalidSetting, LongMeasurements, MissingSetting
from ostinato.kernels import RBF
from ostinato.stopping import NoImprovement, Spent
from ostinato.study import Study

X = np.linspace(0, 1, 40)[:, None]
GIVEN = {"kernel": RBF(0.2), "noise_std": 0.3, "policy": MiniUCB(C=1.5)}


def measure(candidate):
    return float(np.sin(4 * candidate[0]) + 0.3 * np.random.default_rng().standard_normal())


def kills_its_process_once(candidate):
    flag = os.environ["OSTINATO_TEST_FLAG"]
    if not os.path.exists(flag):  # noqa: PTH110
        with open(flag, "w"):  # noqa: PTH123
            os._exit(1)
    return measure(candidate)


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


def test_a_lease_that_is_too_short_is_remarked_on(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, lease=0.01, **GIVEN)

    def slow(candidate):
        time.sleep(0.05)
        return measure(candidate)

    with pytest.warns(LongMeasurements, match="longer lease") as remarks:
        assert study.run(slow, 5, workers=1).steps == 5
    assert len(remarks) == 1


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


def test_rules_and_bad_settings(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, seed=0, **GIVEN)
    with pytest.raises(MissingSetting, match="budget="):
        study.run(measure)
    with pytest.raises(InvalidSetting, match="executor='cloud'"):
        study.run(measure, 10, executor="cloud")
    assert "NoImprovement" in study.run(measure, 5_000, stop=NoImprovement(50)).ended
