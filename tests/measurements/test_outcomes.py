"""Yes and no, counts, amounts: what may be told, what is answered, and what comes of it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import truncnorm

from ostinato import Optimizer, optimize
from ostinato.errors import InvalidFeedback, InvalidSetting
from ostinato.measurements.outcomes import OUTCOMES
from ostinato.measurements.tally import Statistics

ITEMS = np.random.default_rng(0).random((200, 2))
BUMP = np.exp(-((ITEMS - 0.4) ** 2).sum(axis=1) / 0.1)
RATES = 0.05 + 0.25 * (BUMP - BUMP.min()) / (BUMP.max() - BUMP.min())


def clicks(steps, seed=0, rates=RATES, **settings):
    """The optimiser after so many events, and the true rate of what was shown in each of them."""
    opt, rng = Optimizer(ITEMS, outcome="binary", seed=seed, **settings), np.random.default_rng(seed)
    shown: list[float] = []
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        opt.tell(batch, rng.random(batch.repeats) < rates[batch.index])
        shown += [rates[batch.index]] * batch.repeats
    return opt, np.array(shown)


@pytest.mark.parametrize(
    ("outcome", "right", "wrong"),
    [
        ("binary", [0, 1, True, np.False_, None], [0.5, 2, -1]),
        ("count", [0, 3, 7.0, None], [0.5, -1]),
        ("positive", [0.0, 2.5, None], [-0.1]),
        ("real", [-1.5, 0, None], []),
    ],
)
def test_only_values_of_the_kind_are_taken(outcome, right, wrong):
    opt = Optimizer(ITEMS, outcome=outcome, seed=0)
    opt.observe(3, right)
    assert opt.steps == len(right) - 1
    for value in wrong:
        with pytest.raises(InvalidFeedback, match=f"{value:g} is not a measurement of outcome='{outcome}'"):
            opt.observe(3, [0, value])
    assert opt.steps == len(right) - 1


@pytest.mark.parametrize("given", [True, np.True_, [True, False], (1, 0), np.array([True, False])])
def test_true_and_false_come_in_any_shape(given):
    opt = Optimizer(ITEMS, outcome="binary", seed=0)
    opt.observe(3, given)
    assert opt.steps == np.size(given)


def test_successes_of_so_many_trials_are_the_same_as_the_values():
    one, all_at_once = Optimizer(ITEMS, outcome="binary", seed=0), Optimizer(ITEMS, outcome="binary", seed=0)
    one.observe(3, [1] * 3 + [0] * 197)
    all_at_once.observe(3, successes=3, trials=200)
    assert one.steps == all_at_once.steps == 200
    assert all_at_once.best().mean == pytest.approx(one.best().mean)
    batch = all_at_once.ask(limit=5)
    all_at_once.tell(batch, successes=0, trials=batch.repeats)
    assert all_at_once.steps == 200 + batch.repeats


def test_successes_of_many_items_are_told_at_once():
    one, all_at_once = Optimizer(ITEMS, outcome="binary", seed=0), Optimizer(ITEMS, outcome="binary", seed=0)
    for item, successes, trials in [(3, 3, 200), (5, 0, 20), (3, 1, 10)]:
        one.observe(item, successes=successes, trials=trials)
    all_at_once.observe([3, 5, 3], successes=[3, 0, 1], trials=[200, 20, 10])
    assert all_at_once.steps == 230
    assert all_at_once.predict().mean == pytest.approx(one.predict().mean)
    with pytest.raises(InvalidFeedback, match="2 candidates came with successes of shape"):
        all_at_once.observe([3, 5], successes=[1], trials=10)
    with pytest.raises(InvalidFeedback, match="give one for each"):
        all_at_once.observe([3, 5])
    with pytest.raises(InvalidFeedback, match=r"values of no shape, \[\[1, 0\], \[1\]\]: give one for each"):
        all_at_once.observe([3, 5], [[1, 0], [1]])


@pytest.mark.parametrize(("successes", "trials"), [(3, 2), (-1, 5), (0, 0), (0.5, 2), (1, None)])
def test_successes_that_cannot_be_are_refused(successes, trials):
    opt = Optimizer(ITEMS, outcome="binary", seed=0)
    with pytest.raises(InvalidFeedback, match="successes"):
        opt.observe(3, successes=successes, trials=trials)
    assert opt.steps == 0


def test_successes_are_for_yes_and_no():
    with pytest.raises(InvalidFeedback, match="outcome='binary'"):
        Optimizer(ITEMS, seed=0).observe(3, successes=3, trials=4)


def test_the_mean_of_yes_and_no_says_how_they_scatter():
    binary = OUTCOMES["binary"]
    assert binary.summary(4, 0.25, None) == Statistics(4, 0.25, 0.75)
    with pytest.raises(InvalidFeedback, match=r"mean=1\.5"):
        binary.summary(4, 1.5, None)


def test_an_unknown_kind_is_refused_and_noise_that_contradicts_it():
    with pytest.raises(InvalidSetting, match="'binary'"):
        Optimizer(ITEMS, outcome="clicks")
    with pytest.raises(InvalidSetting, match="follows the mean"):
        Optimizer(ITEMS, outcome="count", noise_std=0.1)


@given(
    mean=st.floats(-2, 3),
    std=st.floats(1e-6, 5),
    level=st.floats(0.5, 0.999),
    outcome=st.sampled_from(["binary", "count", "positive"]),
)
def test_answers_stay_within_the_bounds_and_are_those_of_a_normal_law_cut_off_there(mean, std, level, outcome):
    kind = OUTCOMES[outcome]
    m, s = np.array([mean]), np.array([std])
    inside, spread = kind.inside(m, s)
    width = -truncnorm(-np.inf, np.inf).ppf(0.5 - level / 2)
    low, high = kind.interval(m, s, width)
    assert kind.low <= low[0] <= inside[0] <= high[0] <= kind.high
    assert 0 <= spread[0] <= std * (1 + 1e-9)
    if mean > kind.low - 6 * std and mean < kind.high + 6 * std:
        law = truncnorm((kind.low - mean) / std, (kind.high - mean) / std, mean, std)
        assert inside[0] == pytest.approx(law.mean(), rel=1e-5, abs=1e-9)
        assert low[0] == pytest.approx(law.ppf(0.5 - level / 2), rel=1e-4, abs=1e-6 * std)


def test_real_values_are_answered_as_ever():
    m, s = np.array([1.0, -2.0]), np.array([0.1, 3.0])
    low, high = OUTCOMES["real"].interval(m, s, 2.0)
    assert OUTCOMES["real"].inside(m, s) == (m, s)
    assert low.tolist() == [0.8, -8.0]
    assert high.tolist() == [1.2, 4.0]


def test_while_all_are_no_it_looks_elsewhere():
    """The first release asked for one candidate 187 times."""
    opt, _ = clicks(60, rates=np.zeros(200))
    assert opt.unique == 60
    assert opt.best().interval[0] >= 0
    assert opt.learned.noise_std[0] > 0.05


def test_clicks_are_earned():
    """At least 85% of what the best item would bring, from event 2,000 on, in every run."""
    for seed in range(4):
        _, shown = clicks(4_000, seed, goal="earn", budget=4_000)
        assert np.mean(shown[2_000:]) > 0.85 * 0.3


def test_intervals_of_rates_hold():
    held = []
    for seed in range(6):
        opt, _ = clicks(1_000, seed)
        low, high = opt.predict().interval(0.9)
        assert low.min() >= 0
        assert high.max() <= 1
        held.append(np.mean((low <= RATES) & (high >= RATES)))
    assert np.mean(held) >= 0.8


@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_noise_follows_the_mean_of_counts(direction):
    truth = np.where(np.median(BUMP) < BUMP, 40.0, 2.0)
    opt, rng = Optimizer(ITEMS, outcome="count", direction=direction, seed=0), np.random.default_rng(0)
    for row in range(20):
        opt.observe(row, rng.poisson(truth[row], 10))
    low, high = opt.learned.noise_std
    assert low == pytest.approx(2**0.5, rel=0.3)
    assert high == pytest.approx(40**0.5, rel=0.3)
    for _ in range(20):
        batch = opt.ask(limit=10)
        opt.tell(batch, rng.poisson(truth[batch.index], batch.repeats))
    assert truth[opt.best().index] == (40 if direction == "maximize" else 2)
    assert opt.predict().interval()[0].min() >= 0


def test_noise_in_proportion_is_learned():
    truth = np.exp(2 * BUMP)
    opt, rng = Optimizer(ITEMS, outcome="positive", seed=0), np.random.default_rng(0)
    for _ in range(60):
        batch = opt.ask(limit=10)
        opt.tell(batch, truth[batch.index] * rng.gamma(25, 1 / 25, batch.repeats))
    assert truth[opt.best().index] > 6
    assert opt.predict().interval()[0].min() >= 0
    low, high = opt.learned.noise_std
    assert high > 1.5 * low


def test_a_function_may_answer_true_or_false():
    rng = np.random.default_rng(0)
    result = optimize(
        lambda x: bool(rng.random() < 0.9 * x[0]), ITEMS, budget=60, outcome="binary", seed=0, progress=False
    )
    assert 0 <= result.best.interval[0] <= result.best.mean <= result.best.interval[1] <= 1
    with pytest.raises(InvalidFeedback, match=r"0\.5 is not a measurement"):
        optimize(lambda x: 0.5, ITEMS, budget=10, outcome="binary", progress=False)
    many = optimize(
        lambda x, n: rng.random(n) < x[0], ITEMS, budget=60, outcome="binary", vectorized=True, progress=False
    )
    assert many.steps == 60
