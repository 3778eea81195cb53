"""Runs in a real store of MLflow."""

import csv
import random
from pathlib import Path

import pytest

import ostinato
from libraries import needed
from ostinato import Float, Space, Study
from ostinato.errors import Failed, InvalidSetting

needed("mlflow")
pytestmark = pytest.mark.filterwarnings("ignore")  # MLflow has some of its own

import mlflow  # noqa: E402
from mlflow.tracking import MlflowClient  # noqa: E402

from ostinato.integrations.mlflow import log_to_mlflow  # noqa: E402

SPACE = Space(temp=Float(20, 80, step=10), ph=Float(4, 9, step=1))


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """An empty store: making its tables takes longer than all else."""
    path = tmp_path_factory.mktemp("mlflow") / "empty.db"
    MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture
def store(template, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlflow.db").write_bytes(template.read_bytes())
    address = f"sqlite:///{tmp_path}/mlflow.db"
    mlflow.set_tracking_uri(address)
    return MlflowClient(address)


def measure(candidate):
    if candidate["temp"] == 20:
        raise Failed("too cold")
    return 70 - (candidate["temp"] - 50) ** 2 / 20 - 4 * (candidate["ph"] - 6) ** 2 + random.gauss(0, 2)


def optimised(log, budget=50, **settings):
    random.seed(0)
    told = []

    def noted(candidate):
        value = measure(candidate)
        told.append(value)
        return value

    result = ostinato.optimize(noted, SPACE, budget=budget, seed=0, progress=False, **settings, **log)
    return result, told


def test_every_value_the_recommendation_and_the_answer(store):
    with log_to_mlflow("reaction", experiment="lab", tags={"who": "me"}) as log:
        result, told = optimised(log)
        assert store.get_run(log.run_id).info.status == "RUNNING"
        log.answer(result)
    run = store.get_run(log.run_id)
    assert (run.info.status, run.info.run_name, run.data.tags["who"]) == ("FINISHED", "reaction", "me")
    values = store.get_metric_history(log.run_id, "value")
    assert [each.value for each in sorted(values, key=lambda each: each.step)] == told
    assert sorted(each.step for each in values) == list(range(1, len(told) + 1))
    best = result.best
    low, high = best.interval
    for name, value in (("mean", best.mean), ("low", low), ("high", high), ("n", best.n), ("within", best.within)):
        assert run.data.metrics[f"best.{name}"] == pytest.approx(value)
    assert len(store.get_metric_history(log.run_id, "best.mean")) >= 2  # as it changed, and at the end
    assert run.data.metrics["measurements"] == len(told) == result.steps
    assert run.data.metrics.get("failed", 0) == result.failures
    for name, value in {"goal": "find", "budget": "50", "seed": "0", "direction": "maximize"}.items():
        assert run.data.params[name] == value
    assert run.data.tags["best.temp"] == str(best.candidate["temp"])
    assert run.data.tags["ostinato.best"] == str(best)
    assert run.data.tags["ostinato.ended"] == "budget"


def test_columns_with_any_name_and_answers_that_change(store):
    space = Space({"T (°C)": Float(0, 1, step=0.1), "candidate": Float(0, 1, step=0.5)})
    with log_to_mlflow(experiment="lab") as log:
        result = ostinato.optimize(lambda c: c["T (°C)"], space, budget=9, seed=0, noise_std=0.1, progress=False, **log)
        log.answer(result)
        result.optimizer.observe({"T (°C)": 0.0, "candidate": 0.0}, [9.0] * 5)
        log.answer(result.optimizer)
    assert store.get_run(log.run_id).data.tags["best.T __C_"] == "0.0"


def test_each_candidate_has_a_run_of_its_own(store):
    with log_to_mlflow(experiment="lab") as log:
        result, told = optimised(log)
    experiment = store.get_experiment_by_name("lab").experiment_id
    below = store.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{log.run_id}'")
    measured = [run for run in below if "value" in run.data.metrics]
    assert len(measured) == result.unique
    assert sum(len(store.get_metric_history(run.info.run_id, "value")) for run in measured) == len(told)
    frame = result.to_frame("polars")
    for run in measured:
        own = frame.filter(
            (frame["temp"] == float(run.data.params["temp"])) & (frame["ph"] == float(run.data.params["ph"]))
        )
        assert run.data.metrics["mean"] == pytest.approx(own["value"].mean())
        assert run.info.status == "FINISHED"


def test_files_of_the_answer(store, tmp_path):
    with log_to_mlflow(experiment="lab", candidates=False) as log:
        result, told = optimised(log)
        log.answer(result)
    (tmp_path / "fetched").mkdir()
    fetched = Path(store.download_artifacts(log.run_id, "", str(tmp_path / "fetched")))
    assert (fetched / "answer.txt").read_text() == str(result)
    with (fetched / "measurements.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["value"]) for row in rows if row["value"]] == pytest.approx(told)
    experiment = store.get_experiment_by_name("lab").experiment_id
    assert len(store.search_runs([experiment])) == 1


def test_a_study(store, tmp_path):
    study = Study("reaction", tmp_path / "lab.db", SPACE, budget=30, seed=0)
    with log_to_mlflow(experiment="lab") as log:
        study.run(measure, progress=False, **log)
        log.answer(study)
    run = store.get_run(log.run_id)
    assert len(store.get_metric_history(log.run_id, "value")) == study.optimizer.steps
    assert run.data.metrics["best.mean"] == pytest.approx(study.best().mean)
    assert run.data.tags["best.ph"] == str(study.best().candidate["ph"])


def test_below_a_run_that_is_active(store):
    mlflow.set_experiment("whole")
    with mlflow.start_run() as above, log_to_mlflow() as log:
        optimised(log, 5)
    run = store.get_run(log.run_id)
    assert run.data.tags["mlflow.parentRunId"] == above.info.run_id
    assert run.info.experiment_id == above.info.experiment_id


def test_a_run_that_breaks_is_marked(store):
    def broken(candidate):
        raise RuntimeError("the reactor leaked")

    log = log_to_mlflow(experiment="lab")
    with pytest.raises(RuntimeError, match="leaked"), log:
        ostinato.optimize(broken, SPACE, budget=5, seed=0, progress=False, **log)
    assert store.get_run(log.run_id).info.status == "FAILED"


def test_candidates_without_names_and_other_answers(store):
    with log_to_mlflow() as log:
        result = ostinato.optimize(
            lambda x: float(-x[0]), [[1.0, 2.0], [3.0, 4.0]], budget=6, seed=0, progress=False, **log
        )
        log.answer(result.optimizer)
    run = store.get_run(log.run_id)
    assert run.data.tags["best.x0"] == "1.0"
    assert store.get_experiment(run.info.experiment_id).name == "ostinato"
    with pytest.raises(InvalidSetting, match="give a result"):
        log.answer("done")
