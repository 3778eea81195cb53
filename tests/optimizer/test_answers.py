"""Answers that users rely on: what is recommended, and how sure that is."""

import numpy as np
import pytest
from scipy.stats import norm

from ostinato import Optimizer
from ostinato.kernels import RBF

X = np.linspace(0, 10, 101)[:, None]


def test_a_lucky_fluke_does_not_lead():
    """One lucky measurement of a poor candidate, far from a good one that was measured often."""
    opt = Optimizer(X, kernel=RBF(lengthscale=0.5, std=2.0), noise_std=1.5, seed=0)
    opt.observe(20, [2.0, 2.2] * 50)
    opt.observe(80, [4.0])
    prediction = opt.predict()
    assert prediction.mean[80] > prediction.mean[20]  # so much for the average
    assert opt.best().index == 20
    assert opt.leader()[0] == opt.best().index == opt.top(2)[0].index


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_as_sure_as_each_other_the_better_one_leads(direction):
    opt = Optimizer(X, kernel=RBF(lengthscale=0.5), noise_std=0.5, direction=direction, seed=0)
    opt.observe(20, [1.0] * 10)
    opt.observe(80, [1.5] * 10)
    assert opt.best().index == (80 if direction == "maximize" else 20)
    assert [best.index for best in opt.top()] == ([80, 20] if direction == "maximize" else [20, 80])


def test_no_chance_contradicts_another():
    """No candidate better at all is no likelier than none better by some gap."""
    opt, rng = Optimizer(X, seed=0), np.random.default_rng(0)
    for row in range(0, 101, 4):
        opt.observe(row, np.sin(X[row, 0]) + 0.3 * rng.standard_normal(3))
    chances = [opt.best().chance, opt.chance_within(0.01), opt.chance_within(0.1), opt.chance_within(1.0)]
    assert chances == sorted(chances)
    assert chances[-1] > 0.8


def test_many_unlikely_candidates_together_are_likely():
    """20,000 unrelated candidates, each with a chance of about 10⁻⁵ to be better."""
    table = np.arange(20_000.0)[:, None] * 10
    opt = Optimizer(table, kernel=RBF(0.5), noise_std=1e-3, mean=0.0, seed=0)
    opt.observe(0, [4.3])
    assert opt.best().chance == pytest.approx(norm.cdf(4.3) ** 19_999, abs=0.03)


@pytest.mark.parametrize("unit", [2.0**-30, 1.0, 2.0**20])
def test_outcomes_of_any_unit_are_learned_alike_where_the_noise_is_given(unit):
    opt, rng = Optimizer(X, noise_std=0.125 * unit, seed=0), np.random.default_rng(0)
    for _ in range(20):
        batch = opt.ask(limit=5)
        opt.tell(batch, unit * (np.sin(X[batch.index, 0]) + 0.125 * rng.standard_normal(batch.repeats)))
    assert 0.2 < opt.learned.std / unit < 3
