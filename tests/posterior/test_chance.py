"""The chance of being best, where it can be computed by hand."""

import numpy as np
import pytest
from scipy.stats import norm

from ostinato.kernels import RBF, Constant
from ostinato.posterior import Posterior
from ostinato.posterior.chance import Contenders, draw_shortfalls
from ostinato.posterior.draws import draw, prior_draw


def chance_of_being_best(posterior, candidate, rng=None):
    everyone = Contenders.of(posterior, np.array([candidate]))
    return draw_shortfalls(posterior, [candidate], rng or np.random.default_rng(0), everyone).chances()[0]


def test_two_independent_candidates():
    posterior = Posterior(np.array([[0.0], [100.0]]), RBF(1.0), np.full(2, 1.0))
    posterior.condition(0, 1, 2.0)  # mean 1, variance ½; the other has mean 0, variance 1
    chance = chance_of_being_best(posterior, 0)
    assert chance == pytest.approx(norm.cdf(1 / np.sqrt(1.5)), abs=0.02)


def test_thousands_of_independent_candidates_all_count():
    posterior = Posterior(100.0 * np.arange(5000)[:, None], RBF(1.0), np.full(5000, 1e-6))
    posterior.condition(7, 1, 3.0)
    chance = chance_of_being_best(posterior, 7)
    assert chance == pytest.approx(norm.cdf(3.0) ** 4999, abs=0.002)


def test_thousands_of_neighbours_stand_for_each_other():
    axis = np.linspace(0, 1, 61)
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    posterior = Posterior(grid, RBF(0.3), np.full(len(grid), 1.0))
    for row in (0, 500, 2000, 3700):
        posterior.condition(row, 3, 1.0)
    rng, prior = np.random.default_rng(0), prior_draw(posterior.kernel, grid)
    draws = np.stack([draw(posterior, prior, posterior.ghost(), rng).flat() for _ in range(4000)])
    top = int(np.argmax(np.bincount(np.argmax(draws, axis=1), minlength=len(grid))))
    share = np.mean(np.argmax(draws, axis=1) == top)
    assert chance_of_being_best(posterior, top, rng) == pytest.approx(share, abs=0.03)


def test_candidates_that_are_the_same_are_not_better():
    posterior = Posterior(np.arange(20.0)[:, None], Constant(1.0), np.full(20, 0.5))
    posterior.condition(3, 2, 1.0)
    assert chance_of_being_best(posterior, 3) == 1.0


def test_of_very_many_candidates_some_stand_for_the_others():
    size = 60_000
    posterior = Posterior(100.0 * np.arange(size)[:, None], RBF(1.0), np.full(size, 1e-6))
    posterior.condition(7, 1, 4.0)
    contenders = Contenders.of(posterior, np.array([7]))
    assert len(contenders.numbers) < size / 4
    assert contenders.stands_for.sum() == pytest.approx(size)
    assert chance_of_being_best(posterior, 7) == pytest.approx(norm.cdf(4.0) ** (size - 1), abs=0.05)
