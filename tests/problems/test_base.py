"""A problem knows its truth: regret is exact, and measurements scatter around it."""

import pickle

import numpy as np
import pandas as pd
import pytest

from ostinato import Category, Integer, Optimizer, Space
from ostinato.errors import InvalidCandidates, InvalidSetting, UnknownCandidate
from ostinato.kernels import RBF, Matern52
from ostinato.problems import Gaussian, Problem, standardised

X = np.asarray([[0.0], [1.0], [2.0], [3.0]])
TRUTH = [1.0, 4.0, 2.0, 4.0]


def mine(**changes):
    return Problem(**{"name": "mine", "candidates": X, "truth": TRUTH, "noise": Gaussian(0.5), **changes})


def test_a_problem_of_ones_own_takes_a_line():
    problem = mine()
    assert (problem.size, problem.columns, problem.optimum, problem.noise_std) == (4, 1, 1, 0.5)
    assert problem.regrets.tolist() == [3, 0, 2, 0]
    assert problem.kernel(2.0).diag(X).tolist() == [1, 1, 1, 1]
    assert "4 candidates" in repr(problem)


def test_measurements_scatter_around_the_truth():
    values = mine().measure(2, 100_000, np.random.default_rng(0))
    assert values.shape == (100_000,)
    assert np.mean(values) == pytest.approx(2.0, abs=0.01)
    assert np.std(values) == pytest.approx(0.5, abs=0.01)


def test_the_told_noise_is_that_of_the_90th_percentile():
    problem = mine(candidates=np.arange(11.0)[:, None], truth=np.zeros(11), noise=Gaussian(np.arange(11.0)))
    assert problem.noise_std == 9.0
    assert np.std(problem.measure(4, 50_000, np.random.default_rng(0))) == pytest.approx(4, rel=0.02)
    assert problem.measure(0, 3, np.random.default_rng(0)).tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("candidates", "columns"),
    [
        (Space(n=Integer(1, 2), solvent=Category("water", "oil")), 2),
        (pd.DataFrame({"a": [1, 2, 3, 4], "b": list("wxyz"), "c": [0, 0, 1, 1]}), 3),
        ([[1, 2], [3, 4], [5, 6], [7, 8]], 2),
        (np.arange(4.0), 1),
    ],
)
def test_candidates_are_what_the_optimiser_accepts(candidates, columns):
    assert mine(candidates=candidates).columns == columns


def test_an_optimiser_runs_on_it():
    problem, rng = mine(kernel=Matern52), np.random.default_rng(0)
    opt = Optimizer(problem.candidates, kernel=problem.kernel(1.0), noise_std=problem.noise_std, mean=2.0, seed=0)
    while opt.steps < 200:
        batch = opt.ask(limit=200 - opt.steps)
        opt.tell(batch, problem.measure(batch.index, batch.repeats, rng))
    assert problem.regrets[opt.best().index] == 0


def test_the_truth_cannot_be_changed_and_is_the_problems_own():
    rewards = np.asarray(TRUTH)
    problem = mine(truth=rewards)
    rewards[0] = 99
    assert problem.truth[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        problem.truth[0] = 99


def test_problems_can_be_pickled():
    problem = mine()
    again = pickle.loads(pickle.dumps(problem))
    assert np.array_equal(
        again.measure(1, 3, np.random.default_rng(5)), problem.measure(1, 3, np.random.default_rng(5))
    )


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"truth": [1.0, 2.0]}, InvalidSetting, "2 rewards for 4 candidates"),
        ({"truth": [1.0, 2.0, np.nan, 0.0]}, InvalidSetting, r"truth\[2\]=nan"),
        ({"truth": [[1.0], [2.0]]}, InvalidSetting, "shape"),
        ({"truth": []}, InvalidSetting, "shape"),
        ({"candidates": np.zeros((2, 2, 2))}, InvalidCandidates, "2-D array"),
        ({"noise": Gaussian([1.0, 2.0])}, InvalidSetting, "one for every candidate"),
        ({"lengthscales": ()}, InvalidSetting, "at least one"),
        ({"lengthscales": (1.0, -1.0)}, InvalidSetting, "lengthscales=-1.0"),
    ],
)
def test_what_cannot_be_a_problem_is_refused(changes, error, message):
    with pytest.raises(error, match=message):
        mine(**changes)


def test_only_its_candidates_can_be_measured():
    for index in (-1, 4):
        with pytest.raises(UnknownCandidate, match="rows are 0 to 3"):
            mine().measure(index, 1, np.random.default_rng(0))
    with pytest.raises(InvalidSetting, match="repeats=0"):
        mine().measure(0, 0, np.random.default_rng(0))


def test_standardised_values_have_mean_0_and_std_1():
    assert standardised([1.0, 3.0]).tolist() == [-1, 1]
    with pytest.raises(InvalidSetting, match="no scale"):
        standardised([2.0, 2.0])


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"noise": 0.5}, r"noise=0.5 is not a noise law"),
        ({"kernel": RBF(1.0)}, "length-scale already"),
        ({"truth": lambda x: x}, "truth is a function"),
    ],
)
def test_parts_that_are_easily_mistaken_are_told(part, message):
    parts = {"candidates": [[0.0], [1.0]], "truth": [0.0, 1.0], "noise": Gaussian(0.1)}
    with pytest.raises(InvalidSetting, match=message):
        Problem("mine", **(parts | part))
