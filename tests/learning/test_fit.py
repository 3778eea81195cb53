"""Hyper-parameters that stay sane, found in a few evaluations."""

import numpy as np
import pytest

from ostinato.learning.fit import MAX_EVALUATIONS, Priors, fit, free
from ostinato.learning.likelihood import NO_SETUP, Features, LearnedKernel, Point
from ostinato.learning.sample import Sample


def drawn(q, seed, *, noise=0.3, lengthscales=(0.2, 2.0), n=4):
    """A function of the model itself, each candidate measured n times."""
    rng = np.random.default_rng(seed)
    F = rng.random((q, 2))
    gaps = (F[:, None, :] - F[None, :, :]) / np.asarray(lengthscales)
    a = np.sqrt(5 * np.sum(gaps**2, axis=-1))
    f = np.linalg.cholesky((1 + a + a * a / 3) * np.exp(-a) + 1e-9 * np.eye(q)) @ rng.standard_normal(q)
    y = f[:, None] + noise * rng.standard_normal((q, n))
    mean = y.mean(axis=1)
    squares = np.sum((y - mean[:, None]) ** 2, axis=1)
    sample = Sample(np.arange(q), np.full(q, float(n)), mean, squares, np.ones(q), np.zeros(q))
    return LearnedKernel(Features(F, np.arange(2), 2), 1.0), sample


def start(priors):
    return Point.of(np.append(priors.middle[:-1], NO_SETUP))


def fitted(kernel, sample, at=None):
    priors = Priors.of(2)
    return fit(kernel, sample, priors, at or start(priors), free(2, kernel=True, noise=True, setup=False))


def test_finds_what_made_the_data():
    points = [fitted(*drawn(120, seed)).point for seed in range(8)]
    assert np.median([np.exp(p.noise / 2) for p in points]) == pytest.approx(0.3, rel=0.1)
    scales = np.median([np.exp(p.lengthscales) for p in points], axis=0)
    assert 0.1 < scales[0] < 0.4
    assert scales[1] > 1.0


@pytest.mark.parametrize("q", [1, 2, 3, 40, 300])
def test_few_evaluations_however_many_candidates(q):
    kernel, sample = drawn(q, 0)
    first = fitted(kernel, sample)
    assert first.evaluations <= MAX_EVALUATIONS == 20
    again = fitted(kernel, sample, first.point)
    assert again.evaluations <= MAX_EVALUATIONS
    assert again.value >= first.value - 1e-9


@pytest.mark.parametrize("n", [1, 5])
@pytest.mark.parametrize("q", [1, 2])
def test_priors_keep_it_sane_where_there_is_next_to_nothing(q, n):
    point = fitted(*drawn(q, 3, n=n)).point
    assert np.all(np.abs(point.lengthscales - Priors.of(2).middle[:2]) < 2)
    assert 1e-4 < np.exp(point.noise) < 3
    assert 0.2 < np.exp(point.std) < 5


def test_measurements_without_noise_are_taken_as_such_and_stay_finite():
    kernel, sample = drawn(30, 0, noise=0.0)
    point = fitted(kernel, sample).point
    assert np.exp(point.noise) < 1e-3
    assert np.isfinite(point.vector()[:-1]).all()


def test_nothing_free_is_nothing_to_do():
    kernel, sample = drawn(5, 0)
    priors = Priors.of(2)
    result = fit(kernel, sample, priors, start(priors), free(2, kernel=False, noise=False, setup=False))
    assert result.evaluations == 0
    assert np.array_equal(result.point.vector(), start(priors).vector())
