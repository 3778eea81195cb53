"""Candidates that wait until their bounds matter: bounds hold, and choices are those of computing everything."""

import pickle

import numpy as np
import pytest

from ostinato import MiniUCB, Optimizer
from ostinato.kernels import RBF, Constant, Matern32, Matern52
from ostinato.policies import GPUCB
from ostinato.posterior import Posterior, exact, lazy_block

X = np.random.default_rng(0).random((700, 3))
KERNELS = {
    "smooth": RBF((0.2, 0.3, 0.4), 1.5),
    "rough": Matern32(0.3, 2.0),
    "unknown mean": Matern52((0.5, 0.2, 0.3), 1.3) + Constant(2.0),
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Few candidates count as very many, in small leaves."""
    for name, value in (
        ("SCREEN_ABOVE", 100),
        ("LAZY_SCREEN_FROM", 100),
        ("LAZY_FROM", 12),
        ("MAX_UPDATED_SHARE", 1.0),
    ):
        monkeypatch.setattr(exact, name, value)
    for name, value in (("LEAF", 24), ("WAIT", 3), ("SAMPLED", 90)):
        monkeypatch.setattr(lazy_block, name, value)


def measured(kernel, steps, seed=1):
    """A posterior in blocks, and what comes next: candidate, repeats, value."""
    kappa = np.sqrt(kernel.diag(X[:1])[0])
    posterior, rng = Posterior(X, kernel, np.full(len(X), 0.1 * kappa**2)), np.random.default_rng(seed)
    told = [(int(rng.integers(60)), 1 + i % 4, float(kappa * rng.standard_normal())) for i in range(steps + 40)]
    for each in told[:steps]:
        posterior.condition(*each)
    _ = posterior.means
    return posterior, told[steps:]


def may_reach(posterior, bar, slope):
    screen, kappa = posterior.screen, np.sqrt(posterior.kappa2)
    return set(screen.above([((bar - posterior.prior_mean) / kappa, slope)])[0].tolist())


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("steps", [30, 45])
def test_no_candidate_above_a_bar_is_missed(kernel, steps):
    posterior, more = measured(kernel, steps)
    posterior.enable_lazy_screen(2.0)
    assert posterior.screen.lazy
    for i, each in enumerate(more):
        posterior.condition(*each)
        slope = (2.0, 0.5, 0.0, 3.5)[i % 4]
        mean, variance = posterior.predict(X)
        reach = mean + slope * np.sqrt(variance)
        for bar in np.quantile(reach, (0.995, 0.9) if i % 5 else (0.6,)):
            assert set(np.flatnonzero(reach >= bar).tolist()) <= may_reach(posterior, bar, slope)
    assert posterior.screen.lazy


def test_most_leaves_are_left_alone():
    posterior, more = measured(RBF(0.15, 1.0), 200)
    posterior.enable_lazy_screen(2.0)
    for candidate, repeats, _ in more:
        posterior.condition(candidate, repeats, posterior.at(candidate)[0] + 0.05)
        mean, variance = posterior.at_each(np.arange(len(X)))
        may_reach(posterior, float(np.max(mean + 2 * np.sqrt(variance))) - 1e-9, 2.0)
    assert 0 < posterior.screen.updated_share < 0.5


SETTINGS = {
    "bounds": {"policy": GPUCB(), "kernel": RBF(0.3), "noise_std": 0.2},
    "often the same": {"policy": MiniUCB(C=1.5), "kernel": RBF(0.2), "noise_std": 0.3},
    "at most three of each": {
        "policy": MiniUCB(C=1.5, cap_per_candidate=3),
        "kernel": Matern52(0.3) + Constant(1.0),
        "noise_std": 0.2,
    },
}


def choices(settings, plans):
    opt, rng = Optimizer(X, seed=0, **settings), np.random.default_rng(0)
    truth, found, lazy = np.sin(7 * X[:, 0]) + X[:, 1] * np.cos(9 * X[:, 2]), [], 0
    while opt.steps < 110:
        for batch in opt.ask(slots=3) if plans and len(found) % 9 == 8 else [opt.ask(limit=110 - opt.steps)]:
            found.append((batch.index, batch.repeats))
            opt.tell(batch, truth[batch.index] + 0.2 * rng.standard_normal(batch.repeats))
        screen = opt.core.known.model.screen
        lazy += screen is not None and screen.lazy
    return found, opt.best().index, lazy


@pytest.mark.parametrize("plans", [False, True])
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_choices_are_those_of_computing_everything(settings, plans, monkeypatch):
    monkeypatch.setattr(exact, "SCREEN_ABOVE", 10**6)  # blocks, and no screen in single precision
    *lazily, times = choices(settings, plans)
    assert times > (0 if plans else 10)  # with something in flight, all are brought up to date for good
    monkeypatch.setattr(exact, "LAZY_SCREEN_FROM", 10**6)
    *plainly, times = choices(settings, plans)
    assert times == 0
    assert lazily == plainly


def test_where_it_does_not_pay_all_candidates_are_kept_up_to_date_again(monkeypatch):
    posterior, more = measured(RBF(0.3), 30)
    posterior.enable_lazy_screen(2.0)
    monkeypatch.setattr(exact, "MAX_UPDATED_SHARE", 0.01)
    for each in more[:4]:
        posterior.condition(*each)
        if posterior.screen is not None:
            posterior.screen.refine(np.arange(len(X)))
    assert posterior.screen is None
    posterior.enable_lazy_screen(2.0)
    assert posterior.screen is None
    mean, variance = posterior.predict(X)
    assert posterior.means.flat() == pytest.approx(mean, abs=1e-9)
    assert posterior.variances.flat() == pytest.approx(variance, abs=1e-9)


def test_that_it_does_not_pay_is_seen_from_a_sample(monkeypatch):
    """Leaves of all candidates take as long as several epochs; nobody makes them for a no."""
    asked, made = list[int](), lazy_block.Leaves.of
    monkeypatch.setattr(lazy_block.Leaves, "of", lambda X, *more: asked.append(len(X)) or made(X, *more))
    monkeypatch.setattr(exact, "MAX_UPDATED_SHARE", 0.4)
    posterior, _ = measured(RBF(0.05), 30)
    posterior.enable_lazy_screen(2.0)
    assert posterior.screen is None
    assert asked == [100]  # one in seven


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(("lengthscale", "height"), [(0.1, 0.1), (0.1, 0.3), (0.15, 0.1), (0.2, 0.6)])
def test_a_sample_says_about_what_all_candidates_say(monkeypatch, lengthscale, height, ordered):
    for name, value in (("LEAF", 256), ("SAMPLED", 8_192)):
        monkeypatch.setattr(lazy_block, name, value)
    rng, grid = np.random.default_rng(4), np.stack(np.meshgrid(*3 * [np.linspace(0, 1, 32)]), -1)
    points = grid.reshape(-1, 3) if ordered else rng.random((32_768, 3))
    posterior = Posterior(points, kernel := RBF(lengthscale), np.full(len(points), 0.1))
    for candidate in rng.integers(len(points), size=120).tolist():
        posterior.condition(candidate, 4, height * float(np.sin(5 * points[candidate]).sum()))
    mean, deviation = posterior.means.flat(), np.sqrt(posterior.variances.flat())
    places, leaves = lazy_block.Sample.of(points, kernel)
    expected = lazy_block.Leaves.of(points, kernel).updated_share(mean, deviation, 2.0)
    assert leaves.updated_share(mean[places], deviation[places], 2.0) == pytest.approx(
        expected, abs=exact.SAMPLE_TOLERANCE
    )


def test_a_leaf_that_was_stopped_half_way_starts_again(monkeypatch):
    posterior, more = measured(RBF(0.3), 30)
    posterior.enable_lazy_screen(2.0)
    for each in more[:2]:
        posterior.condition(*each)
    finished = lazy_block.Leaf.condition

    def stopped(self, P, z):
        finished(self, P, z)
        raise KeyboardInterrupt

    monkeypatch.setattr(lazy_block.Leaf, "condition", stopped)
    with pytest.raises(KeyboardInterrupt):
        may_reach(posterior, 0.0, 2.0)
    monkeypatch.setattr(lazy_block.Leaf, "condition", finished)
    mean, variance = posterior.predict(X)
    found, _ = posterior.screen.most(np.arange(len(X)))
    assert found == pytest.approx(mean, abs=1e-8)
    assert set(np.flatnonzero(mean + 2 * np.sqrt(variance) >= 1.0)) <= may_reach(posterior, 1.0, 2.0)


def test_a_lazy_posterior_can_be_stored_and_rebuilt():
    posterior, more = measured(KERNELS["unknown mean"], 30)
    posterior.enable_lazy_screen(2.0)
    posterior.condition(*more[0])
    again = pickle.loads(pickle.dumps(posterior))
    at = np.array([0, 5, 600])
    assert again.screen is not None
    assert again.at_each(at)[0] == pytest.approx(posterior.at_each(at)[0], abs=1e-10)
    assert again.means.at(at) == pytest.approx(posterior.means.at(at), abs=1e-9)
