"""Ask and tell, as a user relies on it."""

import pickle
from contextlib import suppress
from copy import deepcopy
from itertools import pairwise

import array_api_strict
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato
from ostinato import Category, Float, MiniEI, MiniTS, MiniUCB, Optimizer, Space
from ostinato.errors import (
    DuplicateCandidates,
    InvalidFeedback,
    InvalidInput,
    InvalidKernel,
    InvalidSetting,
    LimitedPrecision,
    NothingMeasured,
    SurprisingMeasurements,
    UnknownBatch,
    UnknownCandidate,
)
from ostinato.kernels import RBF, Constant, Hamming
from ostinato.policies import (
    BBKB,
    BKB,
    GPBTS,
    GPBUCB,
    GPEI,
    GPTS,
    GPUCB,
    EpsilonGreedy,
    Proposal,
    RareEI,
    RareTS,
    RareUCB,
    Uniform,
)
from reference import scikit_learn
from sizes import size

X = np.random.default_rng(7).uniform(-2, 2, (25, 2))
TRUTH = np.sin(X[:, 0]) + np.cos(X[:, 1])
POLICIES = [
    *(MiniUCB(1.3), MiniEI(1.3), MiniTS(1.3), GPUCB(), GPEI(), GPTS(), RareUCB(), RareEI(), RareTS()),
    *(GPBUCB(1.3), GPBTS(1.3), BKB(), BBKB(1.3), BBKB(1.3, rule="local"), EpsilonGreedy(), Uniform()),
]


def make(**settings):
    return Optimizer(X, **({"kernel": RBF(1.0), "noise_std": 0.3, "seed": 0} | settings))


def run(opt, steps, seed=1, sign=1):
    rng = np.random.default_rng(seed)
    asked = []
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        opt.tell(batch, sign * (TRUTH[batch.index] + 0.3 * rng.standard_normal(batch.repeats)))
        asked.append((batch.index, batch.repeats))
    return asked


def state(opt):
    """Everything a user can see."""
    prediction, fresh = opt.predict(), opt.predict(X)
    return (
        fresh.mean.tobytes(), fresh.std.tobytes(),
        opt.steps, opt.epochs, opt.switches, opt.unique, opt.log_det, opt.certificate, len(opt.in_flight),
        prediction.mean.tobytes(), prediction.std.tobytes(),
    )  # fmt: skip


# The run


@pytest.mark.parametrize("policy", POLICIES)
def test_the_same_seed_gives_the_same_run_bit_for_bit(policy):
    first, second = make(policy=policy), make(policy=policy)
    asked = run(first, 150)
    assert run(second, 150) == asked
    assert state(first) == state(second)
    assert run(make(policy=policy, seed=1), 150) != asked


@pytest.mark.parametrize("policy", POLICIES)
def test_asking_questions_does_not_change_the_run(policy):
    curious, silent = make(policy=policy), make(policy=policy)
    run(curious, 50)
    first = curious.best()
    for _ in range(2):
        curious.predict(), curious.predict(X[:3]), curious.covariance(), curious.sample(3)
        assert curious.best().chance == first.chance
    run(silent, 50)
    assert run(curious, 100, seed=2) == run(silent, 100, seed=2)


def test_an_unseeded_run_can_be_repeated_from_its_seed():
    opt = make(seed=None)
    assert run(opt, 100) == run(make(seed=opt.seed), 100)


@pytest.mark.parametrize("policy", [MiniUCB(1.3), MiniEI(1.3)])
def test_minimising_is_maximising_the_negative(policy):
    up, down = make(policy=policy), make(policy=policy, direction="minimize", mean=-0.0)
    assert run(up, 200) == run(down, 200, sign=-1)
    assert down.predict().mean == pytest.approx(-up.predict().mean)
    assert down.predict().std == pytest.approx(up.predict().std)
    best = down.best()
    assert best.index == up.best().index
    assert best.interval[0] < best.mean < best.interval[1]
    assert best.mean == pytest.approx(-up.best().mean)
    assert down.sample(200).mean(axis=0) == pytest.approx(down.predict().mean, abs=0.3)


