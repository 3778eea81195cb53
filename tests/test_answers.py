"""Answers that users rely on: what is recommended, and how sure that is."""

import numpy as np
import pytest

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
