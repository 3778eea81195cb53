"""mini-META: how often to repeat, what that guarantees, and how ties are settled. For every policy."""

from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato import MiniEI, MiniTS, MiniUCB, Optimizer
from ostinato.confidence import Bayesian, Fixed, Frequentist, Improvement
from ostinato.errors import InvalidSetting, NothingToAsk
from ostinato.kernels import RBF, Linear, Matern52
from ostinato.policies import RepeatValue
from sizes import size

AXIS = np.linspace(-3, 3, 9)
GRID = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=-1).reshape(-1, 2)
TRUTH = np.sin(GRID[:, 0]) + np.cos(GRID[:, 1])
POLICIES = [MiniUCB, MiniEI, MiniTS]


def optimizer_of(policy, *, noise_std=0.5, seed=0, **settings):
    return Optimizer(GRID, kernel=RBF(1.0), noise_std=noise_std, policy=policy, seed=seed, **settings)


def answer(opt, batch, rng, noise_std=0.5):
    opt.tell(batch, TRUTH[batch.index] + noise_std * rng.standard_normal(batch.repeats))


@pytest.mark.parametrize("policy", POLICIES)
@settings(deadline=None, max_examples=size(6, 15))
@given(C=st.floats(1.01, 3.0), noise_std=st.floats(0.05, 3.0), seed=st.integers(0, 1000))
def test_no_standard_deviation_shrinks_by_more_than_C_in_a_batch(policy, C, noise_std, seed):
    opt, rng = optimizer_of(policy(C), noise_std=noise_std, seed=seed), np.random.default_rng(seed)
    for _ in range(25):
        before = opt.predict().std
        batch = opt.ask(limit=10**6)
        answer(opt, batch, rng, noise_std)
        if (C**2 - 1) * noise_std**2 / before[batch.index] ** 2 >= 1:
            assert np.max(before / opt.predict().std) <= C + 1e-9


@pytest.mark.parametrize("policy", POLICIES)
@settings(deadline=None, max_examples=size(6, 15))
@given(C=st.floats(1.01, 3.0), noise_std=st.floats(0.05, 3.0), warm=st.booleans(), seed=st.integers(0, 1000))
def test_the_certificate_bounds_the_full_batches(policy, C, noise_std, warm, seed):
    """Through warm starts, limits, caps, partial answers and several batches in flight."""
    opt = optimizer_of(policy(C, cap_per_batch=40), noise_std=noise_std, seed=seed)
    rng = np.random.default_rng(seed)
    if warm:
        opt.observe(3, [0.1, 0.2])
    counts = {"full": 0, "capped": 0, "truncated": 0, "partial": 0}
    for _ in range(15):
        batches = [opt.ask(limit=int(rng.integers(1, 60))) for _ in range(rng.integers(1, 4))]
        for batch in rng.permutation(np.array(batches, dtype=object)):
            told = batch.repeats if rng.random() < 0.8 else int(rng.integers(0, batch.repeats))
            if told:
                opt.tell(batch, TRUTH[batch.index] + noise_std * rng.standard_normal(told))
            if told < batch.repeats:
                opt.close(batch)
                counts["partial"] += told > 0
            else:
                kind = "truncated" if batch.truncated else "capped" if batch.capped else "full"
                counts[kind] += 1
    certificate = opt.certificate
    assert {kind: getattr(certificate, kind) for kind in counts} == counts
    assert certificate.gain_per_batch == pytest.approx(log((C**2 + 1) / 2))
    assert certificate.full <= certificate.bound
    assert certificate.holds


@given(variance=st.floats(1e-12, 1e3), noise=st.floats(1e-6, 1e6), C=st.floats(1.001, 10))
def test_repeats_follow_the_rule(variance, noise, C):
    B = MiniUCB(C).repeats(RepeatValue(variance, noise))
    worth = (C**2 - 1) * noise / variance
    assert B >= 1
    assert B == 1 or B == 10**18 or worth * (1 - 1e-15) - 1 <= B <= worth


def test_a_candidate_without_variance_is_not_repeated_for_ever():
    opt = Optimizer([[0.0], [1.0]], kernel=Linear(), noise_std=1.0, policy=MiniUCB(1.5), mean=0.0, seed=0)
    opt.observe(1, n=10**6, mean=-5.0, std=1.0)
    batch = opt.ask()
    assert (batch.repeats, batch.capped) == (10**9, True)
    opt.tell(batch, n=10**9, mean=0.0, std=1.0)
    assert (opt.certificate.full, opt.certificate.capped) == (0, 1)
    assert opt.certificate.holds