@pytest.mark.parametrize("policy", POLICIES)
def test_blocks_and_array_libraries_agree(policy):
    """The same choices, because scores that differ by rounding only are ties."""
    expected = run(make(policy=policy), 50)
    assert run(make(policy=policy, block_size=4), 50) == expected
    assert run(make(policy=policy, block_size=9, xp=array_api_strict), 50) == expected


def test_a_batch_says_what_to_do_before_anything_is_measured():
    opt = make(noise_std=5.0, policy=MiniUCB(2.0))
    batch = opt.ask()
    assert batch.repeats == int(3 * 25.0) == batch.wanted
    assert batch.full
    assert batch.candidate.tolist() == X[batch.index].tolist()
    cut = make(noise_std=5.0, policy=MiniUCB(2.0)).ask(limit=10)
    assert (cut.index, cut.repeats, cut.wanted, cut.truncated) == (batch.index, 10, 75, True)


# Feedback in all its forms


def test_values_statistics_parts_and_logged_data_are_the_same_to_the_posterior():
    values = [0.4, 0.9, 0.1, 0.6]
    opts = [make(noise_std=5.0) for _ in range(5)]
    batches = [opt.ask(limit=4) for opt in opts[:4]]
    opts[0].tell(batches[0], values)
    opts[1].tell(batches[1], n=4, mean=np.mean(values), std=np.std(values, ddof=1))
    for value in values:
        opts[2].tell(batches[2], value)
    opts[3].tell(batches[3], values[:1])
    opts[3].observe(batches[3].index, values[1:])
    opts[4].observe(batches[0].candidate, values)
    for opt in opts[1:]:
        assert opt.steps == 4
        assert opt.predict().mean == pytest.approx(opts[0].predict().mean, abs=1e-12)
        assert opt.predict().std == pytest.approx(opts[0].predict().std, abs=1e-12)
        assert opt.log_det == pytest.approx(opts[0].log_det)


@pytest.mark.filterwarnings("ignore::ostinato.errors.SurprisingMeasurements")
@settings(deadline=None, max_examples=size(10, 25))
@given(rows=st.lists(st.integers(0, 24), min_size=1, max_size=60), seed=st.integers(0, 99))
def test_logged_data_by_index_by_row_one_by_one_or_all_at_once(rows, seed):
    values = np.random.default_rng(seed).standard_normal(len(rows))
    expected = scikit_learn(X, np.array(rows), values, np.full(25, 0.09))
    one_by_one, by_index, by_row = make(), make(), make()
    for row, value in zip(rows, values, strict=True):
        one_by_one.observe(row, value)
    for part in (slice(0, 1), slice(1, None)):  # any number of indices but two, which would be a row here
        if len(rows[part]) == 2:
            by_index.observe(X[rows[part]], values[part])
        elif rows[part]:
            by_index.observe(np.array(rows)[part], values[part])
    by_row.observe(X[rows], values)
    for opt in (one_by_one, by_index, by_row):
        assert opt.steps == len(rows)
        assert opt.unique == len(set(rows))
        assert opt.predict().mean == pytest.approx(expected.mean, abs=1e-8)
        assert opt.predict().std ** 2 == pytest.approx(expected.variance, abs=1e-8)


def test_observations_are_steps_but_not_epochs():
    opt = make()
    opt.observe(3, [1.0, 2.0])
    assert (opt.steps, opt.unique, opt.epochs, opt.switches) == (2, 1, 0, 0)
    run(opt, 50)
    assert opt.certificate.holds


def test_epochs_and_switches_count_batches_and_changes_of_candidate():
    opt = make(policy=MiniUCB(1.5, cap_per_batch=2))
    asked = run(opt, 100)
    assert opt.epochs == len(asked)
    assert opt.switches == sum(a[0] != b[0] for a, b in pairwise(asked))


