"""Every cache is the matrix k(X, A): whatever it stores, products and columns are the same."""

import pickle
from functools import partial

import array_api_strict
import numpy as np
import pytest

from ostinato.arrays import from_numpy, to_numpy
from ostinato.kernels import RBF, Column, Constant, Hamming, Matern52
from ostinato.posterior import Posterior, cache
from ostinato.posterior.cache import CachedRows, GridRows, RowMemory
from ostinato.posterior.grid import find_grid
from ostinato.posterior.limited import LimitedRows

AXES = (np.linspace(-2, 2, 7), np.array([0.0, 1.0, 5.0]), np.linspace(0, 1, 4))
GRID = np.stack(np.meshgrid(*AXES, indexing="ij"), axis=-1).reshape(-1, 3)
SHUFFLED = GRID[np.random.default_rng(0).permutation(len(GRID))]
COLUMNS = [Column(0), Column(1, "category"), Column(2)]
SOME = GRID[np.sort(np.random.default_rng(3).choice(len(GRID), 50, replace=False))]
LAYOUTS = pytest.mark.parametrize("candidates", [GRID, SHUFFLED, SOME], ids=["in order", "shuffled", "with gaps"])
KERNEL = (2.0 * RBF((1.0, 0.5)).on(0, 2) * Hamming().on(1) * Constant(0.7) + Constant(1.5)).bind(COLUMNS)


def rows(xp, candidates):
    return CachedRows(KERNEL, from_numpy(xp, candidates))


def factored(xp, candidates):
    return GridRows(xp, find_grid(KERNEL, candidates))


@pytest.mark.parametrize("xp", [np, array_api_strict])
@LAYOUTS
@pytest.mark.parametrize("make", [rows, factored])
def test_every_cache_is_the_kernels_matrix(make, candidates, xp, monkeypatch):
    monkeypatch.setattr(cache, "FIRST_ROWS", 8)
    monkeypatch.setattr(cache, "FIRST_COVARIANCES", 0)
    monkeypatch.setattr(cache, "TILE", 2 * len(candidates))
    rng = np.random.default_rng(1)
    found = make(xp, candidates)
    chosen = rng.choice(len(candidates), 30, replace=False)
    for part in (chosen[:1], chosen[1:2], chosen[2:23], chosen[23:]):
        found.add(from_numpy(xp, candidates[part]))
    K = KERNEL(candidates[chosen], candidates)
    p, P = rng.standard_normal(30), rng.standard_normal((3, 30))
    assert to_numpy(found.spread(from_numpy(xp, p))) == pytest.approx(p @ K)
    assert to_numpy(found.spread(from_numpy(xp, p[:20]))) == pytest.approx(p[:20] @ K[:20])
    assert to_numpy(found.spread(from_numpy(xp, P))) == pytest.approx(P @ K)
    assert to_numpy(found.columns(slice(5, 40))) == pytest.approx(K[:, 5:40])


@pytest.mark.parametrize("make", [CachedRows, partial(LimitedRows, most=20)])
def test_rows_whose_memory_another_cache_uses_are_computed_again(make, monkeypatch):
    """Products and columns are the same to the bit, in the old cache and in the new one."""
    monkeypatch.setattr(cache, "FIRST_COVARIANCES", 0)
    room, p = RowMemory(), np.random.default_rng(0).standard_normal(30)
    first, plain = make(KERNEL, GRID, room=room), make(KERNEL, GRID)
    for part in (slice(0, 1), slice(1, 18), slice(18, 24)):
        first.add(GRID[part])
        plain.add(GRID[part])
    other = room.passed_on()
    second, alone = make(Matern52(), GRID, room=other), make(Matern52(), GRID)
    for part in (slice(30, 45), slice(45, 50)):
        second.add(GRID[part])
        alone.add(GRID[part])
    assert first.spread(p[:24]).tolist() == plain.spread(p[:24]).tolist()
    first.add(GRID[24:30])
    plain.add(GRID[24:30])
    assert first.spread(p).tolist() == plain.spread(p).tolist()
    assert first.columns(slice(None)).tolist() == plain.columns(slice(None)).tolist()
    assert second.spread(p[:20]).tolist() == alone.spread(p[:20]).tolist()
    assert second.columns(slice(None)).tolist() == alone.columns(slice(None)).tolist()


def test_memory_is_used_again_where_it_is_enough():
    room = RowMemory()
    room.take(16, 100)[:] = 1.0
    again = room.passed_on()
    assert room.gone
    assert not again.gone
    assert again.take(10, 100).min() == 1.0
    more = again.take(10, 100)  # too many: there are six rows left
    assert not np.shares_memory(more, again.take(10, 100))
    assert not pickle.loads(pickle.dumps(room)).gone  # what is copied has rows of its own


def test_a_grid_is_found_in_any_order_and_with_gaps():
    assert find_grid(KERNEL, GRID).shape == (7, 3, 4)
    assert find_grid(KERNEL, GRID).lattice.in_order
    assert not find_grid(KERNEL, SHUFFLED).lattice.in_order
    assert not find_grid(KERNEL, GRID[:-1]).lattice.in_order
    assert find_grid(KERNEL, GRID[np.arange(0, len(GRID), 5)]) is None  # too few of its points
    assert find_grid(Matern52(), GRID) is None
    for candidates in (SHUFFLED, SOME):
        assert GRID[find_grid(KERNEL, candidates).place].tolist() == candidates.tolist()


@pytest.mark.parametrize(
    ("shape", "pays"), [((22, 22, 22), True), ((5000, 2), False), ((100, 100), True), ((40,), False)]
)
def test_rows_are_factored_where_that_is_shorter(shape, pays):
    axes = [np.arange(float(n)) for n in shape]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(shape))
    assert GridRows.pays(find_grid(RBF(), points)) is pays


@LAYOUTS
def test_a_posterior_on_a_grid_is_the_posterior(candidates):
    """Hundreds of epochs, repairs and sweeps included, with the grid's structure used and not used."""
    rng = np.random.default_rng(2)
    noise = np.full(len(candidates), 0.3)
    on_grid, in_rows = Posterior(candidates, KERNEL, noise), Posterior(candidates, KERNEL, noise, block_size=30)
    for row in rng.integers(0, 40, 3000):
        value, n = rng.standard_normal(), int(10 ** rng.uniform(0, 4))
        on_grid.condition(int(row), n, value / np.sqrt(n))
        in_rows.condition(int(row), n, value / np.sqrt(n))
    assert on_grid.means.flat() == pytest.approx(in_rows.means.flat(), abs=1e-9)
    assert on_grid.variances.flat() == pytest.approx(in_rows.variances.flat(), rel=1e-6, abs=1e-13)