def test_the_certificate_holds_when_data_come_between_ask_and_tell():
    opt = optimizer_of(MiniUCB(2.0))
    batch = opt.ask()
    opt.observe(batch.index, n=10**6, mean=0.0, std=0.5)
    opt.ask()
    opt.tell(batch, np.zeros(batch.repeats))
    assert opt.certificate.full == 1
    assert opt.certificate.holds


@pytest.mark.parametrize("policy", POLICIES)
def test_caps_hold_and_are_counted_apart(policy):
    opt, rng = optimizer_of(policy(2.0, cap_per_batch=5, cap_per_candidate=8)), np.random.default_rng(0)
    counts = np.zeros(len(GRID), int)
    while opt.steps < 8 * len(GRID):
        batch = opt.ask()
        assert 1 <= batch.repeats <= 5
        counts[batch.index] += batch.repeats
        answer(opt, batch, rng)
    assert counts.tolist() == [8] * len(GRID)
    assert opt.certificate.capped > 0
    with pytest.raises(NothingToAsk, match="raise cap_per_candidate"):
        opt.ask()


@pytest.mark.parametrize("policy", [MiniUCB(), MiniEI()])
@pytest.mark.parametrize("block_size", [10, 1000])
def test_ties_go_to_the_lowest_priority_drawn_from_the_seed(policy, block_size):
    """The flat prior ties all candidates; the grid's symmetry then ties some, up to rounding."""
    firsts = set()
    for seed in range(30):
        opt = Optimizer(GRID, kernel=RBF(1.0), noise_std=1.0, policy=policy, seed=seed, block_size=block_size)
        batch = opt.ask()
        assert batch.index == int(np.argmin(np.random.default_rng(seed).permutation(len(GRID))))
        firsts.add(batch.index)
    assert len(firsts) > 15


def test_scores_within_the_tolerance_are_ties_and_others_are_not():
    X = np.array([[0.0], [100.0], [200.0]])  # too far apart to know of each other
    priority = np.random.default_rng(4).permutation(3)
    low, high = int(np.argmin(priority)), int(np.argmax(priority))
    for gap, winner in [(1e-10, low), (1e-7, high)]:
        opt = Optimizer(X, kernel=RBF(1.0), noise_std=1.0, policy=MiniUCB(beta=1.0), seed=4)
        opt.observe(low, [5.0])
        opt.observe(high, [5.0 + gap])
        assert opt.ask().index == winner


@pytest.mark.parametrize("policy", [MiniUCB(1.3, 2.0), MiniEI(1.3), MiniTS(1.3)])
@pytest.mark.parametrize("block_size", [7, 1000])
def test_the_best_region_is_found(policy, block_size):
    opt, rng = optimizer_of(policy, block_size=block_size), np.random.default_rng(0)
    while opt.steps < 1500:
        answer(opt, opt.ask(limit=1500 - opt.steps), rng)
    assert TRUTH[opt.best().index] > np.max(TRUTH) - 0.15
    assert opt.switches <= opt.epochs - 1
    assert opt.unique <= opt.switches + 1
    assert opt.epochs < 400


@pytest.mark.parametrize(
    "beta", [2, Fixed(2.0), Bayesian(), 0.1 * Frequentist(3.0), Improvement(), lambda p: 1 + 1 / p.t]
)
@pytest.mark.parametrize("policy", [MiniUCB, MiniEI])
def test_any_width_will_do(policy, beta):
    opt, rng = optimizer_of(policy(1.5, beta)), np.random.default_rng(0)
    for _ in range(10):
        answer(opt, opt.ask(), rng)
    assert opt.epochs == 10


def test_expected_improvement_goes_on_where_it_is_too_small_for_a_float():
    opt = Optimizer(GRID, kernel=Matern52(5.0), noise_std=1e-3, policy=MiniEI(1.2), seed=0)
    rng = np.random.default_rng(0)
    for _ in range(60):
        answer(opt, opt.ask(limit=100), rng, 1e-3)
    assert TRUTH[opt.best().index] == pytest.approx(np.max(TRUTH), abs=0.02)


@pytest.mark.parametrize("C", [1.0, 0.5, -2, float("nan"), float("inf")])
@pytest.mark.parametrize("policy", POLICIES)
def test_C_must_be_above_one(policy, C):
    with pytest.raises(InvalidSetting, match="must be above 1"):
        policy(C)


def test_settings_out_of_range_are_refused():
    with pytest.raises(InvalidSetting, match="cap_per_batch=0"):
        MiniUCB(cap_per_batch=0)
    with pytest.raises(InvalidSetting, match="beta=-1"):
        MiniUCB(beta=-1)
    with pytest.raises(InvalidSetting, match="gave nan"):
        optimizer_of(MiniUCB(beta=lambda progress: float("nan"))).ask()