def test_the_rest_of_a_batch_may_come_later_or_never():
    opt = make(noise_std=5.0, policy=MiniUCB(2.0))
    batch = opt.ask(limit=6)
    opt.tell(batch, [1.0, 2.0])
    assert [b.id for b in opt.in_flight] == [batch.id]
    assert opt.certificate.partial == 1
    opt.tell(batch, [3.0])
    opt.close(batch)
    assert opt.in_flight == []
    assert (opt.steps, opt.epochs, opt.certificate.partial, opt.certificate.full) == (3, 1, 1, 0)
    with pytest.raises(UnknownBatch, match="is over"):
        opt.tell(batch, [1.0])


def test_batches_in_flight_shrink_the_variance_and_spread_out():
    opt = make(noise_std=0.1, policy=MiniUCB(1.1))
    before = opt.predict()
    batches = [opt.ask() for _ in range(5)]
    assert len({batch.index for batch in batches}) == 5
    assert opt.predict().std.tolist() == before.std.tolist()
    for batch in reversed(batches):
        opt.tell(batch, TRUTH[batch.index] + np.zeros(batch.repeats))
    sequential = make(noise_std=0.1)
    for batch in batches:
        sequential.observe(batch.index, TRUTH[batch.index] + np.zeros(batch.repeats))
    assert opt.predict().mean == pytest.approx(sequential.predict().mean, abs=1e-10)
    assert opt.predict().std == pytest.approx(sequential.predict().std, abs=1e-10)


@pytest.mark.parametrize("policy", POLICIES)
def test_many_batches_in_flight_still_optimise(policy):
    opt, rng, flying = make(policy=policy), np.random.default_rng(0), []
    while opt.steps < 400:
        flying.append(opt.ask())
        if len(flying) == 6:
            batch = flying.pop(rng.integers(6))
            opt.tell(batch, TRUTH[batch.index] + 0.3 * rng.standard_normal(batch.repeats))
    assert TRUTH[opt.best().index] > TRUTH.max() - 0.2


# Bad input: an error that says why, and nothing changes


def test_values_that_are_missing_are_asked_for():
    opt = make()
    with pytest.raises(InvalidFeedback, match="nan for a measurement that failed"):
        opt.tell(opt.ask(limit=1))


@pytest.mark.parametrize(
    ("error", "act"),
    [
        (InvalidFeedback, lambda opt, batch: opt.tell(batch, [1.0, np.inf])),
        (InvalidFeedback, lambda opt, batch: opt.tell(batch, [np.inf])),
        (InvalidFeedback, lambda opt, batch: opt.tell(batch, "high")),
        (InvalidFeedback, lambda opt, batch: opt.tell(batch, [])),
        (InvalidFeedback, lambda opt, batch: opt.tell(batch)),
        (InvalidFeedback, lambda opt, batch: opt.tell(batch, np.zeros(batch.repeats + 1))),
        (InvalidFeedback, lambda opt, batch: opt.tell(batch, [1.0], n=1, mean=1.0)),
        (InvalidFeedback, lambda opt, batch: opt.tell(batch, n=2, mean=1.0)),
        (InvalidFeedback, lambda opt, batch: opt.tell(batch, n=10**6, mean=1.0, std=1.0)),
        (UnknownBatch, lambda opt, batch: opt.tell(make().ask(limit=1), [1.0])),
        (UnknownBatch, lambda opt, batch: opt.tell(None, [1.0])),
        (InvalidFeedback, lambda opt, batch: opt.observe([1, 2, 3], n=2, mean=1.0, std=1.0)),
        (UnknownCandidate, lambda opt, batch: opt.observe(25, [1.0])),
        (UnknownCandidate, lambda opt, batch: opt.observe([9.0, 9.0], [1.0])),
        (UnknownCandidate, lambda opt, batch: opt.observe({"x": 1.0}, [1.0])),
        (UnknownCandidate, lambda opt, batch: opt.observe([1, 2, 99], [1.0, 1.0, 1.0])),
        (InvalidFeedback, lambda opt, batch: opt.observe([1, 2, 3], [1.0, 1.0])),
        (InvalidFeedback, lambda opt, batch: opt.observe([1, 2, 3], [1.0, np.inf, 1.0])),
        (InvalidFeedback, lambda opt, batch: opt.observe(np.arange(25), np.full(25, np.inf))),
        (InvalidSetting, lambda opt, batch: opt.ask(limit=0)),
        (InvalidSetting, lambda opt, batch: opt.ask(limit=1.5)),
        (InvalidSetting, lambda opt, batch: opt.best(level=95)),
        (InvalidSetting, lambda opt, batch: opt.sample(0)),
        (InvalidFeedback, lambda opt, batch: opt.observe(0, n=10**400, mean=1.0, std=1.0)),
    ],
)
def test_what_is_rejected_changes_nothing(error, act):
    opt = make()
    run(opt, 40)
    batch = opt.ask(limit=30)
    before = state(opt)
    with pytest.raises(error) as caught:
        act(opt, batch)
    assert len(str(caught.value)) > 20
    assert isinstance(caught.value, InvalidInput)
    assert state(opt) == before
    opt.tell(batch, np.zeros(batch.repeats))


