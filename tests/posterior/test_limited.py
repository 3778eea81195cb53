"""Rows that do not fit into memory are computed again, to the same numbers."""

import copy
import pickle

import array_api_strict
import numpy as np
import pytest

from ostinato import Optimizer
from ostinato.kernels import RBF
from ostinato.posterior.cache import CachedRows
from ostinato.posterior.limited import LimitedRows

KERNEL = RBF(0.3).bind([])
A, X = (np.random.default_rng(seed).random((size, 2)) for seed, size in ((0, 50), (1, 200)))


@pytest.mark.parametrize("xp", [np, array_api_strict])
@pytest.mark.parametrize("most", [0, 1, 17, 100, 1_000])
def test_the_same_numbers(xp, most):
    features, added = xp.asarray(A), xp.asarray(X)
    limited, rows = LimitedRows(KERNEL, features, most), CachedRows(KERNEL, features)
    for start, stop in ((0, 1), (1, 20), (20, 150), (150, 200)):
        for cache in (limited, rows):
            cache.add(added[start:stop, :])
    p = xp.asarray(np.random.default_rng(2).random((3, 200)))
    for cache in (limited, copy.copy(limited), pickle.loads(pickle.dumps(limited)) if xp is np else limited):
        for count in (1, 18, 200):
            np.testing.assert_allclose(cache.spread(p[0, :count]), rows.spread(p[0, :count]), rtol=1e-12)
            np.testing.assert_allclose(cache.spread(p[:, :count]), rows.spread(p[:, :count]), rtol=1e-12)
        for part in (slice(10, 30), np.array([3, 1, 49])):
            np.testing.assert_array_equal(cache.columns(part), rows.columns(part))
        numbers = np.array([0, 5, 17, 99, 180])
        np.testing.assert_array_equal(cache.some(numbers, slice(5, 40)), rows.some(numbers, slice(5, 40)))
    kept = sum(chunk.shape[0] for chunk in limited._chunks)
    assert kept <= most


@pytest.mark.parametrize("settings", [{}, {"kernel": RBF(0.3), "noise_std": 0.1}], ids=["learned", "given"])
def test_a_run_decides_the_same(settings, monkeypatch):
    monkeypatch.setattr("ostinato.optimizer.memory.SMALLEST", 1)

    def run(limit):
        opt, rng = Optimizer(A, seed=0, memory_limit=limit, **settings), np.random.default_rng(0)
        asked = []
        for _ in range(25):
            batch = opt.ask()
            asked.append((batch.index, batch.repeats))
            opt.tell(batch, A[batch.index, 0] + 0.1 * rng.standard_normal(batch.repeats))
        return asked, opt.best().mean

    (asked, mean), (limited, close) = run(None), run(8 * len(A) * 3)
    assert asked == limited
    assert close == pytest.approx(mean)
