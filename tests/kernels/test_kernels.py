"""Every kernel through one suite: a covariance, the same on every array library, and what it says it is."""

import array_api_strict
import numpy as np
import pytest
from sklearn.gaussian_process import kernels as sk

from ostinato.arrays import from_numpy, to_numpy
from ostinato.errors import InvalidKernel, InvalidSetting
from ostinato.kernels import (
    RBF,
    Column,
    Constant,
    Custom,
    Hamming,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    ProductMatern52,
    RationalQuadratic,
    as_kernel,
)


def brownian(X, Y):
    return np.minimum(X[:, :1] + 9, Y[:, :1].T + 9)


def named(kernel):
    return type(kernel).__name__


COLUMNS = [Column("a"), Column("b"), Column("c")]
STATIONARY = [
    RBF(1.3, 2.0),
    RBF((0.5, 1.0, 3.0)),
    Matern12(1.1, 0.5),
    Matern32((1.0, 2.0, 0.7), 2.0),
    Matern52(0.8, 1.5),
    ProductMatern52((0.8, 2.0, 1.1), 1.5),
    RationalQuadratic(1.2, 2.0, alpha=0.7),
]
ALL = [
    *STATIONARY,
    Linear(2.0, 1.5),
    Linear((1.0, 2.0, 3.0)),
    Constant(3.0),
    Hamming(0.7, 2.0),
    Hamming((1.0, 2.0, 0.5)),
    Custom(brownian),
    RBF(1.0) + Constant(2.0),
    0.5 * RBF(1.0) * Matern32(2.0),
    Matern52(1.0) * 3.0 + Linear(1.0),
    RBF(2.0).on("b") * Hamming().on("a", "c"),
]
WITH_PEERS = [
    (RBF(1.3, 2.0), 4.0 * sk.RBF(1.3)),
    (RBF((0.5, 1.0, 3.0)), sk.RBF((0.5, 1.0, 3.0))),
    (Matern12(1.1, 0.5), 0.25 * sk.Matern(1.1, nu=0.5)),
    (Matern32(0.9), sk.Matern(0.9, nu=1.5)),
    (Matern52((0.8, 1.0, 2.0)), sk.Matern((0.8, 1.0, 2.0), nu=2.5)),
    (RationalQuadratic(1.2, 2.0, alpha=0.7), 4.0 * sk.RationalQuadratic(1.2, alpha=0.7)),
    (Linear(1.0), sk.DotProduct(0.0)),
    (Constant(3.0), sk.ConstantKernel(9.0)),
    (0.5 * RBF(1.0) + Constant(2.0), 0.5 * sk.RBF(1.0) + sk.ConstantKernel(4.0)),
]


@pytest.fixture
def points():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (12, 3))
    X[:4, 0], X[5, :] = X[0, 0], X[6, :]  # equal columns and an equal row
    return X


@pytest.mark.parametrize("kernel", ALL, ids=named)
def test_is_a_covariance(kernel, points):
    kernel = kernel.bind(COLUMNS)
    K = kernel(points, points)
    assert K.shape == (12, 12)
    assert pytest.approx(K.T) == K
    assert kernel.diag(points) == pytest.approx(np.diagonal(K))
    assert np.linalg.eigvalsh(K)[0] >= -1e-9 * K.max()
    assert kernel(points[:3], points[4:]) == pytest.approx(K[:3, 4:])


@pytest.mark.parametrize("kernel", ALL, ids=named)
def test_is_the_same_in_the_array_api(kernel, points):
    kernel = kernel.bind(COLUMNS)
    X = from_numpy(array_api_strict, points)
    assert to_numpy(kernel(X, X)) == pytest.approx(kernel(points, points))
    assert to_numpy(kernel.diag(X)) == pytest.approx(kernel.diag(points))


@pytest.mark.parametrize(("kernel", "peer"), WITH_PEERS, ids=named)
def test_agrees_with_scikit_learn(kernel, peer, points):
    assert kernel(points, points[:5]) == pytest.approx(peer(points, points[:5]), rel=1e-12, abs=1e-12)


def test_hamming_counts_differing_columns():
    X = np.array([[0.0, 1.0], [0.0, 2.0], [3.0, 2.0]])
    assert Hamming((1.0, 2.0), std=2.0)(X[:1], X) == pytest.approx(4 * np.exp([[0, -0.5, -1.5]]))


def test_near_duplicate_rows_far_from_the_origin_keep_their_distance():
    X = np.array([[1e6], [1e6 + 1e-3]])
    assert -2 * np.log(RBF(1e-3)(X, X)[0, 1]) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("kernel", STATIONARY, ids=named)