@pytest.mark.parametrize(
    ("error", "settings", "message"),
    [
        (InvalidSetting, {"noise_std": 0}, "noise_std=0 is out of range"),
        (InvalidSetting, {"noise_std": -1.0}, "noise_std=-1.0"),
        (InvalidSetting, {"noise_std": np.nan}, "noise_std=nan"),
        (InvalidSetting, {"noise_std": "small"}, "noise_std='small'"),
        (InvalidSetting, {"noise_std": np.ones(3)}, "shape \\(3,\\) for 25 candidates"),
        (InvalidSetting, {"noise_std": np.r_[np.ones(24), 0.0]}, "noise_std=0.0|noise_std=np.float64"),
        (InvalidSetting, {"noise_std": 1e-170}, "cannot be squared"),
        (InvalidSetting, {"noise_std": 1e160}, "cannot be squared"),
        (InvalidSetting, {"mean": np.inf}, "mean=inf"),
        (InvalidSetting, {"mean": "low"}, "mean='low'"),
        (InvalidSetting, {"block_size": 0}, "block_size=0"),
        (InvalidSetting, {"seed": -1}, "seed=-1 is not a seed"),
        (InvalidSetting, {"noise_std": "1"}, "noise_std='1'"),
        (InvalidSetting, {"noise_std": True}, "noise_std=True"),
        (InvalidSetting, {"direction": "up"}, "direction='up' is unknown"),
        (InvalidSetting, {"policy": MiniUCB}, "is not a policy"),
        (InvalidSetting, {"policy": "ucb"}, "policy='ucb' is not a policy"),
        (InvalidKernel, {"kernel": 3.0}, "neither a kernel nor a callable"),
        (InvalidKernel, {"kernel": lambda A, B: -np.ones((len(A), len(B)))}, "not positive"),
        (InvalidKernel, {"kernel": lambda A, B: A @ np.array([[1.0, 2], [0, 1]]) @ B.T}, "not positive"),
        (InvalidKernel, {"kernel": RBF((1.0, 2.0, 3.0))}, "3 length-scales for 2 columns"),
    ],
)
def test_settings_that_cannot_work_are_refused(error, settings, message):
    with pytest.raises(error, match=f"(?s){message}"):
        make(**settings)


def test_measurements_far_from_the_prior_are_remarked_on_once():
    opt = make()
    with pytest.warns(SurprisingMeasurements, match=r"Measured 100 where 0 ± 1 .*Set mean=") as caught:
        opt.tell(opt.ask(limit=1), [100.0])
    assert caught[0].filename == __file__  # it points at the user's own line
    opt.tell(opt.ask(limit=1), [100.0])
    assert opt.steps == 2
    with pytest.warns(SurprisingMeasurements):
        make().observe([3, 4, 5], [0.0, 50.0, 0.0])


