"""The data of figures say what the facts say."""

import msgspec
import numpy as np
import pytest

import scenarios
from ostinato import Category, Float, Optimizer, Space, Study
from ostinato.errors import InvalidSetting
from ostinato.plots import data, report

NAMES = ["progress", "measurements", "posterior", "parallel", "batches", "noise", "calibration"]


@pytest.fixture(scope="module")
def ordinary():
    return scenarios.ordinary()


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """A study, with an observation, a failure and a measurement that was taken back."""
    path, rng = tmp_path_factory.mktemp("lab") / "lab.db", np.random.default_rng(0)
    study = Study("lab", path, scenarios.grid(), budget=40, seed=1)
    study.observe({"temp": 40, "ph": 7}, [4.0, 5.0])
    while (task := study.ask()) is not None:
        values = [scenarios.hill(task.candidate) + rng.normal() for _ in range(task.repeats)]
        study.tell(task, values if study.numbered != 5 else [None] * task.repeats)
    study.retract(number=1)
    return study


def test_progress_is_what_an_optimiser_says_that_knows_nothing_of_later(ordinary):
    series = data.progress(ordinary, moments=6)
    assert [each.measurements for each in series.moments][-1] == 150
    assert len(series.moments) <= 6
    middle = series.moments[2]
    fresh, told = Optimizer(scenarios.grid(), seed=1, switch_cost=3.0), 0
    for batch in data.batches(ordinary).bars:
        frame = ordinary.to_frame("polars")
        if told < middle.measurements:
            rows = frame.filter((frame["number"] > batch.start) & (frame["number"] <= batch.start + batch.length))
            fresh.observe(batch.index, rows["value"].to_numpy())
            told += batch.length
    assert told == middle.measurements
    best = fresh.best()
    assert middle.index == best.index
    assert middle.mean == pytest.approx(best.mean, rel=1e-3)
    assert (middle.low, middle.high) == pytest.approx(best.interval, rel=2e-2)


def test_the_last_moment_is_the_answer_of_now(ordinary, study):
    for what, best in ((ordinary, ordinary.best()), (study, study.best())):
        last = data.progress(what, moments=2).moments[-1]
        assert (last.index, last.n) == (best.index, best.n)
        assert (last.mean, last.low, last.high) == pytest.approx((best.mean, *best.interval))


def test_every_repeat_of_a_candidate_is_shown(ordinary, study):
    series = data.measurements(ordinary)
    counts = ordinary.counts()
    for row in series.rows:
        assert row.n == counts[row.index] == len(row.values)
        assert row.average == pytest.approx(np.mean(row.values))
        assert row.low < row.mean < row.high
    assert series.others == len(counts) - len(series.rows)
    assert [row.best for row in series.rows] == [True] + [False] * (len(series.rows) - 1)
    best = ordinary.best()
    assert (series.rows[0].index, series.rows[0].low, series.rows[0].high) == (best.index, *best.interval)
    shown = {row.index: row for row in data.measurements(study, most=100).rows}
    assert shown[study.index({"temp": 40, "ph": 7})].values[0] == 5.0, "what was taken back is not there"
    assert sum(len(row.values) for row in shown.values()) == study.status().measurements
    assert sum(row.failed for row in shown.values()) == study.status().failures > 0


def test_of_very_many_values_some_are_shown():
    opt = Optimizer(np.arange(3.0)[:, None], seed=1)
    opt.observe(0, np.linspace(0, 1, 5000))
    (row,) = data.measurements(opt).rows
    assert row.n == 5000
    assert len(row.values) == 200
    assert (row.values[0], row.values[-1], row.average) == pytest.approx((0, 1, 0.5))


def test_averages_are_shown_as_averages():
    rows = data.measurements(scenarios.averages_only()).rows
    assert {(row.averages[0].count, row.averages[0].std, row.average) for row in rows} == {
        (20, 2.0, 20.0), (21, 2.0, 3.0), (22, 2.0, 23.0),
    }  # fmt: skip
    assert not any(row.values for row in rows)


