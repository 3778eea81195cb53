"""Intervals and chances that hold where the kernel is learned, and the model's own where it is given."""

import numpy as np
import pytest

from ostinato import Optimizer
from ostinato.kernels import RBF
from sizes import size

POINTS = np.random.default_rng(0).random((400, 2))
SMOOTH = np.sin(4 * POINTS[:, 0]) + np.cos(3 * POINTS[:, 1])
CLIFF = np.where(POINTS[:, 0] + POINTS[:, 1] > 1.2, -3.0, SMOOTH)


def measured(truth, seed=0, steps=120, **settings):
    opt, rng = Optimizer(POINTS, budget=steps, seed=seed, **settings), np.random.default_rng(seed)
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        opt.tell(batch, truth[batch.index] + 0.2 * rng.standard_normal(batch.repeats))
    return opt


@pytest.mark.parametrize("truth", [SMOOTH, CLIFF])
def test_90_per_cent_intervals_hold_about_as_often(truth):
    shares = []
    for seed in range(size(4, 8)):
        prediction = measured(truth, seed).predict()
        shares.append(np.mean(np.abs(truth - prediction.mean) <= 1.645 * prediction.std))
    assert 0.8 <= np.mean(shares) <= 0.99


def test_a_given_kernel_is_taken_at_its_word():
    opt = Optimizer(POINTS, kernel=RBF(0.3), noise_std=0.2, mean=0.0, seed=0)
    opt.observe(3, [1.0, 2.0])
    k = RBF(0.3)(POINTS[[3]], POINTS)[0]
    assert opt.predict().std == pytest.approx(np.sqrt(1 - k**2 / (1 + 0.02)), abs=1e-9)


@pytest.mark.parametrize("settings", [{}, {"kernel": RBF(0.3), "noise_std": 0.2, "mean": 0.0}])
def test_whoever_was_chosen_among_equals_was_lucky_unless_the_kernel_is_given(settings):
    opt = Optimizer(POINTS, seed=0, **settings)
    rng = np.random.default_rng(1)
    for candidate in range(30):  # all are as good
        opt.observe(candidate, 0.2 * rng.standard_normal(5))
    best = opt.best(0.9)
    low, high = (float(end[best.index]) for end in opt.predict().interval(0.9))
    moved = [low - best.interval[0], high - best.interval[1]]
    assert moved == pytest.approx([0.0, 0.0] if settings else [0.45 * best.std] * 2, rel=0.25)


def test_a_peak_that_is_sharper_than_the_model_thinks_is_judged_by_its_own_measurements():
    """On all sides neighbours say 0; thirty measurements of the candidate itself say 1.5, and are right."""
    X = np.linspace(0, 1, 101)[:, None]
    truth = -4 * (X[:, 0] - 0.5) ** 2
    truth[50] = 1.5
    held = []
    for seed in range(size(5, 20)):
        opt, rng = Optimizer(X, seed=seed), np.random.default_rng(seed)
        for candidate in range(0, 101, 2):
            opt.observe(candidate, truth[candidate] + rng.standard_normal(3))
        opt.observe(50, truth[50] + rng.standard_normal(27))
        best = opt.best(0.9)
        held.append(best.index == 50 and best.interval[0] <= 1.5 <= best.interval[1])
        assert all(each.interval[0] <= each.mean <= each.interval[1] for each in opt.top(5))
    assert np.mean(held) >= 0.7


def clicks(seed, views=4_000):
    """Rates of .02 nearly everywhere, and up to .12 in one corner."""
    rng = np.random.default_rng(seed)
    price, rating = rng.uniform(5, 50, 200), rng.integers(1, 6, 200)
    rates = 0.02 + 0.02 * rating * np.exp(-(((price - 20) / 10) ** 2))
    shown = 1 + np.bincount(rng.integers(200, size=views - 200), minlength=200)
    opt = Optimizer(np.column_stack([price, rating]), outcome="binary", goal="earn", seed=0)
    opt.observe(np.arange(200), successes=rng.binomial(shown, rates), trials=shown)
    return opt, rates


def test_a_rate_far_above_the_others_is_not_said_to_be_as_low_as_they_are():
    held = []
    for seed in range(size(15, 60)):
        opt, rates = clicks(seed)
        best = opt.best()
        held.append(best.interval[0] <= rates[best.index] <= best.interval[1])
    assert np.mean(held) >= 0.75  # 0.6 with a kernel of one variance


