"""Scores are the formulas, and log EI is right where EI itself has long underflowed."""

import array_api_strict
import mpmath as mp
import numpy as np
import pytest

from ostinato.arrays import from_numpy, to_numpy
from ostinato.policies.acquisition import improvement_slope, log_expected_improvement, log_h
from ostinato.policies.ucb import UpperBound

Z = [3.0, 1.0, 0.0, -0.5, -0.999, -1.0, -1.001, -7.0, -30.0, -49.9, -50.0, -50.1, -1e3, -1e6, -1e100]


def exact_log_h(z):
    with mp.workdps(60):
        z = mp.mpf(z)
        if z < -1e5:  # the tail's own series, where even sixty digits cancel
            return float(-z * z / 2 - mp.log(2 * mp.pi) / 2 - 2 * mp.log(-z))
        with mp.workdps(60 + int(abs(float(z)) ** 0.5)):
            return float(mp.log(z * mp.ncdf(z) + mp.npdf(z)))


@pytest.mark.parametrize("z", Z)
def test_log_h_to_full_precision(z):
    assert log_h(np, np.array([z]))[0] == pytest.approx(exact_log_h(z), rel=1e-12)


@pytest.mark.parametrize("z", [2.0, 0.0, -3.0, -24.9, -25.1, -200.0])
def test_slope_of_log_h(z):
    step = 1e-5
    slope = (exact_log_h(z + step) - exact_log_h(z - step)) / (2 * step)
    assert improvement_slope(z) == pytest.approx(slope, rel=1e-4)


def test_expected_improvement_is_the_expectation_of_the_improvement():
    rng = np.random.default_rng(0)
    mean, variance, beta, top = np.array([0.3, -0.2, 1.0]), np.array([0.5, 2.0, 0.01]), 1.5, 1.0
    draws = mean + beta * np.sqrt(variance) * rng.standard_normal((1_000_000, 3))
    expected = np.maximum(draws - top, 0).mean(axis=0)
    assert np.exp(log_expected_improvement(mean, variance, beta, top, 1.0)) == pytest.approx(expected, rel=0.01)


def test_expected_improvement_prefers_the_higher_mean_where_all_is_known():
    scores = log_expected_improvement(np.array([0.5, 1.0, 0.9]), np.zeros(3), 1.0, 1.0, 1.0)
    assert np.isfinite(scores).all()
    assert scores.argsort().tolist() == [0, 2, 1]


@pytest.mark.parametrize("score", [UpperBound(None, 2.0), lambda m, v: log_expected_improvement(m, v, 1.0, 1.0, 1.0)])
def test_scores_are_the_same_in_the_array_api(score):
    mean, variance = np.array([0.3, -0.2, 1.0]), np.array([0.5, 2.0, 0.01])
    strict = score(from_numpy(array_api_strict, mean), from_numpy(array_api_strict, variance))
    assert to_numpy(strict) == pytest.approx(score(mean, variance))
