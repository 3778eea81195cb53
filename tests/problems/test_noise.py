"""Noise laws have the spread that they say."""

import numpy as np
import pytest

from ostinato.errors import InvalidSetting
from ostinato.problems import Gaussian, Multiplicative, Stored
from ostinato.problems.noise import SHIFT

MANY = 200_000


def rng():
    return np.random.default_rng(0)


def test_gaussian_noise_is_of_one_level_or_of_one_a_candidate():
    assert Gaussian(2.0).std(np.zeros(3)).tolist() == [2, 2, 2]
    each = Gaussian([0.0, 1.0])
    assert each.std(np.zeros(2)).tolist() == [0, 1]
    assert each.sample(0, 7.0, 2, rng()).tolist() == [7, 7]


@pytest.mark.parametrize("level", [-1, np.nan, "much", [1.0, -1.0], [[1.0]]])
def test_levels_are_not_negative(level):
    with pytest.raises((InvalidSetting, ValueError)):
        Gaussian(level)


@pytest.mark.parametrize(("beta", "bias"), [(0.01, 1.00005), (0.5, np.exp(0.125))])
def test_multiplicative_noise_grows_with_the_loss(beta, bias):
    law = Multiplicative(beta, centre=10.0, scale=5.0)
    truth = np.asarray([2.0, 1.0, -2.0])  # losses 0, 5 and 20
    stds = law.std(truth)
    assert stds[0] == 0
    assert stds[2] == pytest.approx(4 * stds[1])
    values = law.sample(2, -2.0, MANY, rng())
    assert np.mean(values) == pytest.approx((10 - 20 * bias) / 5, rel=3e-3)
    assert np.std(values) == pytest.approx(stds[2], rel=0.02)


def test_multiplicative_noise_is_coco_law():
    z = np.random.default_rng(3).standard_normal(4)
    noisy = Multiplicative(1.0, centre=10.0, scale=5.0).sample(0, 1.0, 4, np.random.default_rng(3))
    assert noisy == pytest.approx((10 - (5 * np.exp(z) + SHIFT)) / 5, rel=1e-12)
    assert Multiplicative(1.0).sample(0, 0.0, 2, rng()).tolist() == [0, 0]  # the optimum itself carries no noise
    assert Multiplicative(1.0).sample(0, -1e-9, 2, rng()).tolist() == [-1e-9, -1e-9]
    assert Multiplicative(1.0).std(np.asarray([-2.0]))[0] == pytest.approx(2 * np.sqrt(np.e * (np.e - 1)))


def test_stored_noise_draws_what_is_stored():
    law = Stored([[1.0, 2.0, 6.0], [np.nan, 5.0, 7.0], [4.0, np.nan, np.nan]])
    assert law.counts.tolist() == [3, 2, 1]
    assert law.means.tolist() == [3, 6, 4]
    assert law.std(law.means) == pytest.approx([np.std([1, 2, 6]), 1, 0])
    values = law.sample(0, 3.0, 30_000, rng())
    assert set(values) == {1.0, 2.0, 6.0}
    assert np.allclose([np.mean(values == value) for value in (1, 2, 6)], 1 / 3, atol=0.01)
    assert set(law.sample(1, 6.0, 100, rng())) == {5.0, 7.0}
    assert set(law.sample(2, 4.0, 100, rng())) == {4.0}


def test_stored_values_can_be_standardised():
    law = Stored.standardised(np.asarray([[1.0, 3.0], [6.0, np.nan]]))
    assert law.means.tolist() == [-1, 1]
    assert law.rewards[0].tolist() == [-1.5, -0.5]
    with pytest.raises(InvalidSetting, match="nothing to optimise"):
        Stored.standardised(np.ones((2, 2)))


@pytest.mark.parametrize("rewards", [[1.0, 2.0], [[np.nan, np.nan], [1.0, 2.0]], [[np.inf, 1.0]]])
def test_every_candidate_has_a_stored_reward(rewards):
    with pytest.raises(InvalidSetting, match="rewards"):
        Stored(rewards)


@pytest.mark.parametrize("settings", [{"beta": -1}, {"beta": 1, "scale": 0}, {"beta": 1, "centre": np.nan}])
def test_multiplicative_settings_are_checked(settings):
    with pytest.raises(InvalidSetting):
        Multiplicative(**settings)