def test_the_posterior_along_a_column_is_what_predict_says(ordinary):
    series, best = data.posterior(ordinary, ["temp"]), ordinary.best()
    assert series.index == best.index
    assert (series.axes[0].name, series.x[0], series.x[-1]) == ("temp", 20, 80)
    wanted = ordinary.predict([{"temp": x + 1e-9, "ph": best.candidate["ph"]} for x in series.x])
    assert series.mean == pytest.approx(wanted.mean, abs=1e-3)
    assert series.low == pytest.approx(wanted.interval()[0], abs=1e-2)
    on = [dot for dot in series.dots if dot.on_slice]
    assert on
    assert all(ordinary.core.problem.table[dot.index]["ph"] == best.candidate["ph"] for dot in on)
    assert len(series.dots) == ordinary.unique


def test_the_posterior_over_two_columns(ordinary):
    series = data.posterior(ordinary, ["ph", "temp"])
    assert len(series.mean) == len(series.x) * len(series.y)
    at = ordinary.predict([{"ph": series.x[3] + 1e-9, "temp": series.y[7] + 1e-9}])
    assert series.mean[7 * len(series.x) + 3] == pytest.approx(at.mean[0], abs=1e-3)
    assert all(dot.on_slice for dot in series.dots), "there are no other columns"


def test_conditional_columns_and_categories():
    opt = scenarios.conditional()
    along = data.posterior(opt, ["momentum"])
    assert along.through["solver"] == "sgd"
    over = data.posterior(opt, ["solver"])
    assert over.axes[0].levels == ("adam", "sgd")
    assert len(over.mean) == 2
    assert over.mean[1] > over.mean[0]
    assert over.note.startswith("Through the best candidate (rate ")
    assert over.note.endswith("). momentum: of the best measured candidate of each solver.")
    assert "momentum" in data.posterior(opt, ["rate"]).note.partition(")")[0]
    assert data.posterior(opt, ["rate"]).axes[0].log


def test_a_column_that_no_measured_candidate_has():
    space = Space(solver=Category("adam", "sgd"), momentum=Float(0, 1).when(solver="sgd"))
    opt = Optimizer(space, seed=1)
    opt.observe({"solver": "adam", "momentum": None}, [1.0])
    assert data.posterior(opt, ["momentum"]).missing == "No measured candidate has a value for momentum."


def test_columns_that_there_are_not(ordinary):
    with pytest.raises(InvalidSetting, match="'tmp' is not a column of the candidates: give one of temp, ph"):
        data.posterior(ordinary, ["tmp"])
    with pytest.raises(InvalidSetting, match="one column, or two"):
        data.posterior(ordinary, ["temp", "temp"])
    assert data.posterior(scenarios.one_candidate(), [1]).axes[0].name == "column 1"


def test_batches_switches_and_costs_add_up(ordinary, study):
    series = data.batches(ordinary)
    assert series.bars[-1].switches == ordinary.switches
    assert series.bars[-1].cost == pytest.approx(ordinary.costs.total)
    assert series.costly
    assert sum(bar.length for bar in series.bars) == ordinary.steps
    stored = data.batches(study)
    assert stored.bars[-1].switches == study.status().switches
    assert [bar.observed for bar in stored.bars] == [True] + [False] * (len(stored.bars) - 1)
    assert not stored.costly


def test_noise_is_the_scatter_of_repeats():
    opt = Optimizer(np.arange(4.0)[:, None], seed=1)
    opt.observe(0, [1.0, 3.0])
    opt.observe(0, [11.0, 13.0])  # another batch: only what scatters within one is noise
    opt.observe(1, [2.0])
    (row,) = data.noise(opt).rows
    assert (row.index, row.n, row.average, row.std) == pytest.approx((0, 4, 7.0, np.sqrt(2)))
    assert row.low < row.std < row.high
    assert row.model == pytest.approx(opt.learned.noise_std[0], rel=0.5)


