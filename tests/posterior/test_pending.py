"""Looking ahead: lazily or at once, the same variances."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.kernels import RBF
from ostinato.posterior import NoModel, Nystrom, PendingVariances, Posterior
from sizes import size

GRID = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0), indexing="ij"), axis=-1).reshape(-1, 2)
MODELS = {
    "exact": lambda: Posterior(GRID, RBF(1.5), np.full(30, 0.3), block_size=11),
    "grid": lambda: Posterior(GRID, RBF(1.5), np.full(30, 0.3)),
    "nystrom": lambda: Nystrom(GRID, RBF(1.5), np.full(30, 0.3), block_size=11),
    "unmodelled": lambda: NoModel(GRID, RBF(1.5), np.full(30, 0.3)),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@settings(deadline=None, max_examples=size(8, 20))
@given(
    picks=st.lists(st.tuples(st.integers(0, 29), st.integers(1, 5)), min_size=1, max_size=10), seed=st.integers(0, 99)
)
def test_whatever_is_looked_at_in_between_the_end_is_the_same(model, picks, seed):
    posterior, rng = model(), np.random.default_rng(seed)
    for row, n, value in [(0, 3, 1.0), (7, 1, 0.2), (29, 2, -1.0)]:
        posterior.condition(row, n, value)
    posterior = posterior.refreshed(rng) if isinstance(posterior, Nystrom) else posterior
    lazy, eager = (PendingVariances(posterior.variances, posterior.ghost()) for _ in range(2))
    for candidate, n in picks:
        assert lazy.add(candidate, n) == pytest.approx(eager.add(candidate, n), abs=1e-12)
        some = np.unique(rng.integers(0, 30, rng.integers(1, 30)))
        lazy.update(some)
        eager.update(np.arange(30))
        assert lazy.variances[some] == pytest.approx(eager.variances[some], abs=1e-12)
        assert (lazy.variances >= eager.variances - 1e-12).all()
    assert lazy.everywhere() == pytest.approx(eager.everywhere(), abs=1e-12)
    assert len(lazy.update(np.arange(30))) == 0


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_same_candidate_again_and_again_is_what_imagining_it_once_with_as_many_is(model):
    posterior = model()
    posterior.condition(3, 2, 1.0)
    posterior = posterior.refreshed(np.random.default_rng(0)) if isinstance(posterior, Nystrom) else posterior
    often, once = (PendingVariances(posterior.variances, posterior.ghost()) for _ in range(2))
    for candidate in (4, 4, 4, 9, 4, 4):
        often.add(candidate, 2)
        often.everywhere()
    for candidate, n in ((4, 6), (9, 2), (4, 4)):
        once.add(candidate, n)
    assert often.everywhere() == pytest.approx(once.everywhere(), abs=1e-12)


def test_imagining_leaves_the_model_alone():
    posterior = MODELS["exact"]()
    posterior.condition(3, 2, 1.0)
    before = posterior.variances.flat()
    pending_variances = PendingVariances(posterior.variances, posterior.ghost())
    pending_variances.add(4, 10)
    pending_variances.everywhere()
    assert np.array_equal(posterior.variances.flat(), before)
    assert posterior.at(4)[1] == before[4]