def test_noise_that_repeats_contradict_is_remarked_on_once():
    opt = make(noise_std=0.1, policy=MiniUCB(3.0))
    values = TRUTH + 0.5 * np.random.default_rng(0).standard_normal((30, 25))
    with pytest.warns(SurprisingMeasurements, match=r"differ \d.* times as much as noise_std") as caught:
        run_with(opt, values)
    assert len(caught) == 1


def run_with(opt, values):
    for _ in range(40):
        batch = opt.ask(limit=30)
        opt.tell(batch, values[: batch.repeats, batch.index])


def test_the_precision_warning_comes_once_and_after_the_feedback_is_safe():
    opt = make(noise_std=1e-3)
    opt.observe(0, n=10**4, mean=1.0, std=1e-3)  # warnings are errors here: one too early would fail
    with pytest.warns(LimitedPrecision, match="float64 cannot hold"):
        opt.observe(0, n=10**6, mean=1.0, std=1e-3)
    opt.observe(1, n=10**6, mean=1.0, std=1e-3)  # and so would a second one
    assert opt.steps == 2 * 10**6 + 10**4


def deceitful():
    """A kernel that is a covariance when it is tried, and none later: everything looks alike to the last candidates."""
    tried = []

    def kernel(A, B):
        tried.append(1)
        K = RBF(1.0)(A, B)
        return K if len(tried) == 1 else np.where((A > 90) != (B.T > 90), 0.999, K)

    return kernel


@pytest.mark.parametrize("count", [3, 30])
def test_a_kernel_that_is_refused_late_takes_nothing_in(count):
    opt = Optimizer(5.0 * np.arange(40)[:, None], kernel=deceitful(), noise_std=0.01, seed=0)
    opt.observe(0, [1.0])
    before = opt.predict().mean
    with pytest.raises(InvalidKernel, match="not positive"):
        opt.observe(np.r_[1:count, 30:40], np.ones(count + 9))
    assert opt.steps == 1
    assert opt.predict().mean == pytest.approx(before, abs=1e-12)
    opt.observe(0, [0.5])
    assert opt.best().n == 2


def test_an_interrupt_in_the_middle_of_a_tell_takes_nothing_in(monkeypatch):
    opt = make()
    run(opt, 50)
    before = opt.predict()
    batch = opt.ask(limit=5)

    def interrupted(self, *args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ostinato.posterior.blocks.Blocks, "condition", interrupted)
        with pytest.raises(KeyboardInterrupt):
            opt.tell(batch, np.ones(batch.repeats))
    assert opt.steps == 50
    assert opt.predict().mean == pytest.approx(before.mean, abs=1e-12)
    opt.tell(batch, np.ones(batch.repeats))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("copy", [deepcopy, lambda opt: pickle.loads(pickle.dumps(opt))], ids=["deepcopy", "pickle"])
def test_a_copy_goes_on_as_the_original_does(policy, copy):
    opt = make(policy=policy)
    run(opt, 60)
    twin = copy(opt)
    assert run(twin, 150, seed=5) == run(opt, 150, seed=5)
    assert state(twin) == state(opt)


@pytest.mark.parametrize("policy", POLICIES)
def test_what_stops_an_ask_half_way_does_no_harm(policy):
    """A kernel that fails, or Ctrl-C within it: the next ask and tell go on from the facts."""
    calls = {"left": 10**9}

    def kernel(A, B):
        calls["left"] -= 1
        if calls["left"] < 0:
            calls["left"] = 10**9
            raise KeyboardInterrupt
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(-1) / 2)

    opt = make(policy=policy, kernel=kernel)
    run(opt, 20)
    for allowed in range(4):
        calls["left"] = allowed
        with suppress(KeyboardInterrupt):
            batch = opt.ask(limit=1)
            opt.tell(batch, [0.1])
        calls["left"] = 10**9
    run(opt, 60)
    fresh = make(policy=policy)
    for number, each in opt.core.known.tally:
        fresh.observe(number, n=int(each.n), mean=each.mean, std=0.0 if each.n > 1 else None)
    assert opt.predict().mean == pytest.approx(fresh.predict().mean, abs=1e-8)