def test_calibration_is_what_answers_said_before_each_batch():
    table, rng = np.linspace(0, 1, 20)[:, None], np.random.default_rng(0)
    opt, told = Optimizer(table, seed=1), []
    for _ in range(25):
        batch = opt.ask()
        told.append((batch.index, np.sin(5 * batch.candidate[0]) + 0.2 * rng.standard_normal(batch.repeats)))
        opt.tell(batch, told[-1][1])
    series = data.calibration(opt)
    assert len(series.residuals) == 20, "all batches but those of the first five candidates"
    fresh = Optimizer(table, seed=1)
    for index, values in told[:-1]:
        fresh.observe(index, values)
    (index, values), last = told[-1], series.residuals[-1]
    predicted = fresh.predict(table[[index]])
    assert (last.index, last.average) == (index, pytest.approx(np.mean(values)))
    assert last.predicted == pytest.approx(predicted.mean[0], rel=1e-3)
    noise = fresh.diagnose().learned.noise_std[0] / len(values) ** 0.5
    assert last.std == pytest.approx(np.hypot(predicted.std[0], noise), rel=1e-2), "as wide as answers are"
    half = next(each for each in series.shares if each.level == 0.5)
    assert half.held == pytest.approx(np.mean([abs(each.z) <= 0.6745 for each in series.residuals]))
    assert half.low < 0.5 < half.high


def test_why_there_is_no_calibration():
    same = Optimizer(np.arange(9.0)[:, None], seed=1)
    for row in range(9):
        same.observe(row, [5.0])
    assert data.calibration(same).missing == "All values so far are the same: there is nothing to predict."
    assert "All 4 measurements failed" in data.calibration(scenarios.all_failed()).missing
    early = data.calibration(scenarios.one_measurement()).missing
    assert early == "Calibration needs 5 batches after the first 5 different candidates: there are 0 so far."


def test_calibration_and_progress_of_a_study_are_those_of_its_facts(study):
    assert len(data.calibration(study).residuals) >= 5
    status = study.status()
    assert data.progress(study, moments=3).moments[-1].measurements == status.measurements + status.failures


def test_retired_candidates_are_left_out_and_counted(tmp_path):
    """At all moments, and in a study that is opened anew as well; notes say so, and the report says it like status."""
    study, rng = Study("lab", tmp_path / "lab.db", scenarios.grid(), budget=40, seed=1), np.random.default_rng(0)
    retired = None
    while (task := study.ask(limit=1)) is not None:
        study.tell(task, [scenarios.hill(task.candidate) + rng.normal()])
        if retired is None and study.status().measurements >= 20:
            retired = [index for index in study.counts() if index % 2 == study.best().index % 2]
            study.retire(retired)
    again, memory = Study("lab", tmp_path / "lab.db"), study.looked(lambda optimizer: optimizer)
    for what in (study, again, memory):
        series = data.progress(what, moments=8)
        assert "retired now are left out" in series.note
        assert series.moments
        assert not {each.index for each in series.moments} & set(retired)
        assert series.moments[-1].index == study.best().index
        gone = len(set(study.counts()) & set(retired))
        for figure in (data.measurements(what), data.parallel(what)):
            assert f"{gone} more were measured, and are retired." in figure.note
    sentence = f"{study.status().candidates} candidates to choose from, {len(retired)} more retired"
    assert sentence in str(study.status())
    assert sentence in report(study)
    assert sentence in memory._repr_html_()


def test_lines_of_the_parallel_view_are_ranked(ordinary):
    series = data.parallel(ordinary)
    assert [line.rank for line in series.lines] == list(range(1, ordinary.unique + 1))
    assert series.lines[0].index == ordinary.best().index
    assert all(0 <= at <= 1 for line in series.lines for at in line.at)
    temp = series.lines[0].candidate["temp"]
    assert series.lines[0].at[0] == pytest.approx((temp - 20) / 60)


@pytest.mark.parametrize("make", scenarios.SMALL, ids=lambda make: make.__name__)
def test_all_of_it_is_json_and_says_what_is_missing(make):
    opt = make()
    for name in NAMES:
        more = {"moments": 3} if name == "progress" else {}
        series = getattr(data, name)(opt, **more)
        assert msgspec.json.decode(msgspec.json.encode(series))["missing"] == series.missing
        drawn = any(getattr(series, part, ()) for part in ("moments", "rows", "mean", "lines", "bars", "residuals"))
        assert drawn != bool(series.missing), f"{name}: {series.missing}"


def test_looking_changes_nothing():
    opt, other = scenarios.minimized(), scenarios.minimized()
    for name in NAMES:
        getattr(data, name)(opt)
    assert (opt.ask().index, opt.best().mean) == (other.ask().index, other.best().mean)
