"""robust=True in a study: as in memory, wherever it is opened, and after corrections."""

import numpy as np
import pytest

from ostinato import Optimizer, Study

X = np.linspace(0, 1, 30)[:, None]
TRUTH = np.sin(6 * X[:, 0])


def value(rng, index):
    wild = rng.random() < 0.15
    return float(TRUTH[index] + 0.2 * rng.standard_normal() + (rng.choice([-8.0, 8.0]) if wild else 0.0))


def estimates(opt):
    return opt.predict().mean


@pytest.mark.parametrize("reopened", [False, True])
def test_a_study_decides_and_answers_as_an_optimiser_in_memory(any_address, reopened):
    opt, rng = Optimizer(X, robust=True, seed=0, budget=40), np.random.default_rng(0)
    study = Study("lab", any_address, X, robust=True, seed=0, budget=40)
    while opt.steps < 40:
        batch, task = opt.ask(), study.ask()
        assert (task.index, task.repeats) == (batch.index, batch.repeats)
        values = [value(rng, batch.index) for _ in range(batch.repeats)]
        opt.tell(batch, values)
        study.tell(task, values)
        if reopened:
            study = Study("lab", any_address)
    assert estimates(study.optimizer) == pytest.approx(estimates(opt), rel=1e-9)
    assert study.best().index == opt.best().index


def test_observations_count_less_too(any_address):
    opt, study = Optimizer(X, robust=True, seed=0), Study("lab", any_address, X, robust=True, seed=0)
    rng = np.random.default_rng(1)
    for index in range(0, 30, 2):
        told = [float(TRUTH[index] + 0.1 * rng.standard_normal())]
        opt.observe(index, told)
        study.observe(index, told)
    opt.observe(5, [100.0])
    study.observe(5, [100.0])
    assert estimates(study.optimizer) == pytest.approx(estimates(opt), rel=1e-9)
    assert opt.predict().mean[5] < 20
    assert opt.best().mean < 20


def test_a_value_that_is_taken_back_was_never_told(any_address, tmp_path):
    rng = np.random.default_rng(2)
    wrong, right = (
        Study("wrong", any_address, X, robust=True, seed=0),
        Study("right", any_address, X, robust=True, seed=0),
    )
    for index in range(0, 30, 2):
        values = [value(rng, index), value(rng, index)]
        wrong.observe(index, [*values, 500.0])
        right.observe(index, values)
    for number in range(3, 46, 3):
        wrong.retract(number=number)
    assert estimates(wrong.optimizer) == pytest.approx(estimates(right.optimizer), rel=1e-9)


def test_what_was_expected_is_kept_with_the_batch(address):
    """Another process, at another moment, limits a late answer by what was expected when its batch was decided."""
    study, rng = Study("lab", address, X, robust=True, seed=0), np.random.default_rng(3)
    for _ in range(15):
        task = study.ask()
        study.tell(task, [value(rng, task.index) for _ in range(task.repeats)])
    late = study.ask()
    for _ in range(5):
        task = study.ask()
        study.tell(task, [value(rng, task.index) for _ in range(task.repeats)])
    study.tell(late, [1000.0] * late.repeats)
    here, there = estimates(study.optimizer), estimates(Study("lab", address).optimizer)
    assert there == pytest.approx(here, rel=1e-9)
    assert np.abs(here).max() < 50