@pytest.mark.parametrize(
    "proposals",
    [
        [], None, Proposal(1, 1), [(1, 1)], [Proposal(-1, 1)], [Proposal(25, 1)], [Proposal(1.5, 1)],
        [Proposal("a", 1)], [Proposal(1, 0)], [Proposal(1, -3)], [Proposal(1, 2.5)],
        [Proposal(1, 1), Proposal(1, True)],
    ],
)  # fmt: skip
def test_nonsense_that_a_policy_proposes_is_refused(proposals):
    class Mine:
        def propose(self, belief, limit):
            return proposals

    opt = make(policy=Mine())
    with pytest.raises(InvalidSetting, match=r"The policy .*Mine.* proposed"):
        opt.ask()
    assert opt.rounds == 0
    assert opt.in_flight == []


def test_what_is_wanted_is_what_is_proposed_unless_said():
    class Mine:
        def propose(self, belief, limit):
            return [Proposal(3, 4)]

    assert make(policy=Mine()).ask().wanted == 4


@pytest.mark.parametrize("policy", [MiniUCB(), BKB()])
def test_a_copy_is_not_much_larger_than_what_was_measured(policy):
    points = np.random.default_rng(0).uniform(size=(5_000, 3))
    opt = Optimizer(points, policy=policy, kernel=RBF(0.3), noise_std=0.1, seed=0, block_size=5_000)
    for _ in range(3):
        batch = opt.ask(limit=1)
        opt.tell(batch, [0.0])
    assert len(pickle.dumps(opt)) < 3e6


# Answers


def test_best_is_not_the_luckiest_value():
    opt = make(noise_std=1.0)
    opt.observe(0, n=1000, mean=1.0, std=1.0)
    opt.observe(1, [1.9])  # one lucky measurement, and no more
    best = opt.best()
    assert (best.index, best.n) == (0, 1000)
    assert best.candidate.tolist() == X[0].tolist()
    assert best.interval[0] == pytest.approx(best.mean - 1.96 * best.std, abs=1e-4)
    assert opt.best(level=0.5).interval[1] < best.interval[1]
    assert "after 1,000 measurements" in str(best)


def test_the_chance_of_being_best_is_calibrated():
    """Over many functions drawn from the model, the best so far is the best as often as it says."""
    said, true = [], []
    points = np.linspace(0, 6, 12)[:, None]
    for seed in range(size(60, 150)):
        rng = np.random.default_rng(seed)
        f = np.linalg.cholesky(RBF(1.0)(points, points) + 1e-10 * np.eye(12)) @ rng.standard_normal(12)
        opt = Optimizer(points, kernel=RBF(1.0), noise_std=0.5, policy=MiniUCB(1.5), seed=seed)
        while opt.steps < 40:
            batch = opt.ask(limit=40 - opt.steps)
            opt.tell(batch, f[batch.index] + 0.5 * rng.standard_normal(batch.repeats))
        best = opt.best()
        said.append(best.chance)
        true.append(best.index == int(np.argmax(f)))
    assert np.mean(said) == pytest.approx(np.mean(true), abs=0.09)


def test_nothing_is_best_before_anything_is_measured():
    with pytest.raises(NothingMeasured, match="first"):
        make().best()


def test_predictions_covariances_and_samples_speak_of_one_distribution():
    opt = make()
    run(opt, 60)
    points = np.concatenate([X[:6], [[0.3, 0.4]]])
    prediction, covariance = opt.predict(points), opt.covariance(points)
    assert np.sqrt(np.diagonal(covariance)) == pytest.approx(prediction.std)
    assert opt.predict().mean[:6] == pytest.approx(prediction.mean[:6])
    assert opt.predict().std[:6] == pytest.approx(prediction.std[:6])
    sample = opt.sample(40_000, points)
    assert sample.mean(axis=0) == pytest.approx(prediction.mean, abs=0.02)
    assert np.cov(sample.T) == pytest.approx(covariance, abs=0.02)
    assert opt.sample(2).shape == (2, 25)
    assert not np.array_equal(opt.sample(), opt.sample())
    assert opt.covariance().shape == (25, 25)