def test_frequencies_have_the_kernel_as_their_characteristic_function(kernel, points):
    omega = kernel.frequencies(3, 200_000, np.random.default_rng(0))
    gaps = points - points[0]
    estimate = np.cos(gaps @ omega.T).mean(axis=1)
    assert estimate == pytest.approx(kernel(points[:1], points)[0] / kernel.std**2, abs=0.01)


def test_products_of_stationary_kernels_are_stationary(points):
    kernel = (RBF(1.0).on("a") * Matern52(2.0).on("b", "c")).bind(COLUMNS)
    omega = kernel.frequencies(3, 200_000, np.random.default_rng(0))
    estimate = np.cos((points - points[0]) @ omega.T).mean(axis=1)
    assert estimate == pytest.approx(kernel(points[:1], points)[0], abs=0.01)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF((1.0, 2.0, 3.0), 2.0),
        3.0 * RBF(1.0) * Constant(2.0),
        RBF(1.0).on("b") * Hamming().on("a", "c"),
        Hamming(0.5, 2.0),
    ],
    ids=named,
)
def test_factors_multiply_to_the_kernel(kernel, points):
    kernel = kernel.bind(COLUMNS)
    product = np.prod([k(points[:, [j]], points[:, [j]]) for j, k in enumerate(kernel.factors(3))], axis=0)
    assert product == pytest.approx(kernel(points, points))


@pytest.mark.parametrize("kernel", [Matern52(1.0), RBF(1.0) + Constant(1.0), Linear(1.0)], ids=named)
def test_kernels_that_do_not_split_say_so(kernel):
    assert kernel.factors(3) is None


@pytest.mark.parametrize(
    "setting", [{"lengthscale": 0}, {"lengthscale": (1.0, -1.0)}, {"std": np.nan}, {"lengthscale": ()}]
)
def test_settings_out_of_range_are_refused(setting):
    with pytest.raises(InvalidSetting):
        RBF(**setting)


def test_refuses_columns_that_do_not_fit():
    with pytest.raises(InvalidKernel, match="2 length-scales for 3 columns"):
        RBF((1.0, 2.0)).bind(COLUMNS)
    with pytest.raises(InvalidKernel, match="a column twice"):
        RBF().on("a", "a").bind(COLUMNS)
    with pytest.raises(InvalidKernel, match="cannot be added"):
        RBF() + 1
    with pytest.raises(InvalidKernel, match="Custom"):
        RBF() * (lambda X, Y: X @ Y.T)
    with pytest.raises(InvalidKernel, match="neither"):
        as_kernel(RBF)
    with pytest.raises(InvalidKernel, match="column 'd', which is not there"):
        RBF().on("d").bind(COLUMNS)
    with pytest.raises(InvalidKernel, match=r"unordered categories.*Hamming"):
        Linear().bind([Column("solvent", "category")])


@pytest.mark.parametrize("kernel", [RBF, Matern52])
def test_categories_are_alike_or_not_whatever_their_codes(kernel):
    """As one-hot codes over √2 would have it: two that differ are 1 apart."""
    bound = kernel((2.0, 0.5)).bind([Column("temp"), Column("solvent", "category")])
    X = np.array([[1.0, 0.0], [1.0, 7.0], [3.0, 7.0], [3.0, 2.0]])
    one_hot = np.column_stack([X[:, 0], (X[:, 1:] == [0.0, 7.0, 2.0]) / np.sqrt(2)])
    assert bound(X, X) == pytest.approx(kernel((2.0, 0.5, 0.5, 0.5))(one_hot, one_hot))
    assert bound.frequencies(2, 5, np.random.default_rng(0)) is None
    if bound.factors(2) is not None:
        assert np.prod([k(X[:, [j]], X[:, [j]]) for j, k in enumerate(bound.factors(2))], axis=0) == pytest.approx(
            bound(X, X)
        )


def test_a_callable_is_a_kernel_and_must_return_a_finite_matrix(points):
    kernel = as_kernel(lambda X, Y: np.exp(-np.abs(X[:, :1] - Y[:, :1].T)))
    assert kernel.diag(points) == pytest.approx(np.ones(12))
    with pytest.raises(InvalidKernel, match="shape"):
        as_kernel(lambda X, Y: np.zeros(3))(points, points)
    with pytest.raises(InvalidKernel, match="NaN"):
        as_kernel(lambda X, Y: np.full((len(X), len(Y)), np.nan))(points, points)
    with pytest.raises(InvalidKernel, match="neither"):
        as_kernel("rbf")


def test_kernels_are_values():
    assert RBF(1.0) == RBF((1.0,))
    assert hash(RBF((1.0, 2.0))) == hash(RBF((1.0, 2.0)))
    assert repr(RBF(2.0, 3.0)) == "RBF(lengthscale=(2.0,), std=3.0)"
