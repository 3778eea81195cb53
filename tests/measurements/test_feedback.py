"""Measurements as they come: failed ones, with standard errors, with outliers, with a shared set-up."""

import numpy as np
import pytest

import ostinato
from ostinato import MiniUCB, Optimizer
from ostinato.errors import Failed, InvalidFeedback, NothingToAsk
from ostinato.kernels import RBF
from sizes import size

X = np.linspace(0, 1, 20)[:, None]
TRUTH = np.sin(5 * X[:, 0])


def fixed(**settings):
    return Optimizer(X, **({"kernel": RBF(0.3), "noise_std": 0.5, "seed": 0} | settings))


# Failures


@pytest.mark.parametrize("failed", [np.nan, None])
def test_what_failed_shrinks_the_batch_and_nothing_else(failed):
    opt, other = fixed(policy=MiniUCB(C=4)), fixed(policy=MiniUCB(C=4))
    batch = opt.ask()
    assert batch.repeats >= 3
    opt.tell(batch, [1.0, failed, 3.0] + [failed] * (batch.repeats - 3))
    other.observe(batch.index, [1.0, 3.0])
    assert (opt.steps, opt.failures, opt.in_flight) == (2, batch.repeats - 2, [])
    assert np.array_equal(opt.predict().mean, other.predict().mean)
    assert opt.certificate.partial == 1


def test_a_batch_of_failures_is_over_and_teaches_nothing():
    opt = Optimizer(X, seed=0)
    batch = opt.ask()
    opt.tell(batch, [np.nan] * batch.repeats)
    assert (opt.steps, opt.unique, opt.in_flight) == (0, 0, [])
    assert opt.ask().index != batch.index


@pytest.mark.parametrize("settings", [{}, {"kernel": RBF(0.3), "noise_std": 0.5}], ids=["learned", "given"])
def test_candidates_that_keep_failing_are_left_alone(settings):
    """The better half of the candidates cannot be measured: the best of the others is found within the budget."""

    def measure(x):
        if x[0] > 0.5:
            raise Failed
        return np.sin(3 * x[0]) + 0.1 * rng.standard_normal()

    rng = np.random.default_rng(0)
    result = ostinato.optimize(measure, X, budget=150, seed=0, **settings)
    assert result.steps + result.failures == 150
    assert 0 < result.failures < 75
    assert X[result.best.index, 0] == pytest.approx(0.5, abs=0.08)
    assert "failed" in str(result)


def test_a_region_that_fails_does_not_eat_the_budget():
    """Neighbours of what failed are not tried one after the other."""
    space = ostinato.Space(temp=ostinato.Float(300, 500, step=10), conc=ostinato.Float(1e-6, 1e-1, count=11, log=True))

    def value(c):
        return 100 - ((c["temp"] - 420) / 40) ** 2 * 20 - 5 * (np.log10(c["conc"]) + 3) ** 2

    for seed in range(4):
        rng = np.random.default_rng(seed)
        result = ostinato.optimize(
            lambda c, rng=rng: None if c["temp"] > 390 else value(c) + rng.normal(0, 3), space, budget=100, seed=seed
        )
        assert result.failures < 35
        assert value(result.best.candidate) > value({"temp": 390, "conc": 1e-3}) - 12


def test_a_function_that_always_fails_is_told_so():
    with pytest.raises(InvalidFeedback, match="all failed"):
        ostinato.optimize(lambda x: None, X, budget=100)
    with pytest.raises(NothingToAsk, match="failed"):
        ostinato.optimize(lambda x: None, X[:2], budget=100)


def test_other_errors_are_caught_only_where_that_was_asked_for():
    def measure(x):
        raise TimeoutError

    with pytest.raises(TimeoutError):
        ostinato.optimize(measure, X, budget=100)
    with pytest.raises(InvalidFeedback, match="all failed"):
        ostinato.optimize(measure, X, budget=100, catch=TimeoutError)
    with pytest.raises(InvalidFeedback, match="all failed"):
        ostinato.optimize(lambda x, n: measure(x), X, budget=100, catch=(OSError,), vectorized=True)


# Standard errors


