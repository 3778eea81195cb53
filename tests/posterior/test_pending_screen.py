"""Plans of very many candidates: bounds from earlier in a plan, and the choices of computing everything."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ostinato import MiniEI, Optimizer
from ostinato.kernels import RBF, Matern52
from ostinato.optimizer import model_with_pending
from ostinato.policies import GPEI, screened
from ostinato.posterior import Imagined, PendingPointwise, PendingScreen, Posterior, exact, host_block, screening
from sizes import size

X = np.random.default_rng(2).random((500, 3))
TRUTH = np.sin(7 * X[:, 0]) + X[:, 1] * np.cos(9 * X[:, 2])
KERNEL, NOISE = Matern52((0.5, 0.3, 0.8), 1.3), 0.04
SETTINGS = {
    "one at a time": {"policy": GPEI(), "kernel": KERNEL, "noise_std": 0.2, "mean": 0.0},
    "mini": {"policy": MiniEI(C=1.5, cap_per_candidate=9), "kernel": RBF(0.3), "noise_std": 0.5},
    "find": {"goal": "find", "budget": 400},
    "set-ups": {"goal": "find", "budget": 400, "setup_std": 0.1},
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Few candidates count as many, and few of them as too many to look at."""
    monkeypatch.setattr(screening, "BLOCK", 200)
    for name, value in (("SWEEP", 128), ("STRIP", 8), ("DIRECTIONS", 8), ("SPREAD", 100), ("SAMPLE", 20)):
        monkeypatch.setattr(host_block, name, value)
    for module, name, value in (
        (exact, "SCREEN_ABOVE", 100),
        (screened, "STALE", 20),
        (screened, "FIRST_COMPUTED", 4),
        (model_with_pending, "RATIO_SCREENED_ABOVE", 5),
        (model_with_pending, "RATIO_FIRST_COMPUTED", 2),
    ):
        monkeypatch.setattr(module, name, value)


def told(candidates=range(0, 500, 25)):
    posterior = Posterior(X, KERNEL, np.full(len(X), NOISE))
    for candidate in candidates:
        posterior.condition(candidate, 1 + candidate % 3, float(TRUTH[candidate]))
    return posterior


def dense(measured, wanted=slice(None)):
    """Means and variances by one solve, for [(candidate, count, mean or None where it is pending)]."""
    places = [candidate for candidate, _, _ in measured]
    K = KERNEL(X[places], X[places]) + np.diag([NOISE / n for _, n, _ in measured])
    k = KERNEL(X[places], X[wanted])
    return np.linalg.inv(K), k, 1.3**2 - np.sum(k * np.linalg.solve(K, k), axis=0)


@settings(deadline=None, max_examples=size(6, 15), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    picks=st.lists(st.tuples(st.integers(0, 499), st.integers(1, 5)), min_size=1, max_size=12), seed=st.integers(0, 99)
)
def test_bounds_hold_whatever_is_looked_at_in_between(picks, seed):
    posterior, rng = told(), np.random.default_rng(seed)
    few = PendingPointwise(posterior, Imagined(posterior.ghost()))
    found = PendingScreen(posterior.screen, few)
    measured = [(c, 1 + c % 3, 0.0) for c in range(0, 500, 25)]
    for candidate, n in picks:
        few.imagined.add(candidate, n)
        measured.append((candidate, n, None))
        some = np.unique(rng.integers(0, 500, 30))
        variances = few.at_each(some)[1]
        assert variances == pytest.approx(dense(measured, some)[2], abs=1e-9)
        if rng.random() < 0.5:
            found.set_variances(some, variances)
        if rng.random() < 0.3:
            assert found.tighten()
        assert np.all(dense(measured)[2] / 1.3**2 <= found.most(np.arange(500))[1])
    least, most = found.bounds()
    truth = dense(measured)[2] / 1.3**2
    assert np.all((least <= truth) & (truth <= most))
    assert np.max(most - least) < 0.01
    assert posterior.blocks_outdated  # nothing was computed for all candidates in double precision
    assert np.all(told().predict(X)[1] / 1.3**2 <= posterior.screen.most(np.arange(500))[1])  # its own is untouched


def expected_improvement(mean, variance):
    from scipy.stats import norm

    std = np.sqrt(variance)
    z = (mean - np.max(mean)) / std
    return std * (z * norm.cdf(z) + norm.pdf(z))


def test_a_plan_is_that_of_a_dense_computation():
    opt = Optimizer(X, **SETTINGS["one at a time"], seed=0)
    opt.observe(np.arange(0, 500, 25), TRUTH[::25])
    measured = [(c, 1, TRUTH[c]) for c in range(0, 500, 25)]
    M, k, before = dense(measured)
    mean = TRUTH[::25] @ M @ k
    picked = []
    for _ in range(24):
        variance = dense([*measured, *((c, 1, None) for c in picked)])[2]
        picked.append(int(np.argmax(expected_improvement(mean, variance))))
    plan = opt.ask(slots=24)
    assert Counter({batch.index: batch.repeats for batch in plan}) == Counter(picked)
    after = dense([*measured, *((c, 1, None) for c in picked)])[2]
    assert plan.ratio == pytest.approx(np.sqrt(np.max(before / after)), rel=1e-9)


def decisions(chosen, seed):
    """Plans and single batches, with others in flight, and failures."""
    opt, rng = Optimizer(X, seed=seed, **chosen), np.random.default_rng(seed)
    found, flying = [], []
    for step in range(8):
        plan = opt.ask(slots=6) if step < 2 else opt.ask(slots=int(rng.integers(2, 30)))
        found.append((plan.ratio, sorted((batch.index, batch.repeats) for batch in plan)))
        flying += plan
        flying.append(opt.ask(limit=4))
        found.append((1.0, [(flying[-1].index, flying[-1].repeats)]))
        stay = [] if step < 2 else flying[:: int(rng.integers(2, 5))]
        for batch in flying:
            if batch not in stay:
                values = TRUTH[batch.index] + 0.2 * rng.standard_normal(batch.repeats)
                values[rng.random(len(values)) < 0.05] = np.nan
                opt.tell(batch, values)
        flying = list(stay)
    return found


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("chosen", SETTINGS.values(), ids=SETTINGS)
def test_plans_are_those_of_computing_everything(chosen, seed, monkeypatch):
    lazy = decisions(chosen, seed)
    monkeypatch.setattr(exact, "SCREEN_ABOVE", 10**6)
    plain = decisions(chosen, seed)
    assert [picks for _, picks in lazy] == [picks for _, picks in plain]
    assert [ratio for ratio, _ in lazy] == pytest.approx([ratio for ratio, _ in plain], rel=1e-6)
