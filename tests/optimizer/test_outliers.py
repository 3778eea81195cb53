"""Single values that do not fit are named, set aside, and measured again; those that come again are believed."""

import pickle
import warnings

import numpy as np
import pytest

from ostinato import Category, Float, Integer, Optimizer, Space, Study, optimize
from ostinato.errors import SuspiciousMeasurement
from ostinato.kernels import RBF
from sizes import size

X = np.random.default_rng(0).random((300, 2))
TRUTH = 12 + 2 * np.exp(-((X - 0.6) ** 2).sum(axis=1) / 0.1)
pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement")


def run(typo=None, steps=80, seed=0, truth=TRUTH, noise=0.3, factor=10.0, **settings):
    """An optimiser after so many measurements; the value of number `typo` has its point misplaced."""
    opt, rng = Optimizer(X, budget=steps, seed=seed, **settings), np.random.default_rng(seed)
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        y = truth[batch.index] + noise * rng.standard_normal(batch.repeats)
        if typo is not None and opt.steps < typo <= opt.steps + batch.repeats:
            y[typo - opt.steps - 1] *= factor
        opt.tell(batch, y)
    return opt


@pytest.mark.parametrize("typo", [1, 10, 80])
@pytest.mark.parametrize("goal", ["find", "earn"])
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_a_mistyped_value_is_named_and_rules_nothing(typo, goal, direction):
    for seed in range(size(1, 3)):
        opt = run(typo, seed=seed, goal=goal, direction=direction)
        (outlier,) = opt.outliers
        assert outlier.number == typo
        assert outlier.value > 100
        low, high = outlier.expected
        assert 10 < low < high < 16
        assert opt.best().mean < 16
        assert f"measurement {typo}: {outlier.value:.6g}, where " in str(opt.diagnose())
        assert opt.steps == 80


def test_a_value_that_is_too_small_is_named_too():
    assert [each.number for each in run(10, factor=0.1).outliers] == [10]


def test_good_values_are_not_accused():
    assert sum(len(run(seed=seed).outliers) for seed in range(size(5, 10))) == 0


def test_a_lone_value_that_does_not_fit_is_measured_again_next():
    opt = run(steps=30)
    never = next(row for row in range(300) if row not in opt.diagnose().rows)
    opt.observe(never, 130.0)
    with pytest.warns(SuspiciousMeasurement, match="Measurement 31: 130, where"):
        batch = opt.ask()
    assert (batch.index, batch.repeats) == (never, 2)
    assert "measured again to see whether that was a mistake" in str(opt.explain(batch))
    opt.tell(batch, [TRUTH[never], TRUTH[never] + 0.1])
    assert [each.number for each in opt.outliers] == [31]
    assert opt.best().mean < 16


def test_a_warning_shows_names_as_they_were_given():
    opt = Optimizer(Space(solvent=Category("DMSO", "MeCN", "THF"), temp=Integer(20, 40)), seed=0)
    rows = list(range(0, 63, 2))
    opt.observe(rows, [50 + 0.1 * (row % 5) for row in rows])
    opt.observe(1, 500.0)
    with pytest.warns(SuspiciousMeasurement, match="Measurement 33: 500, where .* 'DMSO'"):
        opt.ask()


def test_a_peak_that_is_found_again_is_believed():
    opt = run(steps=30)
    never = next(row for row in range(300) if row not in opt.diagnose().rows)
    opt.observe(never, 130.0)
    assert opt.best().index != never
    opt.tell(opt.ask(), [129.9, 130.2])
    assert opt.outliers == []
    opt.ask()
    assert opt.best().index == never