def test_joint_samples_at_many_candidates_are_pathwise(monkeypatch):
    monkeypatch.setattr(ostinato.optimizer.answers, "JOINT", 10)
    opt = make()
    run(opt, 60)
    sample = opt.sample(4000)
    assert sample.mean(axis=0) == pytest.approx(opt.predict().mean, abs=0.06)
    assert sample.std(axis=0) == pytest.approx(opt.predict().std, abs=0.06)
    with pytest.raises(InvalidSetting, match="25 points are too many"):
        opt.covariance()


def test_noise_may_differ_between_candidates():
    noise = np.linspace(0.1, 2.0, 25)
    opt = make(noise_std=noise, policy=MiniUCB(2.0))
    rng = np.random.default_rng(0)
    rows, values = [], []
    for _ in range(20):
        batch = opt.ask(limit=20)
        y = TRUTH[batch.index] + noise[batch.index] * rng.standard_normal(batch.repeats)
        opt.tell(batch, y)
        rows += [batch.index] * batch.repeats
        values += list(y)
    expected = scikit_learn(X, np.array(rows), np.array(values), noise**2)
    assert opt.predict().mean == pytest.approx(expected.mean, abs=1e-8)
    assert opt.log_det == pytest.approx(expected.log_det, abs=1e-8)


# Candidates in the user's own words


def test_named_candidates_go_in_and_come_out():
    space = Space(temp=Float(20, 80, step=10), solvent=Category("water", "oil"))
    opt = Optimizer(space, kernel=RBF(20.0).on("temp") * Hamming().on("solvent") + Constant(), noise_std=0.5, seed=0)
    rng = np.random.default_rng(0)
    while opt.steps < 300:
        batch = opt.ask(limit=300 - opt.steps)
        assert set(batch.candidate) == {"temp", "solvent"}
        truth = -(((batch.candidate["temp"] - 50) / 20) ** 2) + (batch.candidate["solvent"] == "oil")
        opt.tell(batch, truth + 0.5 * rng.standard_normal(batch.repeats))
    assert opt.best().candidate == {"temp": 50.0, "solvent": "oil"}
    prediction = opt.predict([{"temp": 52.0, "solvent": "oil"}, {"temp": 20.0, "solvent": "water"}])
    assert prediction.mean[0] > prediction.mean[1]


def test_data_frames_go_in_and_dicts_come_out():
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    opt = Optimizer(frame, kernel=RBF(1.0), noise_std=0.3, seed=0)
    assert run(opt, 100) == run(make(), 100)
    assert opt.best().candidate == dict(frame.iloc[opt.best().index])
    opt.observe(frame.iloc[[1, 2]], [1.0, 2.0])
    assert opt.predict(frame.head(3)).mean.shape == (3,)


def test_duplicate_rows_are_one_candidate_under_every_index():
    table = np.concatenate([X[:5], X[:5]])
    with pytest.warns(DuplicateCandidates):
        opt = Optimizer(table, kernel=RBF(1.0), noise_std=0.3, seed=0)
    opt.observe(7, [1.0])
    opt.observe(2, [2.0])
    assert opt.unique == 1
    assert opt.best().index == 2
    assert opt.predict().mean[2] == opt.predict().mean[7]
    assert len(opt.predict()) == 10
    assert opt.sample(3).shape == (3, 10)
    with pytest.warns(DuplicateCandidates), pytest.raises(InvalidSetting, match="differs between identical"):
        Optimizer(table, kernel=RBF(1.0), noise_std=np.arange(1.0, 11.0))
