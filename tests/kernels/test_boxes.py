"""Bounds over boxes are bounds: at random points of random boxes, for every kernel that is known to be bounded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
    RationalQuadratic,
    Stationary,
)
from ostinato.kernels.boxes import Boxes, bounded_over_boxes, departure, extremes, linear, majorant
from sizes import size

COLUMNS = [Column("x"), Column("y"), Column("kind", "category")]
KERNELS = {
    "RBF": RBF(0.3),
    "Matern12": Matern12((0.1, 0.5, 1.0), std=2.0),
    "Matern32": Matern32(0.5),
    "Matern52": Matern52((1.0, 0.2, 0.7)),
    "RationalQuadratic": RationalQuadratic(0.3, alpha=0.5),
    "Hamming": Hamming((0.5, 1.0, 2.0)),
    "sum": 0.5 * RBF(0.2) + Constant(2.0),
    "product": Matern32(0.4).on("x") * RationalQuadratic(0.6).on("y") * Hamming().on("kind"),
    "both": (Matern52(0.4).on("x", "kind") + Constant(0.3)) * RBF(0.5).on("y") + Matern12(0.5),
}


def some(seed, width, n=20, q=7, m=30):
    """Boxes, points Y (some of them at corners and centres of boxes), and points within the boxes."""
    rng = np.random.default_rng(seed)
    low = rng.random((n, 3))
    high = low + width * rng.random((n, 3)) * (rng.random((n, 3)) > 0.1)
    low[:, 2] = high[:, 2] = rng.integers(0, 3, n)
    Y = rng.random((q, 3))
    Y[:, 2] = rng.integers(0, 3, q)
    boxes = Boxes(low, high)
    Y[:2], Y[2] = low[:2], boxes.centre[2]
    at = np.concatenate([rng.random((m, n, 3)), rng.integers(0, 2, (8, n, 3)), np.full((1, n, 3), 0.5)])
    return rng, boxes, Y, low + at * (high - low)


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=size(10, 25), deadline=None)
@given(st.integers(0, 10**6), st.floats(-6, 0.5))
def test_covariances_and_their_sums_stay_below_their_bounds(name, seed, size):
    kernel = KERNELS[name].bind(COLUMNS)
    assert bounded_over_boxes(kernel)
    rng, boxes, Y, points = some(seed, 10.0**size)
    lowest, highest = extremes(kernel, boxes, Y)
    weights = rng.normal(size=lowest.shape) * 10.0 ** rng.uniform(-2, 2)
    quadratic = majorant(kernel, weights, boxes, Y)
    step, top = quadratic.highest(boxes.half)
    slack = 1e-9 * np.sum(np.abs(weights), axis=1)
    assert (np.abs(step) <= boxes.half).all()
    for x in points:
        k = kernel(x, Y)
        assert (k >= lowest - 1e-12).all()
        assert (k <= highest + 1e-12).all()
        h, total = x - boxes.centre, np.sum(weights * k, axis=1)
        assert (total <= quadratic.value + np.sum(quadratic.slope * h + quadratic.bend * h * h, axis=1) + slack).all()
        assert (total <= top + slack).all()


@pytest.mark.parametrize("name", ["RBF", "Matern32", "Matern52", "RationalQuadratic", "product"])
def test_majorants_are_off_by_the_square_of_the_width(name):
    kernel = KERNELS[name].bind(COLUMNS)
    rng, boxes, Y, _ = some(3, 0.0)
    weights, off = rng.normal(size=(20, 7)), []
    for width in (0.02, 0.01):
        around = width * np.array([1.0, 1.0, 0.0])
        wide = Boxes(boxes.low - around, boxes.high + around)
        value = majorant(kernel, weights, wide, Y).value
        off.append(np.median(value - np.sum(weights * kernel(wide.centre, Y), axis=1)))
    assert off[0] > 3 * off[1] > 0


@pytest.mark.parametrize("kernel", [RBF(0.3), Matern32((0.2, 0.5, 1.0), 1.5), Matern52(0.4)], ids=str)
@pytest.mark.parametrize("width", [0.02, 0.4])
def test_covariances_and_functions_depart_from_their_tangents_by_no_more_than_is_said(kernel, width):
    rng = np.random.default_rng(0)
    low, Y = rng.random((20, 3)), rng.random((9, 3))
    boxes = Boxes(low, low + width * rng.random((20, 3)))
    Y[0] = boxes.centre[0]
    w = rng.standard_normal(9)
    norm, found, most = np.sqrt(w @ kernel(Y, Y) @ w), linear(kernel, boxes, Y), departure(kernel, boxes)
    for _ in range(40):
        h = boxes.half * rng.choice([-1, 1, *rng.uniform(-1, 1, 3)], (20, 3))
        off = np.array([kernel(x[None], Y)[0] for x in boxes.centre + h])
        off -= found.value + np.einsum("jnq,nj->nq", found.slope, h)
        assert np.all(off <= found.above + 1e-12)
        assert np.all(off >= -found.below - 1e-12)
        assert np.all(np.abs(off @ w) <= norm * most + 1e-12)


def test_slopes_are_derivatives():
    r2 = np.array([1e-3, 0.1, 1.0, 7.0])
    for kernel in KERNELS.values():
        if isinstance(kernel, Stationary):
            h = 1e-6 * r2
            numeric = (kernel.correlation(r2 + h) - kernel.correlation(r2 - h)) / (2 * h)
            assert np.allclose(kernel.slope(r2), numeric, rtol=1e-5)


class Wave(Stationary):
    """A kernel of one's own, of which nothing is known."""

    def correlation(self, r2):
        return np.sinc(np.sqrt(r2))

    def mixing(self, count, rng):
        return 1.0


def test_other_kernels_are_known_to_be_unknown():
    for kernel in (Linear(), Custom(lambda X, Y: X @ Y.T), RBF(1.0) + Linear(), Wave(), 2.0 * Wave().on("x")):
        assert not bounded_over_boxes(kernel)
