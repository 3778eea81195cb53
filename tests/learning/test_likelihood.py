"""The likelihood on unique candidates is that of a dense Gaussian process on every single measurement."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from ostinato.learning.likelihood import (
    NO_SETUP,
    Features,
    GivenKernel,
    LearnedKernel,
    LearnedProduct,
    Point,
    log_likelihood,
)
from ostinato.learning.sample import Sample
from sizes import size


def matern(F, lengthscales, std, constant):
    a = np.sqrt(5) * cdist(F / lengthscales, F / lengthscales)
    return std**2 * (1 + a + a * a / 3) * np.exp(-a) + constant


def product_of_materns(F, lengthscales, std, constant):
    each = [matern(F[:, [j]], scale, 1.0, 0.0) for j, scale in enumerate(lengthscales)]
    return std**2 * np.prod(each, axis=0) + constant


FORMS = [(LearnedKernel, matern), (LearnedProduct, product_of_materns)]


def normal(y, K):
    """log N(y | 0, K), by an eigendecomposition: independent of every Cholesky factor in the product."""
    values, vectors = np.linalg.eigh(K)
    z = vectors.T @ y
    return -0.5 * (np.sum(z * z / values) + np.sum(np.log(values)) + len(y) * log(2 * np.pi))


def measured(seed, *, setups, noise, setup, unique=7, columns=2):
    """Candidates, single values by group, and what the likelihood is told of them."""
    rng = np.random.default_rng(seed)
    F = rng.random((unique, columns))
    slot = np.sort(np.concatenate([np.arange(unique), rng.integers(0, unique, 6 if setups else 0)]))
    counts = rng.integers(1, 8, len(slot))
    f = rng.standard_normal(unique)
    groups = [
        f[i] + np.sqrt(setup) * rng.standard_normal() + np.sqrt(noise) * rng.standard_normal(n)
        for i, n in zip(slot, counts, strict=True)
    ]
    sample = Sample(
        slot=slot,
        n=counts.astype(float),
        mean=np.array([g.mean() for g in groups]),
        squares=np.array([np.sum((g - g.mean()) ** 2) for g in groups]),
        relative=np.ones(len(slot)),
        known=np.zeros(len(slot)),
    )
    return F, slot, counts, np.concatenate(groups), sample


def dense(F, slot, counts, y, point, constant, covariance=matern):
    each, group = np.repeat(slot, counts), np.repeat(np.arange(len(slot)), counts)
    K = covariance(F, np.exp(point.lengthscales), np.exp(point.std), constant)[np.ix_(each, each)]
    return normal(y, K + np.exp(point.setup) * (group[:, None] == group) + np.exp(point.noise) * np.eye(len(y)))


@pytest.mark.parametrize(("form", "covariance"), FORMS, ids=["radial", "product"])
@settings(deadline=None, max_examples=size(24, 60))
@given(
    seed=st.integers(0, 10**6),
    setups=st.booleans(),
    noise=st.floats(log(1e-5), log(10.0)),
    scales=st.lists(st.floats(log(0.05), log(5.0)), min_size=2, max_size=2),
    std=st.floats(-1.0, 1.0),
)
def test_equals_the_dense_likelihood_of_all_measurements(form, covariance, seed, setups, noise, scales, std):
    setup = noise - 0.5 if setups else NO_SETUP
    F, slot, counts, y, sample = measured(seed, setups=setups, noise=np.exp(noise), setup=np.exp(setup))
    point = Point(np.array(scales), std, noise, setup)
    value, _ = log_likelihood(form(Features(F, np.arange(2), 2), 2.0), sample, point)
    assert value == pytest.approx(dense(F, slot, counts, y, point, 2.0, covariance), rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("form", [LearnedKernel, LearnedProduct])
@settings(deadline=None, max_examples=size(24, 60))
@given(seed=st.integers(0, 10**6), setups=st.booleans(), noise=st.floats(log(1e-3), log(3.0)))
def test_the_gradient_is_that_of_the_value(form, seed, setups, noise):
    setup = noise - 0.5 if setups else NO_SETUP
    F, _, _, _, sample = measured(seed, setups=setups, noise=np.exp(noise), setup=np.exp(setup), columns=3)
    kernel = form(Features(F, np.array([0, 1, 1]), 2), 1.0)  # the last two share a length-scale
    vector = Point(np.log([0.4, 1.1]), 0.2, noise, setup).vector()
    _, gradient = log_likelihood(kernel, sample, Point.of(vector))
    for i in range(len(vector) if setups else len(vector) - 1):
        h = 1e-4 * np.eye(len(vector))[i]
        f = [log_likelihood(kernel, sample, Point.of(vector + k * h))[0] for k in (-2, -1, 1, 2)]
        numeric = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * 1e-4)
        assert gradient[i] == pytest.approx(numeric, rel=1e-6, abs=1e-6 * max(1.0, np.max(np.abs(gradient))))


def test_ten_million_measurements_count_as_what_they_are():
    """κ²n/λ = 10⁶: the likelihood of means and squares, to 1e-9 of the same in a dense solve by hand."""
    F = np.array([[0.1], [0.6], [0.9]])
    sample = Sample(np.arange(3), np.array([1e6, 3.0, 1.0]), np.array([1.0, 0.5, -1.0]), np.array([1e6, 2.0, 0.0]),
                    np.ones(3), np.zeros(3))  # fmt: skip
    point = Point(np.log([0.5]), 0.0, 0.0, NO_SETUP)
    value, _ = log_likelihood(LearnedKernel(Features(F, np.zeros(1, int), 1), 0.0), sample, point)
    means = normal(sample.mean, matern(F, 0.5, 1.0, 0.0) + np.diag(1 / sample.n))
    repeats = np.sum((sample.n - 1) / 2 * log(2 * np.pi) + 0.5 * np.log(sample.n) + sample.squares / 2)
    assert value == pytest.approx(means - repeats, rel=1e-9)


def test_known_standard_errors_need_no_noise():
    """A group of known variance c is one measurement of noise variance c, whatever λ is."""
    F = np.random.default_rng(0).random((4, 1))
    sample = Sample(np.arange(4), np.full(4, 5.0), np.array([1.0, 2.0, 0.0, 1.0]), np.zeros(4),
                    np.zeros(4), np.array([0.1, 0.2, 0.3, 0.4]))  # fmt: skip
    for noise in (-2.0, 1.0):
        point = Point(np.log([0.5]), 0.0, noise, NO_SETUP)
        value, gradient = log_likelihood(LearnedKernel(Features(F, np.zeros(1, int), 1), 0.0), sample, point)
        assert value == pytest.approx(normal(sample.mean, matern(F, 0.5, 1.0, 0.0) + np.diag(sample.known)), rel=1e-9)
        assert gradient[-2] == 0


def test_a_given_kernel_is_not_learned():
    F, slot, counts, y, sample = measured(0, setups=False, noise=0.3, setup=0.0)
    point = Point(np.zeros(2), 0.0, log(0.3), NO_SETUP)
    value, gradient = log_likelihood(GivenKernel(matern(F, 1.0, 1.0, 0.5), 2), sample, point)
    assert value == pytest.approx(dense(F, slot, counts, y, point, 0.5), rel=1e-9)
    assert np.all(gradient[:3] == 0)
