"""A factorisation that goes on is the one that starts again."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ostinato.errors import InvalidKernel
from ostinato.kernels import RBF, Matern52
from ostinato.posterior import incremental_factor
from ostinato.posterior.factor import factorise
from ostinato.posterior.incremental_factor import IncrementalFactor

rng = np.random.default_rng(0)
X = rng.random((120, 3))
MEANS = np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(len(X))


def weights(heaviest):
    return heaviest * rng.random(len(X))


def grown(own, K, w, m, sizes):
    """Factorisations of ever more candidates, each of which somebody looks at."""
    for size in sizes:
        found = own.factor(K[:size, :size], w[:size], m[:size])
        assert found.whitener.shape == (size, size)
        yield found


def same(one, other, tolerance=1e-9):
    np.testing.assert_allclose(one.L, other.L, atol=tolerance * np.max(np.abs(other.L)))
    np.testing.assert_allclose(one.whitener, other.whitener, atol=tolerance * np.max(np.abs(other.whitener)))
    np.testing.assert_allclose(one.alpha, other.alpha, atol=tolerance * np.max(np.abs(other.alpha)))
    assert one.log_det == pytest.approx(other.log_det, rel=tolerance)


@pytest.mark.parametrize("kernel", [Matern52(0.5), RBF(0.5)], ids=["Matern52", "RBF"])
@pytest.mark.parametrize("heaviest", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("step", [1, 3])
def test_it_is_the_one_that_starts_again(kernel, heaviest, step):
    K, w, own = kernel(X, X), weights(heaviest), IncrementalFactor()
    sizes = range(10, len(X), step)
    *_, found = grown(own, K, w, MEANS, sizes)
    size = sizes[-1]
    same(found, factorise(K[:size, :size], w[:size], MEANS[:size]), 1e-7)
    points = rng.random((50, 3))
    k_x, fresh = kernel(X[:size], points), factorise(K[:size, :size], w[:size], MEANS[:size])
    np.testing.assert_allclose(found.mean(k_x), fresh.mean(k_x), atol=1e-9)
    np.testing.assert_allclose(
        found.variance_of_many(k_x, np.ones(50)), fresh.variance_of_many(k_x, np.ones(50)), atol=1e-11
    )


def test_it_goes_on_in_the_same_memory_and_leaves_what_it_gave_before(monkeypatch):
    monkeypatch.setattr(incremental_factor, "MIN_SPARE_ROWS", 4)
    K, w, own = Matern52(0.5)(X, X), weights(100.0), IncrementalFactor()
    found = list(grown(own, K, w, MEANS, range(2, 60)))
    assert found[-1].L.base is found[-2].L.base
    for factor in found:
        size = len(factor.w)
        same(factor, factorise(K[:size, :size], w[:size], MEANS[:size]))


def test_what_nobody_looked_at_is_made_anew():
    """To go on from it would take longer than to start again."""
    K, w, own = Matern52(0.5)(X, X), weights(100.0), IncrementalFactor()
    for size in (50, 51):
        found = own.factor(K[:size, :size], w[:size], MEANS[:size])
    assert not found.has_whitener


def test_threads_that_look_at_one_posterior_do_not_disturb_each_other(monkeypatch):
    monkeypatch.setattr(incremental_factor, "MIN_SPARE_ROWS", 1)
    K, w = Matern52(0.5)(X, X), weights(100.0)
    expected = factorise(K, w, MEANS)
    for _ in range(20):
        own = IncrementalFactor()

        def last(own=own):
            *_, found = grown(own, K, w, MEANS, range(20, len(X) + 1, 4))
            return found

        with ThreadPoolExecutor(4) as pool:
            for found in pool.map(lambda _: last(), range(4)):
                same(found, expected)


def test_it_starts_again_where_a_weight_has_changed():
    K, w, own = Matern52(0.5)(X, X), weights(100.0), IncrementalFactor()
    list(grown(own, K, w, MEANS, (50, 51)))
    w[7] *= 2
    same(own.factor(K[:52, :52], w[:52], MEANS[:52]), factorise(K[:52, :52], w[:52], MEANS[:52]), 1e-13)


def test_weights_that_are_changed_in_place_are_noticed():
    """What is measured again changes the very array that was given before."""
    K, w, own = Matern52(0.5)(X, X), weights(100.0), IncrementalFactor()
    list(grown(own, K, w, MEANS, (50,)))
    w[7] += 50
    same(own.factor(K[:51, :51], w[:51], MEANS[:51]), factorise(K[:51, :51], w[:51], MEANS[:51]))


def test_candidates_without_measurements_count_for_nothing():
    K, w, own = Matern52(0.5)(X, X), weights(100.0), IncrementalFactor()
    w[[3, 55]] = 0
    sizes = 50, 54, 56, 57
    for size, found in zip(sizes, grown(own, K, w, MEANS, sizes), strict=True):
        same(found, factorise(K[:size, :size], w[:size], MEANS[:size]))
        assert found.alpha[3] == 0


def test_a_kernel_that_is_not_positive_is_refused_as_ever():
    K, own = np.eye(4), IncrementalFactor()
    K[3, :3] = K[:3, 3] = 0.9
    w, m = np.full(4, 1e3), np.zeros(4)
    list(grown(own, K, w, m, (3,)))
    with pytest.raises(InvalidKernel):
        own.factor(K, w, m)
