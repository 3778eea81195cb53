"""Means and variances in single precision: within their errors, and choices are the same."""

import pickle

import numpy as np
import pytest

from ostinato import MiniEI, MiniUCB, Optimizer
from ostinato.kernels import RBF, Constant, Matern32, Matern52
from ostinato.kernels.single import ACCURACY, SLOPES, extent_of, single_form
from ostinato.policies import GPEI, GPUCB
from ostinato.posterior import Posterior, exact, host_block, screening
from ostinato.posterior.blocks import Block
from ostinato.posterior.screen import LOOSE_UP_TO

X = np.random.default_rng(0).random((700, 3))
KERNELS = {
    "learned": Matern52((0.5, 0.3, 0.8), 1.3) + Constant(2.0),
    "rougher": Matern32(0.4, 1e-20),
    "smooth": RBF((0.5, 0.7, 0.9), 1e20),
    "categories": Matern52((0.5, 0.3, 0.8), categories=(1,)),
}


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Few candidates count as many, in several blocks of several strips."""
    monkeypatch.setattr(screening, "BLOCK", 300)
    for name, value in (
        ("SWEEP", 128),
        ("WIDE", 110),
        ("HIGH", 4),
        ("TILE", 400),
        ("STRIP", 8),
        ("GATHERED", 4),
        ("DIRECTIONS", 3),
        ("SPREAD", 100),
        ("SAMPLE", 20),
    ):
        monkeypatch.setattr(host_block, name, value)
    monkeypatch.setattr(exact, "SCREEN_ABOVE", 100)


def features(name):
    rows = X.copy()
    if name == "categories":
        rows[:, 1] = np.floor(4 * rows[:, 1])
    return rows


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("at_once", [1, 50])
def test_covariances_are_as_good_as_is_said(name, at_once):
    kernel, rows = KERNELS[name], features(name)
    out = np.empty((50, len(rows)), dtype=np.float32)
    form = single_form(kernel, rows)
    assert form is not None
    covariances = form(rows)
    for part in (slice(0, 300), slice(300, len(rows))):
        for start in range(0, 50, at_once):
            points = covariances.points(rows[start : start + at_once])
            covariances.at(part)(out[start : start + at_once, part], points, slice(None))
    weighted = covariances.coefficients(np.eye(50)) @ np.concatenate([np.ones((covariances.ones, len(rows))), out])
    assert np.max(np.abs(weighted - kernel(rows[:50], rows) / kernel.diag(rows[:1])[0])) < ACCURACY / 4


def test_candidates_a_thousand_lengthscales_apart_have_covariances_that_are_numbers():
    """Squared distances cancel there, and must not come out below 0."""
    rows = np.arange(24_001.0)[:, None]
    form = single_form(Matern52(17.0), rows)
    assert form is not None
    covariances, measured = form(rows), np.append(rows[:60:3], rows[23_940::3], axis=0)
    out = np.empty((len(measured), len(rows)), dtype=np.float32)
    for start in range(0, len(rows), 110):
        part = slice(start, min(start + 110, len(rows)))
        with np.errstate(over="ignore"):  # what is far is divided by infinity
            covariances.at(part)(out[:, part], covariances.points(measured), slice(None))
    assert np.all(np.isfinite(out))


@pytest.mark.parametrize("unit", [1e20, 1e-21])
def test_units_that_single_precision_has_no_squares_for_are_left_to_double_precision(unit):
    rows = X * [unit, *([1.0] * (X.shape[1] - 1))]
    assert single_form(Matern52(tuple(0.3 * np.ptp(rows, axis=0))), rows) is None


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("width", [1.0, 30.0])
def test_covariances_that_are_computed_faster_are_as_good_as_is_said(name, width):
    """width: of the candidates; a few of them lie close together, and these are known best."""
    kernel, rows = KERNELS[name], features(name)
    numbers = [0, 2] if name == "categories" else [0, 1, 2]
    rows[:, numbers] *= width
    rows[:30, numbers] = rows[0, numbers] + 0.1 * rows[:30, numbers] / width
    form = single_form(kernel, rows)
    assert form is not None
    covariances, centre = form(rows), np.median(rows[:50], axis=0)
    out = np.empty((50, len(rows)), dtype=np.float32)
    points = covariances.loose(covariances.points(rows[:50]), centre)
    for part in (slice(0, 300), slice(300, len(rows))):
        with np.errstate(over="ignore"):  # what is far is divided by infinity
            covariances.at(part)(out[:, part], points, slice(None))
    weighted = covariances.coefficients(np.eye(50)) @ np.concatenate([np.ones((covariances.ones, len(rows))), out])
    exact = kernel(rows[:50], rows) / kernel.diag(rows[:1])[0]
    off, bound = np.max(np.abs(weighted - exact), axis=1), covariances.looseness(rows[:50], centre)
    assert np.all(off < covariances.accuracy / 4 + bound)
    assert np.max(bound[:30]) < 2e-5
    if width > 1:
        assert np.max(bound) > 1e-3


@pytest.mark.parametrize("kernel", [RBF(), Matern32(), Matern52()])
def test_slopes_are_as_steep_as_is_said(kernel):
    r = np.linspace(1e-6, 20, 200_001)
    slope = np.abs(kernel.slope(r**2))
    assert np.max(slope) <= -kernel.slope(np.zeros(1))[0]
    assert np.max(r * slope) < SLOPES[0]
    assert np.max(r**2 * slope) < SLOPES[1]


@pytest.mark.parametrize(("noise", "faster"), [(0.1, True), (0.001, False)])
def test_covariances_are_computed_faster_only_where_errors_stay_small(monkeypatch, noise, faster):
    loosened = []
    monkeypatch.setattr(host_block.HostBlock, "loosen", lambda block, centre: loosened.append(block.start))
    posterior = Posterior(X, RBF(0.3), np.full(len(X), noise))
    for candidate in range(60):
        posterior.condition(candidate, 1, float(np.sin(candidate)))
    found = posterior.screen
    assert bool(loosened) == faster
    assert (max(found.mean_error, found.variance_error) < LOOSE_UP_TO) == faster


def test_one_candidate_measured_of_a_large_block(monkeypatch):
    """Its covariances are computed some at a time, as for many."""
    monkeypatch.undo()
    rows = np.random.default_rng(0).random((100_000, 2))
    posterior = Posterior(rows, Matern52(0.3), np.full(len(rows), 0.1))
    posterior.condition(5, 1, 1.0)
    assert posterior.screen.highest == pytest.approx(1 / 1.1, abs=1e-5)


def test_columns_of_very_many_length_scales_have_no_such_form():
    assert single_form(Matern52(1e-6), X) is None


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("looks", [1, 7, 50])
def test_means_and_variances_are_within_their_errors(name, looks):
    kernel, rows = KERNELS[name], features(name)
    kappa = np.sqrt(kernel.diag(rows[:1])[0])
    posterior = Posterior(rows, kernel, np.full(len(rows), 0.01 * kappa**2))
    rng = np.random.default_rng(1)
    for step in range(60):
        posterior.condition(int(rng.integers(40)), 1 + step % 3, float(kappa * rng.standard_normal()))
        if step % looks == 0:
            check(posterior, kappa)
    check(posterior, kappa)
    everyone = np.arange(len(rows))
    found = posterior.screen
    found.refine(everyone)
    assert np.max(np.abs(found.most(everyone)[1] - posterior.predict(rows)[1] / kappa**2)) < 2.1 * found.variance_error


def check(posterior, kappa):
    found = posterior.screen
    means, variances = posterior.predict(posterior.features)
    most_mean, most_variance = found.most(np.arange(len(means)))
    assert np.all(means / kappa <= most_mean)
    assert np.all(most_mean - 2 * found.mean_error <= means / kappa)
    assert np.all(variances / kappa**2 <= most_variance)
    assert not found.needs_repair


def test_exact_answers_come_from_the_facts_and_the_blocks_are_made_when_they_are_asked_for():
    posterior = Posterior(X, KERNELS["learned"], np.full(len(X), 0.1))
    for candidate in (3, 600, 3, 250):
        posterior.condition(candidate, 2, float(candidate) / 100)
    assert posterior.screen is not None
    at = np.array([3, 8, 250, 699])
    means, variances = posterior.at_each(at)
    again = pickle.loads(pickle.dumps(posterior))
    assert posterior.means.at(at) == pytest.approx(means, abs=1e-10)
    assert posterior.variances.at(at) == pytest.approx(variances, abs=1e-10)
    assert posterior.screen is None
    assert again.screen is not None
    assert again.at_each(at)[0] == pytest.approx(means, abs=1e-12)


SETTINGS = {
    "bounds": {"policy": GPUCB(), "kernel": RBF(0.3), "noise_std": 0.2},
    "mini bounds": {
        "policy": MiniUCB(C=1.5, cap_per_candidate=3),
        "kernel": Matern52(0.3),
        "noise_std": 0.2,
        "switch_cost": 2.0,
    },
    "one at a time": {"policy": GPEI(), "kernel": RBF(0.3), "noise_std": 0.2},
    "mini": {"policy": MiniEI(C=1.5), "kernel": RBF(0.3), "noise_std": 0.2},
    "at most three of each": {"policy": MiniEI(C=1.5, cap_per_candidate=3), "kernel": RBF(0.3), "noise_std": 0.2},
    "find, learned": {"goal": "find", "budget": 90},
    "switches cost": {"goal": "find", "budget": 90, "switch_cost": 3.0},
}


def choices(settings, seed):
    opt, rng = Optimizer(X, seed=seed, **settings), np.random.default_rng(seed)
    truth, found = np.sin(7 * X[:, 0]) + X[:, 1] * np.cos(9 * X[:, 2]), []
    while opt.steps < 90:
        for batch in opt.ask(slots=3) if len(found) % 9 == 8 else [opt.ask(limit=90 - opt.steps)]:
            found.append((batch.index, batch.repeats))
            opt.tell(batch, truth[batch.index] + 0.2 * rng.standard_normal(batch.repeats))
    return found, opt.best().index


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_choices_are_those_of_computing_everything_in_double_precision(settings, seed, monkeypatch):
    screened = choices(settings, seed)
    monkeypatch.setattr(exact, "SCREEN_ABOVE", 10**6)
    assert choices(settings, seed) == screened


def told(model, count=8):
    for i in range(count):
        model.condition(50 * i, 1, float(np.sin(i)))
    return model


def assert_same(model, other):
    for ours, theirs in zip(model.over_candidates(), other.over_candidates(), strict=True):
        assert ours == pytest.approx(theirs, abs=1e-9)


class Stop:
    """In place of a method: the second call is interrupted."""

    def __init__(self, method):
        self.method, self.calls = method, 0

    def __get__(self, instance, owner):
        def call(*given):
            self.calls += 1
            if self.calls == 2:
                raise KeyboardInterrupt
            return self.method(instance, *given)

        return call


@pytest.mark.parametrize("what", ["condition", "refresh"])
def test_a_screen_that_was_stopped_half_way_is_made_anew(what, monkeypatch):
    """Ctrl-C while a decision looks: the next one sees what it would have seen."""
    model = told(Posterior(X, KERNELS["learned"], np.full(len(X), 0.1)))
    assert model.screen is not None
    model.condition(33, 2, 1.0)
    if what == "refresh":
        model._screening.invalidate()
    monkeypatch.setattr(host_block.HostBlock, what, Stop(getattr(host_block.HostBlock, what)))
    with pytest.raises(KeyboardInterrupt):
        _ = model.screen
    found = model.screen
    means = (found.most(np.arange(len(X)))[0] - found.mean_error) * np.sqrt(model.kappa2)
    whole = told(Posterior(X, KERNELS["learned"], np.full(len(X), 0.1)))
    whole.condition(33, 2, 1.0)
    assert means == pytest.approx(whole.means.flat(), abs=2 * found.mean_error * np.sqrt(model.kappa2))


def test_blocks_that_were_stopped_half_way_are_made_anew(monkeypatch):
    model, whole = (told(Posterior(X, KERNELS["learned"], np.full(len(X), 0.1), block_size=200)) for _ in range(2))
    monkeypatch.setattr(Block, "fresh_mean", Stop(Block.fresh_mean))
    with pytest.raises(KeyboardInterrupt):
        _ = model.means
    assert_same(model, whole)


@pytest.mark.parametrize("looked", [False, True])
def test_a_screened_model_takes_more_candidates(looked):
    kernel, noise = KERNELS["learned"], np.full(len(X), 0.1)
    model = told(Posterior(X[:-3], kernel, noise[:-3]))
    assert not looked or model.screen is not None
    wider, whole = model.extended(X, noise), told(Posterior(X, kernel, noise))
    assert_same(wider, whole)
    for each in (wider, whole):
        each.condition(len(X) - 1, 2, 1.5)
    assert_same(wider, whole)


def test_few_directions_leave_variances_that_are_too_large_and_no_others():
    kernel = Matern52(0.5, 1.5)
    posterior = Posterior(X, kernel, np.full(len(X), 0.1))
    for candidate in range(40):
        posterior.condition(7 * candidate, 1, np.sin(candidate))
    screen = posterior.screen
    assert screen is not None
    screen.refresh(posterior.factor)
    everywhere = np.arange(len(X))
    known = posterior.at_each(everywhere)[1] / 1.5**2
    variances = screen.most(everywhere)[1]
    assert np.all(variances >= known - 1e-12)
    assert np.mean(variances - known) < 0.5
    screen.refine(everywhere)
    np.testing.assert_allclose(screen.most(everywhere)[1], known, atol=3 * screen.variance_error)


def test_the_extent_of_many_rows_is_that_of_each():
    rows = np.random.default_rng(0).standard_normal((1_000, 5))
    for count in (1, 63, 64, 1_000):
        low, high = extent_of(rows[:count])
        assert (low == rows[:count].min(axis=0)).all()
        assert (high == rows[:count].max(axis=0)).all()
