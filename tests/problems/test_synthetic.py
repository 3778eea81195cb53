"""BBOB functions on grids."""

import numpy as np
import pytest

from ostinato.errors import InvalidSetting
from ostinato.problems import Multiplicative, bbob, synthetic
from ostinato.problems.synthetic import RECIPES, grid


def test_the_last_coordinate_varies_fastest():
    assert grid(2, 3).tolist() == [[-5, -5], [-5, 0], [-5, 5], [0, -5], [0, 0], [0, 5], [5, -5], [5, 0], [5, 5]]


@pytest.mark.parametrize("function", RECIPES)
@pytest.mark.parametrize("noise", ["gaussian", "coco"])
def test_rewards_are_standardised(function, noise):
    problem = synthetic(function, noise=noise)
    assert (problem.size, problem.columns) == (10_648, 3)
    assert np.mean(problem.truth) == pytest.approx(0, abs=1e-10)
    assert np.std(problem.truth) == pytest.approx(1)


def test_the_best_reward_is_the_lowest_loss():
    problem = synthetic("schaffer", dimension=2, side=40, instance=3)
    losses = bbob.schaffer(problem.candidates, 3)
    assert problem.optimum == np.argmin(losses)
    assert problem.regrets == pytest.approx((losses - losses.min()) / np.std(losses), abs=1e-10)


def test_coco_noise_multiplies_the_loss():
    problem = synthetic("ellipsoid", noise="coco")
    losses = bbob.ellipsoid(problem.candidates, conditioning=1e4)
    assert isinstance(problem.noise, Multiplicative)
    assert problem.noise.beta == 1
    assert synthetic("rosenbrock", noise="coco").noise.beta == 0.01
    assert problem.noise_stds == pytest.approx(losses / np.std(losses) * np.sqrt(np.e * (np.e - 1)), rel=1e-6)
    noisy = problem.measure(5, 400_000, np.random.default_rng(0))
    assert np.mean(losses) - np.std(losses) * np.median(noisy) == pytest.approx(losses[5], rel=0.01)
    assert np.mean(losses) - np.std(losses) * np.mean(noisy) == pytest.approx(np.exp(0.5) * losses[5], rel=0.02)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"function": "sphere"}, "rosenbrock"),
        ({"noise": "loud"}, "gaussian"),
        ({"dimension": 1}, "dimension=1"),
        ({"side": 1}, "side=1"),
        ({"dimension": 9}, "smaller side"),
        ({"std": -1}, "-1"),
        ({"std": 1.0, "noise": "coco"}, "leave it out"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(InvalidSetting, match=message):
        synthetic(**{"function": "rosenbrock", **options})