def test_measurements_with_standard_errors_are_weighted_by_them():
    opt, alone = fixed(), fixed(noise_std=np.where(np.arange(20) == 3, 0.2, 0.5))
    opt.observe(3, [1.0], stderr=0.2)
    alone.observe(3, [1.0])
    assert opt.predict().mean == pytest.approx(alone.predict().mean)
    assert opt.predict().std == pytest.approx(alone.predict().std)
    opt.observe(3, [2.0, 3.0], stderr=[0.1, 0.4])
    opt.observe(3, [1.5, 2.5])  # of the usual noise
    w = np.array([0.2**-2, 0.1**-2, 0.4**-2, 4, 4])
    y = np.array([1.0, 2.0, 3.0, 1.5, 2.5])
    prior = 1.0
    assert opt.predict().mean[3] == pytest.approx(w @ y / (prior + w.sum()))
    assert opt.predict().std[3] == pytest.approx((1 / (prior + w.sum())) ** 0.5)
    assert opt.steps == 5


@pytest.mark.parametrize("stderr", [0.0, -1.0, np.nan, [0.1, 0.2, 0.3], "small"])
def test_standard_errors_that_cannot_be_are_refused(stderr):
    opt = fixed()
    with pytest.raises(InvalidFeedback, match="stderr"):
        opt.observe(3, [1.0, 2.0], stderr=stderr)
    assert opt.steps == 0


# Set-ups


def test_repeats_of_one_set_up_count_for_less():
    """The mean of a batch has variance τ² + λ/B: a dense Gaussian process over all values says the same."""
    opt = fixed(setup_std=0.4, policy=MiniUCB(C=3))
    rng = np.random.default_rng(0)
    rows, groups, values = [], [], []
    for group in range(8):
        batch = opt.ask(limit=6)
        y = TRUTH[batch.index] + rng.standard_normal(batch.repeats)
        parts = [y] if group % 2 else np.split(y, [1])  # some are told in two parts
        for part in parts:
            if len(part):
                opt.tell(batch, part)
        rows += [batch.index] * len(y)
        groups += [group] * len(y)
        values += y.tolist()
    K = RBF(0.3)(X, X)
    shared = 0.16 * np.equal.outer(groups, groups) + 0.25 * np.eye(len(rows))
    weights = np.linalg.solve(K[np.ix_(rows, rows)] + shared, K[rows])
    assert opt.predict().mean == pytest.approx(weights.T @ values)
    assert opt.predict().std == pytest.approx(np.sqrt(1 - np.sum(K[rows] * weights, axis=0)))
    assert opt.certificate is None


def test_batches_end_where_the_set_ups_error_is_all_that_is_left():
    opt = fixed(setup_std=0.25, noise_std=1.0, policy=MiniUCB(C=5))
    rng = np.random.default_rng(0)
    for _ in range(20):
        batch = opt.ask()
        assert batch.repeats <= 16
        opt.tell(batch, TRUTH[batch.index] + 0.25 * rng.standard_normal() + rng.standard_normal(batch.repeats))


@pytest.mark.parametrize(("setup", "noise"), [(0.3, 0.2), (0.1, 0.4)])
def test_the_set_ups_error_is_learned_from_returns(setup, noise):
    learned = []
    for seed in range(size(5, 10)):
        opt, rng = Optimizer(X, setup_std="learn", seed=seed), np.random.default_rng(seed)
        while opt.steps < 400:
            batch = opt.ask(limit=400 - opt.steps)
            error = setup * rng.standard_normal()
            opt.tell(batch, TRUTH[batch.index] + error + noise * rng.standard_normal(batch.repeats))
        learned.append((opt.learned.setup_std, opt.learned.noise_std[0]))
    assert np.median(learned, axis=0) == pytest.approx((setup, noise), rel=0.4)


# Standard errors again


def test_a_precise_value_is_not_overturned_by_a_vague_one():
    """However the two are told: standard errors say what each is worth."""
    means = []
    for together in (False, True):
        opt, rng = Optimizer(X, noise_std=0.1, seed=0), np.random.default_rng(1)
        for row in range(0, len(X), 2):
            if row != 10:
                opt.observe(row, [np.sin(X[row, 0]) + 0.1 * rng.standard_normal()])
        if together:
            opt.observe(10, [1.0, -1000.0], stderr=[0.01, 1000.0])
        else:
            opt.observe(10, [1.0], stderr=0.01)
            opt.observe(10, [-1000.0], stderr=1000.0)
        means.append(opt.predict().mean[10])
    assert means[0] == pytest.approx(1.0, abs=0.03)
    assert means[0] == pytest.approx(means[1], abs=1e-6)
