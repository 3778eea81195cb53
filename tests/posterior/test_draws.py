"""Draws have the posterior's mean and covariance, by whichever way the prior is drawn."""

import numpy as np
import pytest

from ostinato.errors import ApproximateDraws, InvalidKernel
from ostinato.kernels import RBF, Column, Constant, Custom, Hamming, Linear, Matern32, Matern52
from ostinato.posterior import Posterior, draws
from ostinato.posterior.draws import _in_one_hot_codes, draw, prior_draw, square_root
from sizes import size

AXIS = np.linspace(-2, 2, 5)
GRID = np.stack(np.meshgrid(AXIS, AXIS[:3], indexing="ij"), axis=-1).reshape(-1, 2)
SCATTERED = np.random.default_rng(5).uniform(-2, 2, (15, 2))
COLUMNS = [Column(0), Column(1)]
N = size(5_000, 20_000)
OFF = (20_000 / N) ** 0.5  # by which averages of so many draws are further off


def covariance_of(draw_once, n=N):
    rng = np.random.default_rng(0)
    sample = np.stack([draw_once(rng).everywhere for _ in range(n)])
    return sample.T @ sample / n


@pytest.fixture
def few(monkeypatch):
    """Make the candidates count as many, so that the exact way is not taken."""
    monkeypatch.setattr(draws, "EXACT_UP_TO", 5)


@pytest.mark.parametrize(
    "order", [np.arange(15), np.random.default_rng(1).permutation(15)], ids=["ordered", "shuffled"]
)
@pytest.mark.parametrize(
    "kernel", [RBF(1.0, 1.5), 2.0 * RBF((1.0, 3.0)) * Constant(0.7), RBF(1.0).on(0) * Hamming().on(1)]
)
def test_grids_are_drawn_exactly_by_kronecker_products(kernel, order, few):
    kernel = kernel.bind(COLUMNS)
    points = GRID[order]
    assert covariance_of(prior_draw(kernel, points)) == pytest.approx(kernel(points, points), abs=0.08 * OFF)


@pytest.mark.parametrize("kernel", [Linear(1.0, 0.5) + Constant(0.8), 0.5 * Linear(2.0), Linear(1.0, 0.5).on(1)])
def test_linear_and_constant_parts_are_drawn_exactly(kernel, few):
    expected = kernel(SCATTERED, SCATTERED)
    assert covariance_of(prior_draw(kernel, SCATTERED)) == pytest.approx(expected, abs=0.08 * OFF)


@pytest.mark.parametrize(
    "kernel", [Matern52(1.0), 0.5 * RBF(1.0) * Matern32(2.0) + Constant(0.5), Matern52(1.0) * Constant(0.5)]
)
def test_other_stationary_kernels_use_fourier_features_and_say_so(kernel, few):
    with pytest.warns(ApproximateDraws, match="random Fourier features"):
        draw_once = prior_draw(kernel, SCATTERED)
    assert covariance_of(draw_once, N // 5) == pytest.approx(kernel(SCATTERED, SCATTERED), abs=0.1 * OFF)


def test_few_candidates_are_drawn_exactly_for_any_kernel():
    kernel = Custom(lambda X, Y: np.minimum(X[:, :1] + 3, Y[:, :1].T + 3))
    expected = kernel(SCATTERED, SCATTERED)
    assert covariance_of(prior_draw(kernel, SCATTERED)) == pytest.approx(expected, abs=0.15 * OFF)


@pytest.mark.parametrize("kernel", [Custom(lambda X, Y: np.eye(len(X), len(Y))), Hamming()])
def test_kernels_without_a_way_to_draw_are_refused(kernel, few):
    with pytest.raises(InvalidKernel, match=r"no way to draw.*MiniUCB"):
        prior_draw(kernel, SCATTERED)


@pytest.mark.parametrize("pending", [[], [(3, 2), (9, 1)]], ids=["all told", "in flight"])
def test_pathwise_conditioning_gives_the_posterior(pending):
    posterior = Posterior(GRID, RBF(1.0), np.full(15, 0.3), mean=1.0, block_size=7)
    for row, n, value in [(0, 3, 2.0), (7, 1, 0.5), (0, 2, 2.5)]:
        posterior.condition(row, n, value)
    ghost = posterior.ghost()
    for row, n in pending:
        ghost.add(row, n)
    rng = np.random.default_rng(0)
    prior = prior_draw(posterior.kernel, GRID)
    sample = np.stack([draw(posterior, prior, ghost, rng).flat() for _ in range(N)])
    mean = posterior.means.flat()
    for row, n in pending:
        posterior.condition(row, n, 0.0)
    assert sample.mean(axis=0) == pytest.approx(mean, abs=0.03 * OFF)
    assert np.cov(sample.T) == pytest.approx(posterior.covariance(GRID), abs=0.03 * OFF)


def test_square_root_of_a_singular_matrix():
    A = np.array([[4.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
    root = square_root(A)
    assert root @ root.T == pytest.approx(A, abs=1e-7)


def test_one_hot_codes_say_the_same_as_categories():
    """By which kernels on categories are drawn."""
    features = np.array([[0.1, 0.0, 2.0], [0.1, 1.0, 2.0], [0.7, 1.0, 0.0], [0.3, 2.0, 1.0]])
    kernel = RBF(lengthscale=(0.5, 0.8, 1.3), std=2.0, categories=(1, 2))
    plain, codes = _in_one_hot_codes(kernel, features)
    assert plain(codes, codes) == pytest.approx(kernel(features, features))
