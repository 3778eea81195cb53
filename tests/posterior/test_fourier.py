"""Random Fourier features: evenly spread frequencies have the law of the kernel, and few of them are enough."""

import numpy as np
import pytest

from ostinato.kernels import RBF, Constant, Matern32, Matern52, RationalQuadratic
from ostinato.posterior import fourier
from ostinato.posterior.fourier import EvenlySpread, Fourier

X = np.random.default_rng(3).random((40, 6))
KERNELS = [RBF(0.5), Matern52(0.5), Matern32((0.5,) * 6), RationalQuadratic(0.6, alpha=2.0), RBF(0.9) * Matern52(0.7)]


def covariance_given(omega):
    """Of a draw with these frequencies."""
    angles = X @ omega.T
    return (np.cos(angles) @ np.cos(angles).T + np.sin(angles) @ np.sin(angles).T) / len(omega)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_draw_is_no_further_off_than_four_times_as_many_independent_features(kernel):
    """√(2/F) Σ a cos(ω·x + b), a normal, is the usual form."""
    truth, evenly, usual, count = kernel(X, X), [], [], fourier.FEATURES
    for seed in range(100):  # of 20, the ratio below is off by 0.04
        rng = np.random.default_rng(seed)
        evenly.append(covariance_given(kernel.frequencies(6, count, EvenlySpread(count, 14, rng))) - truth)
        waves = np.cos(X @ kernel.frequencies(6, 4 * count, rng).T + rng.uniform(0, 2 * np.pi, 4 * count))
        usual.append(waves @ waves.T / (2 * count) - truth)
    assert np.sqrt(np.mean(np.square(evenly))) < 1.1 * np.sqrt(np.mean(np.square(usual)))
    assert np.mean(evenly, axis=0) == pytest.approx(0, abs=0.05)  # over draws nothing is left


def test_draws_have_the_variance_of_the_kernel_and_its_covariance(monkeypatch):
    monkeypatch.setattr(fourier, "TILE", 7)
    kernel = Matern52(0.5, 1.5) * Constant(2.0)
    draw, rng = Fourier(kernel, X), np.random.default_rng(0)
    sample = np.stack([draw(rng).everywhere for _ in range(1_500)])
    assert sample.mean(axis=0) == pytest.approx(0, abs=0.35)
    assert sample.T @ sample / 1_500 == pytest.approx(kernel(X, X), abs=1.3)  # of 9
    assert np.mean(sample**4) == pytest.approx(3 * 81, rel=0.1)  # as normal numbers


def test_numbers_have_their_laws_one_by_one():
    sample = [EvenlySpread(8, 3, np.random.default_rng(seed)) for seed in range(1_500)]
    normal = np.stack([each.standard_normal((8, 2)) for each in sample])
    chi2 = np.stack([each.chisquare(5.0, 8) for each in sample])
    more = np.stack([each.gamma(2.0, 0.5, 8) for each in sample])  # after the last column
    assert normal.mean(axis=0) == pytest.approx(0, abs=0.12)
    assert normal.var(axis=0) == pytest.approx(1, abs=0.2)
    assert chi2.mean(axis=0) == pytest.approx(5, abs=0.4)
    assert more.mean(axis=0) == pytest.approx(1, abs=0.1)
    assert np.corrcoef(normal[:, 3, 0], chi2[:, 3])[0, 1] == pytest.approx(0, abs=0.1)
    assert sample[0].integers(1) == 0  # all else is the generator's


def test_draws_follow_from_the_state_of_the_generator():
    """Which is what a study stores of it: two generators in the same state need not have the same parents."""
    first, second = np.random.default_rng(1), np.random.default_rng(2)
    second.bit_generator.state = first.bit_generator.state
    draw = Fourier(RBF(0.5), X)
    assert np.array_equal(draw(first).everywhere, draw(second).everywhere)


def test_very_many_columns_are_drawn_one_by_one():
    wide = np.random.default_rng(0).random((30, 60))
    sample = np.stack([Fourier(RBF(3.0), wide)(np.random.default_rng(seed)).everywhere for seed in range(500)])
    assert np.var(sample) == pytest.approx(1, abs=0.1)
