"""Noise that differs between candidates, learned smoothly from the scatter of repeats."""

import numpy as np
import pytest

from inside import shown
from ostinato import MiniUCB, Optimizer
from ostinato.kernels import RBF, Matern52
from ostinato.learning.noise import Scatter, relative_noise
from ostinato.measurements.tally import Statistics, Tally

X = np.linspace(0, 1, 50)[:, None]
STD = 0.1 * 10 ** X[:, 0]  # from 0.1 to 1


def tally_of(rng, std, repeats, rows=range(0, 50, 2)):
    tally = Tally()
    for row in rows:
        tally.add(row, Statistics.of_values(std[row] * rng.standard_normal(repeats)))
    return tally


def test_the_scatter_of_repeats_is_unbiased_on_the_logarithmic_scale():
    rng = np.random.default_rng(0)
    for repeats in (2, 3, 10):
        scatters = [Scatter(tally_of(rng, np.ones(50), repeats)) for _ in range(300)]
        z = np.concatenate([scatter.z for scatter in scatters])
        assert np.mean(z) == pytest.approx(0, abs=4 * np.std(z) / np.sqrt(len(z)))
        assert np.var(z) == pytest.approx(scatters[0].errors[0], rel=0.1)


@pytest.mark.parametrize("repeats", [4, 12])
def test_it_follows_what_differs(repeats):
    errors = []
    for seed in range(10):
        tally = tally_of(np.random.default_rng(seed), STD, repeats)
        learned = np.sqrt(relative_noise([Matern52(0.5), Matern52(1.0)], tally, X) * Scatter(tally).pooled)
        errors.append(np.log(learned / STD))
    assert np.median(np.abs(errors)) < 0.25
    assert abs(np.mean(errors)) < 0.15


def test_equal_noise_stays_about_equal():
    spreads = []
    for seed in range(10):
        relative = relative_noise([Matern52(0.5)], tally_of(np.random.default_rng(seed), np.ones(50), 4), X)
        spreads.append(np.ptp(0.5 * np.log(relative)))
    assert np.median(spreads) < 0.5


def test_too_few_repeats_say_nothing():
    tally = Tally()
    assert relative_noise([RBF(1.0)], tally, X).tolist() == [1.0] * 50
    tally.add(3, Statistics.of_values(np.array([1.0, 2.0])))
    tally.add(4, Statistics(1, 2.0))
    assert relative_noise([RBF(1.0)], tally, X).tolist() == [1.0] * 50
    for row in range(10, 20):
        tally.add(row, Statistics.of_values(np.ones(2)))  # do not differ at all
    assert np.isfinite(relative_noise([RBF(1.0)], tally, X)).all()


def test_an_optimiser_asks_for_more_where_it_is_noisier():
    """After the same measurements everywhere, batches of the noisy end are longer."""
    opt, rng = Optimizer(X, noise_std="varying", policy=MiniUCB(C=3.0), seed=0), np.random.default_rng(0)
    for row in range(50):
        opt.observe(row, np.sin(6 * X[row, 0]) + STD[row] * rng.standard_normal(4))
    low, high = opt.learned.noise_std
    assert low < 0.2
    assert high > 0.6
    assert "to" in str(opt.learned)
    opt.ask()
    belief = shown(opt)
    assert opt.policy.repeats(belief.repeat_value(48)) > opt.policy.repeats(belief.repeat_value(1))