@pytest.mark.parametrize("stretch", [1.0, 1.5, 4.0])
def test_the_interval_under_a_larger_kernel_is_that_of_the_dense_matrix(stretch):
    opt, _ = clicks(0)
    opt.best()
    answers = opt.core.answers
    trust, posterior = answers._trust, answers._known.posterior
    number = opt.best().index
    i = int(np.flatnonzero(trust.measured == number)[0])
    X, noise = posterior.features[trust.measured], 1 / np.asarray(posterior.factor.w)
    averages = np.asarray(posterior.factor.m)
    M = np.linalg.inv(stretch**2 * posterior.kernel(X, X) + np.diag(noise))
    alpha = M @ averages
    variance, own = 1 / M[i, i] - noise[i], noise[i]
    others = averages[i] - alpha[i] / M[i, i]
    doubted = trust.widened**2 * max(1, (1 + alpha[i] ** 2 / M[i, i]) / 2) * variance
    middle = (doubted * averages[i] + own * others) / (doubted + own)
    std = 1.1 * np.sqrt(doubted * own / (doubted + own)) * trust.others / trust.widened
    shift, wider = trust.interval(number, stretch)
    mean, plain = posterior.answer_at(np.array([number]))
    believed = float(trust.of(np.array([number]))[0] * np.sqrt(plain[0]))
    assert mean[0] - posterior.prior_mean + shift == pytest.approx(middle, abs=1e-7)
    assert wider * believed == pytest.approx(std, rel=1e-5)


def test_the_same_point_has_the_same_interval_however_it_is_asked_for():
    opt = measured(SMOOTH)
    everywhere, here = opt.predict(), opt.predict(POINTS[:50])
    assert here.std == pytest.approx(everywhere.std[:50], rel=1e-6)
    assert np.sqrt(np.diagonal(opt.covariance(POINTS[:50]))) == pytest.approx(here.std, rel=1e-6)


def test_chances_grow_with_the_gap_and_within_is_where_they_reach_nine_tenths():
    opt = measured(SMOOTH)
    chances = [opt.chance_within(gap) for gap in (0.001, 0.01, 0.1, 1.0, 10.0)]
    assert opt.best().chance <= chances[0]
    assert chances == sorted(chances)
    within = opt.best().within
    assert opt.chance_within(1.01 * within) >= 0.9
    assert opt.chance_within(0.9 * within) < 0.9


def test_what_is_printed_says_something_useful():
    opt = measured(SMOOTH)
    assert float(str(opt.best()).split("within ")[1].split(" ")[0]) == pytest.approx(opt.best().within, rel=0.06)
    assert str(opt.best()).endswith("of the best with 90% probability")
    opt = Optimizer(np.array([[0.0], [100.0]]), kernel=RBF(1.0), noise_std=0.1, mean=0.0, seed=0)
    opt.observe(0, [3.0] * 20)
    opt.observe(1, [0.0] * 20)
    assert "the best of all with 100% probability" in str(opt.best())


def test_candidates_of_the_top_share_what_chance_there_is():
    opt = measured(SMOOTH)
    top = opt.top(5)
    assert top[0].chance == pytest.approx(opt.best().chance, abs=0.05)
    assert sum(each.chance for each in top) <= 1 + 1e-9


def test_where_all_candidates_were_measured_the_draws_are_believed():
    opt = Optimizer(np.array([[0.0], [1.0]]), seed=0)
    opt.observe(0, [0.0, 0.1, -0.1] * 5)
    opt.observe(1, [5.0, 5.1, 4.9] * 5)
    assert opt.best().index == 1
    assert opt.best().chance > 0.99


def test_values_of_any_size_that_is_accepted_are_answered():
    opt = Optimizer(np.arange(5.0)[:, None], seed=0)
    opt.observe([0, 1, 2, 3, 4, 0, 1], [1.0, 2.0, 3.0, 2.0, 1.0, 1.1, 1e90])
    assert opt.best().index == 2
    assert opt.best().within >= 0
    assert [each.value for each in opt.outliers] == [1e90]


def test_candidates_that_always_fail_are_no_rivals():
    opt = Optimizer(np.arange(3.0)[:, None], kernel=RBF(0.1), noise_std=0.1, mean=0.0, seed=0)
    opt.observe(0, [0.0] * 10)
    opt.observe(1, [1.0] * 10)
    assert opt.best().chance < 0.9  # the third may be better
    opt.observe(2, [None, None])
    assert opt.best().chance > 0.99


def test_few_candidates_are_within_what_is_said_about_as_often():
    """A smooth hill on a small grid: neighbours of the best are hard to tell apart, and that is said of all rows."""
    temperature, acid = np.meshgrid(np.arange(20, 81, 2.5), np.arange(4, 9.1, 0.25), indexing="ij")
    grid = np.stack([temperature.ravel(), acid.ravel()], axis=1)
    hill = 70 - (grid[:, 0] - 55) ** 2 / 20 - 4 * (grid[:, 1] - 6.5) ** 2
    held = []
    for seed in range(size(6, 12)):
        opt, rng = Optimizer(grid, budget=200, seed=seed), np.random.default_rng(seed)
        while opt.steps < 200:
            batch = opt.ask(limit=200 - opt.steps)
            opt.tell(batch, hill[batch.index] + 5 * rng.standard_normal(batch.repeats))
        held.append([70 - hill[each.index] <= each.within + 1e-9 for each in opt.top(3)])
    assert (np.mean(held, axis=0) >= 0.7).all()