def test_a_warning_as_an_error_loses_nothing():
    opt = run(steps=30)
    opt.observe(5, 130.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(SuspiciousMeasurement):
            opt.ask()
        assert opt.in_flight == []
        batch = opt.ask()
    opt.tell(batch, [TRUTH[batch.index]] * batch.repeats)
    assert opt.steps == 31 + batch.repeats


def test_two_mistakes_in_one_batch_are_both_named():
    opt = run(steps=40)
    opt.observe(4, [TRUTH[4], TRUTH[4] + 0.1, 125.0, 131.0, TRUTH[4] - 0.1])
    assert sorted(each.number for each in opt.outliers) == [43, 44]


def test_a_lone_value_far_above_all_others_is_not_recommended():
    """Where values range widely, a mistyped first value is no further off than they range."""
    x = np.stack(np.meshgrid(np.arange(20, 80.1, 2.5), np.arange(4, 9.1, 0.25)), axis=-1).reshape(-1, 2)
    truth = 70 - (x[:, 0] - 55) ** 2 / 20 - 4 * (x[:, 1] - 6.5) ** 2
    for seed in range(12, 18):
        opt, rng = Optimizer(x, seed=seed), np.random.default_rng(seed)
        while opt.steps < 100:
            batch = opt.ask(limit=100 - opt.steps)
            y = truth[batch.index] + 5 * rng.standard_normal(batch.repeats)
            if opt.steps == 0:
                y[0] += 120
            opt.tell(batch, y)
        assert opt.best().mean < 90


@pytest.mark.parametrize("factor", [-1.0, 0.1])
def test_what_contradicts_its_own_repeats_does_not_count(factor):
    for seed in range(3):
        opt = run(seed=seed, steps=40)
        row = opt.best().index
        opt.observe(row, [factor * TRUTH[row]])
        assert [each.number for each in opt.outliers] == [41]
        opt.ask()
        assert opt.best().mean > 12


def test_where_kernel_and_noise_are_given_values_are_named_and_counted_as_they_are():
    opt = Optimizer(X, kernel=RBF(0.3), noise_std=0.3, mean=13.0, seed=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in range(20):
            opt.observe(row, [TRUTH[row]] * 5)
        opt.observe(3, [130.0])
    assert [each.number for each in opt.outliers] == [101]
    assert opt.best().index == 3


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_poor_values_of_a_function_without_noise_are_not_accused(direction):
    """What is learned for choosing looks away from how poor the poor ones are; a corner of the space is poor."""
    sign = 1 if direction == "maximize" else -1
    space = Space(x=Float(0, 1), y=Float(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error", SuspiciousMeasurement)
        for seed in (3, 8, 9, 12, 13, 17):
            hill = lambda at: -sign * ((at["x"] - 0.3) ** 2 + (at["y"] - 0.7) ** 2)  # noqa: E731
            optimize(hill, space, budget=40, seed=seed, direction=direction)


def test_the_result_of_a_run_names_it():
    rng, calls = np.random.default_rng(0), iter(range(100))

    def f(x):
        y = 12 - ((x - 0.6) ** 2).sum() + 0.1 * rng.standard_normal()
        return 10 * y if next(calls) == 12 else y

    result = optimize(f, X, budget=60, seed=0, progress=False)
    assert "outlier     measurement 13: 1" in str(result)


def test_a_study_names_it_wherever_it_is_opened(any_address):
    study = Study("typed", any_address, X, budget=60, seed=0)
    mirror, rng = Optimizer(X, budget=60, seed=0), np.random.default_rng(0)
    while (task := study.ask()) is not None:
        batch = mirror.ask(limit=60 - mirror.steps)
        assert (task.index, task.repeats) == (batch.index, batch.repeats)
        y = TRUTH[task.index] + 0.3 * rng.standard_normal(task.repeats)
        if mirror.steps < 20 <= mirror.steps + task.repeats:
            y[0] *= 10
        study.tell(task, y)
        mirror.tell(batch, y)
        if task.batch % 3 == 0:
            study = Study("typed", any_address)  # as another process does
    expected = [(each.number, each.value) for each in mirror.outliers]
    assert len(expected) == 1
    assert [(each.number, each.value) for each in study.status().outliers] == expected
    assert f"outlier     measurement {expected[0][0]}: " in str(study.status())
    assert study.best().mean == pytest.approx(mirror.best().mean)
    study.storage.close()


def test_what_was_set_aside_survives_a_pickle():
    opt = run(10)
    again = pickle.loads(pickle.dumps(opt))
    assert [each.number for each in again.outliers] == [10]
    assert again.ask().index == opt.ask().index
