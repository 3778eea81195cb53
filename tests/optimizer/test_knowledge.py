"""Tally, prior and model stay in step, whatever comes and whatever stops it."""

from copy import deepcopy

import numpy as np
import pytest

from inside import shown
from ostinato import MiniUCB, Optimizer
from ostinato.kernels import RBF
from ostinato.learning import Learner
from ostinato.policies import GPBTS, GPTS, MiniTS, RareTS
from ostinato.posterior import Posterior
from sizes import size

X = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0), indexing="ij"), axis=-1).reshape(-1, 2)
TRUTH = np.sin(X[:, 0]) + 0.2 * X[:, 1]
HOPELESS = np.where(np.arange(100) % 5 == 0, TRUTH - 20, TRUTH)


def run(opt, truth, steps, seed=0, noise=0.1, **how):
    rng = np.random.default_rng(seed)
    while opt.steps < steps:
        for batch in opt.ask(limit=steps - opt.steps, **(how or {"workers": 4})):
            opt.tell(batch, truth[batch.index] + noise * rng.standard_normal(batch.repeats))
    return opt


def model_of_the_facts(opt):
    """Means of a model made anew from prior and tally."""
    known = opt.core.known.fork()
    fresh = Posterior.like(known.model, known.prior.kernel, known.prior.noise, known.prior.mean)
    known._rebuild(fresh, known.prior, known.tally)
    return fresh.means.flat()


@pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement")
@pytest.mark.parametrize("truth", [TRUTH, HOPELESS], ids=["plain", "with hopeless outcomes"])
@pytest.mark.parametrize("settings", [{}, {"setup_std": "learn"}, {"noise_std": "varying"}, {"robust": True}])
def test_the_model_is_a_function_of_prior_and_tally(settings, truth):
    opt = run(Optimizer(X, seed=1, **settings), truth, 120)
    opt.observe(3, [1.0, 2.0], stderr=[0.3, 0.5])
    opt.observe(4, [0.5, np.nan])
    opt.observe(5, [None])
    assert opt.core.known.model.means.flat() == pytest.approx(model_of_the_facts(opt), abs=1e-8)


@pytest.mark.parametrize(("owner", "stop", "act"), [(Posterior, "rebuild", "observe"), (Learner, "learn", "ask")])
def test_what_is_stopped_half_way_did_not_happen(monkeypatch, owner, stop, act):
    """And the same done again goes as if nothing had been."""
    opt = run(Optimizer(X, seed=0), 100 + TRUTH, 30)
    other = deepcopy(opt)
    doing = {"observe": lambda each: each.observe(np.arange(100), 100 + TRUTH), "ask": lambda each: each.ask()}
    done, calls = getattr(owner, stop), []

    def stopped(self, *args):
        result = done(self, *args)
        calls.append(stop)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return result

    if act == "ask":
        for each in (opt, other):
            doing["observe"](each)
    steps = opt.steps
    monkeypatch.setattr(owner, stop, stopped)
    with pytest.raises(KeyboardInterrupt):
        doing[act](opt)
    monkeypatch.setattr(owner, stop, done)
    assert opt.steps == steps
    for each in (opt, other):
        doing[act](each)
    assert opt.predict().mean == pytest.approx(other.predict().mean)
    assert opt.learned == other.learned
    assert opt.ask().index == other.ask().index


def test_looking_at_what_was_learned_does_not_disturb_a_run():
    opt = run(Optimizer(X, seed=0), 100 + TRUTH, 30)
    other = deepcopy(opt)
    for rows in (range(10), range(10, 40)):
        opt.learned, opt.best()
        for each in (opt, other):
            each.observe(list(rows), 100 + TRUTH[list(rows)])
    assert opt.learned == other.learned
    assert (opt.ask().index, opt.ask().repeats) == (other.ask().index, other.ask().repeats)


@pytest.mark.parametrize("policy", [MiniTS(), GPTS(), RareTS(), GPBTS()])
def test_draws_for_choosing_are_those_of_the_model_that_chooses(policy):
    """With hopeless outcomes the model for answers is another one."""
    opt = run(Optimizer(X, seed=3, policy=policy), HOPELESS, 150)
    assert HOPELESS[opt.best().index] > 1.5
    model, belief = opt.core.known.model, shown(opt)
    draws = np.array([belief.draw().flat() for _ in range(400)])
    std = np.sqrt(model.variances.flat())
    assert np.abs(draws.mean(axis=0) - model.means.flat()).max() < 0.35 * std.max()
    assert draws.std(axis=0) == pytest.approx(std, rel=0.25, abs=0.05 * std.max())


@pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement")
def test_answers_do_not_depend_on_whether_one_looked_before():
    looked, other = Optimizer(X, seed=2), Optimizer(X, seed=2)
    rng = np.random.default_rng(0)
    while other.steps < size(50, 100):
        for batch, _ in zip(looked.ask(slots=3), other.ask(slots=3), strict=True):
            values = HOPELESS[batch.index] + 0.1 * rng.standard_normal(batch.repeats)
            looked.tell(batch, values)
            looked.best()
            other.tell(batch, values)
    assert looked.predict().mean == pytest.approx(other.predict().mean, abs=1e-9)


def test_standard_errors_survive_a_rebuild():
    def told(many):
        opt = Optimizer(X, kernel=RBF(2.0), noise_std=0.5)
        for row in range(20):
            opt.observe(row, [TRUTH[row], TRUTH[row] + 0.1], stderr=[0.1, 0.3])
        if many:
            opt.core.known._rebuild(opt.core.known.model, opt.core.known.prior, opt.core.known.tally)
        return opt.predict()

    assert told(True).mean == pytest.approx(told(False).mean)
    assert told(True).std == pytest.approx(told(False).std)


def test_there_is_no_certificate_where_noise_is_not_what_was_given():
    opt = Optimizer(X, kernel=RBF(2.0), noise_std=0.5, policy=MiniUCB())
    batch = opt.ask()
    opt.tell(batch, [1.0] * batch.repeats, stderr=5.0)
    assert opt.certificate is None


def test_set_ups_in_flight_are_counted_one_by_one():
    """Two batches of four at one candidate are two set-ups; and the rest of a batch shares that of what was told."""
    noise, setup = 1.0, 0.25

    def left(w):
        return 1 / (1 + w)  # of a prior variance of 1

    opt = Optimizer(X[:1], kernel=RBF(1.0), noise_std=1.0, setup_std=0.5, policy=MiniUCB(C=3))
    first = opt.ask(limit=4)
    opt.ask(limit=4)
    assert shown(opt).variance(0) == pytest.approx(left(2 / (setup + noise / 4)), rel=1e-9)
    opt.tell(first, [0.3])
    assert shown(opt).variance(0) == pytest.approx(left(2 / (setup + noise / 4)), rel=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_a_huge_offset_changes_nothing(offset):
    opt = run(Optimizer(X, seed=0), offset + TRUTH, 100, slots=1)
    assert opt.unique > 10
    assert TRUTH[opt.best().index] > TRUTH.max() - 0.3
    assert "e+09" not in str(opt.best())


def test_caps_on_batches_hold_in_plans():
    opt = Optimizer(X[:3], kernel=RBF(1.0), noise_std=2.0, policy=MiniUCB(C=3.0, cap_per_batch=3))
    plan = opt.ask(workers=30)
    assert plan.repeats >= 30
    assert max(batch.repeats for batch in plan) == 3


@pytest.mark.parametrize("settings", [{}, {"kernel": RBF(2.0), "noise_std": 0.1}], ids=["learned", "given"])
def test_failures_that_come_first_or_succeed_later_leave_the_model_true_to_the_facts(settings):
    opt = Optimizer(X, seed=0, **settings)
    opt.observe(7, [np.nan])  # before anything is known
    for row in range(20, 40):
        opt.observe(row, [TRUTH[row]])
    opt.observe(50, [None])
    opt.observe(41, [-3.0])  # worse than any before: what failed counts as poor as that
    opt.observe(7, [TRUTH[7]])  # it succeeds after all
    assert opt.core.known.model.means.flat() == pytest.approx(model_of_the_facts(opt), abs=1e-8)


def test_many_that_all_failed():
    opt = Optimizer(X, seed=0)
    opt.observe([1, 2, 3], [np.nan, None, np.nan])
    assert (opt.steps, opt.failures) == (0, 3)
