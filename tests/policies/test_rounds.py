"""GP-BUCB, GP-BTS and BBKB: rounds of several candidates, against small dense computations."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inside import shown
from ostinato import Optimizer
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF, Linear, Matern52
from ostinato.policies import BBKB, GPBTS, GPBUCB
from reference import nystrom
from sizes import size

X = np.random.default_rng(11).uniform(-2, 2, (40, 2))
TRUTH = np.sin(X[:, 0]) + np.cos(X[:, 1])
KERNEL, NOISE = Matern52(1.0), 0.36
BETA = 2.0


def optimizer_of(policy, seed=0):
    return Optimizer(X, policy=policy, kernel=KERNEL, noise_std=0.6, seed=seed)


class Log:
    """Runs round by round, and keeps every single measurement."""

    def __init__(self, policy, seed=0):
        self.opt, self.rng = optimizer_of(policy, seed), np.random.default_rng(seed)
        self.rows, self.values = [], []

    def round(self):
        """One round: its picks, measured and told only when all are asked."""
        batches = [self.opt.ask()]
        rounds = self.opt.rounds
        while self.opt.core.state.decision_state.round:
            batches.append(self.opt.ask())
        assert self.opt.rounds == rounds
        for batch in batches:
            values = TRUTH[batch.index] + 0.6 * self.rng.standard_normal(batch.repeats)
            self.opt.tell(batch, values)
            self.rows += [batch.index] * batch.repeats
            self.values += values.tolist()
        return Counter({batch.index: batch.repeats for batch in batches})


def dense(rows, values):
    """Mean and variance on every single measurement."""
    rows = np.array(rows, dtype=int)
    K = KERNEL(X[rows], X[rows]) + NOISE * np.eye(len(rows))
    k = KERNEL(X[rows], X)
    return np.linalg.solve(K, k).T @ np.array(values), 1 - np.sum(k * np.linalg.solve(K, k), axis=0)


def picked(scores, opt):
    tied = np.flatnonzero(scores >= scores.max() - 1e-9 * (BETA + 2))
    return int(tied[np.argmin(opt._problem.priority[tied])])


@settings(deadline=None, max_examples=size(4, 10))
@given(seed=st.integers(0, 1000), C=st.floats(1.05, 1.6))
def test_bucb_freezes_the_mean_and_shrinks_the_variance(seed, C):
    log = Log(GPBUCB(C, BETA), seed)
    for _ in range(6):
        rows, values = list(log.rows), list(log.values)
        mean = dense(rows, values)[0] if rows else np.zeros(40)
        growth, expected = 1.0, []
        while growth <= C**2:
            imagined = rows + expected
            variance = dense(imagined, np.zeros(len(imagined)))[1] if imagined else np.ones(40)
            expected.append(picked(mean + BETA * np.sqrt(variance), log.opt))
            growth *= 1 + variance[expected[-1]] / NOISE
        assert log.round() == Counter(expected)


@settings(deadline=None, max_examples=size(4, 10))
@given(seed=st.integers(0, 1000), C=st.floats(1.05, 1.6), rule=st.sampled_from(["global", "local"]))
def test_bbkb_follows_its_rules_on_the_dense_sketch(seed, C, rule):
    log = Log(BBKB(C, BETA, rule=rule, oversampling=2.0), seed)
    for _ in range(6):
        rows, values = list(log.rows), list(log.values)
        got = log.round()
        inducing = [list(dict.fromkeys(rows))[slot] for slot in inducing_slots(log, rows)]
        start = sketch_of(rows, values, inducing)
        staleness, expected, sums = 1.0, [], np.zeros(40)
        while staleness <= C**2:
            now = sketch_of(rows + expected, values + [0.0] * len(expected), inducing)
            expected.append(picked(start.mean + BETA * np.sqrt(now.variance), log.opt))
            sums += start.covariance[expected[-1]] ** 2 / NOISE
            own = start.variance[expected[-1]] / NOISE
            staleness = staleness + own if rule == "global" else 1 + np.max(sums / start.variance)
        assert got == Counter(expected)


def inducing_slots(log, rows):
    """Which of the candidates measured before the round were inducing in it."""
    return log.opt.core.known.model.inducing if rows else []


def sketch_of(rows, values, inducing):
    if not inducing:
        return nystrom(X, np.array([0]), np.array([0.0]), np.full(40, np.inf), [0], KERNEL)
    return nystrom(X, np.array(rows), np.array(values), np.full(40, NOISE), inducing, KERNEL)


def test_the_local_rule_never_ends_sooner():
    """On the same beliefs: both rules see the same picks, and the local bound is the smaller one."""
    for seed in range(10):
        first = [Log(BBKB(1.3, BETA, rule=rule, oversampling=1e9), seed) for rule in ("global", "local")]
        short, long = (log.round() for log in first)
        assert sum(short.values()) <= sum(long.values())


def test_no_variance_shrinks_further_than_a_round_allows():
    """Π(1 + σ²/λ) bounds every ratio of variances; the last pick may pass C² by its own factor."""
    log = Log(GPBUCB(1.3, BETA), 3)
    for _ in range(15):
        before = log.opt.predict().std
        log.round()
        ratio = np.max(before / log.opt.predict().std)
        assert ratio**2 <= 1.3**2 * (1 + np.max(before) ** 2 / NOISE) + 1e-9


def test_bts_draws_a_given_number():
    log = Log(GPBTS(size=7), 0)
    assert [sum(log.round().values()) for _ in range(5)] == [7] * 5


def test_bts_ends_by_the_product():
    log = Log(GPBTS(1.3), 0)
    for _ in range(8):
        rows = list(log.rows)
        picks = list(log.round().elements())
        growth = 1.0
        for i, candidate in enumerate(picks):  # the product is a determinant: the order does not matter
            imagined = rows + picks[:i]
            variance = dense(imagined, np.zeros(len(imagined)))[1] if imagined else np.ones(40)
            growth *= 1 + variance[candidate] / NOISE
        assert growth > 1.3**2


def test_bts_picks_as_often_as_the_posterior_has_its_maximum_there():
    opt = optimizer_of(GPBTS(size=4000))
    opt.observe([0, 5, 9, 17], TRUTH[[0, 5, 9, 17]])
    batches = [opt.ask()]
    while opt.core.state.decision_state.round:
        batches.append(opt.ask())
    share = np.zeros(40)
    for batch in batches:
        share[batch.index] = batch.repeats / 4000
    argmax = np.argmax(opt.sample(40_000), axis=1)
    assert share == pytest.approx(np.bincount(argmax, minlength=40) / 40_000, abs=0.03)


@pytest.mark.parametrize("policy", [GPBUCB(99.0), GPBTS(99.0), BBKB(99.0)])
def test_a_limit_cuts_the_round(policy):
    opt = optimizer_of(policy)
    asked = 0
    while asked < 5:
        asked += opt.ask(limit=5 - asked).repeats
    assert asked == 5
    assert opt.rounds == 1


def test_a_limit_below_what_is_left_of_a_round_cuts_the_batch():
    opt = optimizer_of(GPBTS(size=1000))
    batches = [opt.ask(), opt.ask(limit=1)]
    while opt.core.state.decision_state.round:
        batches.append(opt.ask(limit=1))
    assert all(batch.repeats == 1 for batch in batches[1:])
    assert any(batch.truncated and batch.wanted > 1 for batch in batches)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GPBUCB(1.0), "C=1.0"),
        (lambda: GPBTS(size=0), "size=0"),
        (lambda: BBKB(1.2, rule="both"), "rule='both'"),
        (lambda: BBKB(1.2, oversampling=0), "oversampling=0"),
    ],
)
def test_settings_out_of_range_are_refused(make, message):
    with pytest.raises(InvalidSetting, match=message):
        make()


@pytest.mark.parametrize("policy", [GPBUCB(), GPBTS(), BBKB(), BBKB(rule="local")])
def test_a_round_ends_where_nothing_is_left_to_learn(policy):
    """Candidate 0 is known for sure (a linear kernel), and looks best: without an end it would be picked for ever."""
    opt = Optimizer([[0.0], [1.0]], policy=policy, kernel=Linear(), noise_std=0.1, seed=0)
    opt.observe(1, [-5.0] * 3)
    assert opt.ask().repeats < 20_000


@pytest.mark.parametrize("rule", ["global", "local"])
def test_variances_and_covariances_count_what_is_in_flight(rule):
    opt = optimizer_of(BBKB(1.2, rule=rule))
    opt.observe(np.arange(20), TRUTH[:20])
    first = opt.ask()
    belief = shown(opt)
    expected = opt.covariance(X)
    c = expected[first.index] / np.sqrt(expected[first.index, first.index] + NOISE / first.repeats)
    assert (np.diagonal(expected) - c**2 <= belief.variances.flat() + 1e-6).all()  # never surer than exact
    at = belief.covariance(3)
    assert at[3] == pytest.approx(belief.variances.flat()[3], rel=1e-6)


def test_failures_do_not_lengthen_rounds():
    """The product that ends a round is that of what was measured: poor values imagined for failures do not count."""
    X, C, rng = np.linspace(0, 1, 40)[:, None], 1.2, np.random.default_rng(0)
    opt = Optimizer(X, kernel=RBF(0.15), noise_std=0.4, policy=GPBUCB(C=C), seed=0)
    for _ in range(60):
        before, picks = opt.core.known.honest, []
        while not picks or opt.core.state.decision_state.round:
            picks.append(opt.ask())
        imagined = before.ghost()
        singles = [batch.index for batch in picks for _ in range(batch.repeats)]
        grown = [1 + imagined.add(index, 1)[1] / 0.16 for index in singles]
        assert np.prod(grown) / max(grown) <= C**2 * (1 + 1e-9)
        for batch in picks:
            fine = rng.random(batch.repeats) > 0.4
            opt.tell(batch, np.where(fine, np.sin(6 * X[batch.index, 0]) + 0.4 * rng.standard_normal(), np.nan))
