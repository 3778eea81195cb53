"""Plans for many workers: every place filled, spread out early, kept within C where that can be, and said where not."""

import itertools

import numpy as np
import pytest

from ostinato import MiniUCB, Optimizer
from ostinato.errors import FewerSlots, InvalidSetting
from ostinato.kernels import RBF
from ostinato.policies import GPBUCB, GPUCB, EpsilonGreedy, Uniform

AXIS = np.linspace(0, 1, 12)
GRID = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=-1).reshape(-1, 2)
TRUTH = np.exp(-8 * np.sum((GRID - [0.3, 0.7]) ** 2, axis=1))


def tell(opt, plan, rng, noise=0.3):
    for batch in plan:
        opt.tell(batch, TRUTH[batch.index] + noise * rng.standard_normal(batch.repeats))


@pytest.mark.parametrize("settings", [{}, {"kernel": RBF(0.3), "noise_std": 0.3}], ids=["learned", "given"])
def test_work_for_everybody_from_the_first_minute(settings):
    opt, rng = Optimizer(GRID, seed=0, **settings), np.random.default_rng(0)
    for _ in range(8):
        plan = opt.ask(workers=16)
        assert plan.repeats >= 16
        assert len({batch.index for batch in plan}) == len(plan)  # one batch a candidate
        tell(opt, plan, rng)
    assert TRUTH[opt.best().index] > 0.8


def test_what_is_in_flight_is_work_too():
    opt = Optimizer(GRID, seed=0)
    first = opt.ask(workers=16)
    assert first.repeats == 16
    opt.tell(first[0], [1.0])
    assert opt.ask(workers=16).repeats == 1
    assert opt.ask(workers=16).repeats == 1  # never nothing: who asks wants work


@pytest.mark.parametrize("slots", [1, 7, 96])
@pytest.mark.parametrize("policy", [None, MiniUCB(C=1.2), GPBUCB(), Uniform(), EpsilonGreedy()])
def test_every_well_of_a_plate_is_filled(policy, slots):
    opt, rng = Optimizer(GRID, seed=1, policy=policy), np.random.default_rng(0)
    for _ in range(3):
        plate = opt.ask(slots=slots)
        assert plate.repeats == slots == sum(batch.repeats for batch in plate)
        tell(opt, plate, rng)
    assert opt.steps == 3 * slots


def test_the_limit_ends_a_plan():
    opt = Optimizer(GRID, seed=0)
    assert opt.ask(limit=5, slots=96).repeats == 5
    assert opt.ask(limit=3, workers=20).repeats == 3


def test_the_ratio_is_that_of_the_standard_deviations():
    opt, rng = Optimizer(GRID, kernel=RBF(0.3), noise_std=0.3, policy=MiniUCB(C=1.3), seed=0), np.random.default_rng(0)
    for _ in range(6):
        before = opt.predict().std
        plan = opt.ask(slots=12)
        tell(opt, plan, rng)
        assert plan.ratio == pytest.approx(np.max(before / opt.predict().std), rel=1e-6)
        assert plan.within == (plan.ratio <= 1.3 * (1 + 1e-9))
        assert ("within the C" in str(plan)) == plan.within
    assert opt.ask(workers=1).within


def test_early_plans_spread_out():
    opt = Optimizer(GRID, kernel=RBF(0.3), noise_std=0.3, seed=0)
    assert len(opt.ask(slots=20)) >= 15


def test_one_or_the_other():
    with pytest.raises(InvalidSetting, match="one of them"):
        Optimizer(GRID).ask(workers=2, slots=3)
    with pytest.raises(InvalidSetting, match="workers=0"):
        Optimizer(GRID).ask(workers=0)


def test_caps_hold_within_a_plan():
    opt = Optimizer(GRID[:4], kernel=RBF(0.3), noise_std=0.3, policy=MiniUCB(cap_per_candidate=2))
    with pytest.warns(FewerSlots, match="8 of 20 slots are filled: no other candidate"):
        plan = opt.ask(slots=20)
    assert plan.repeats == 8
    assert all(batch.repeats == 2 for batch in plan)


def test_a_plan_is_walked_cheaply():
    def cost(order):
        pairs = itertools.pairwise(order)
        return sum(100 * (a[0] != b[0]) + (a[1] != b[1]) for a, b in pairs)

    opt = Optimizer(GRID, switch_cost={0: 100.0, 1: 1.0}, seed=0)
    rows = [batch.candidate for batch in opt.ask(slots=24)]
    rng = np.random.default_rng(0)
    assert cost(rows) < 0.8 * np.mean([cost([rows[i] for i in rng.permutation(len(rows))]) for _ in range(20)])


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_plans_keep_to_the_cap_on_a_batch(cap):
    policy = MiniUCB(C=1.2, cap_per_batch=cap)
    opt = Optimizer(np.array([[0.0], [10.0]]), policy=policy, kernel=RBF(1.0), noise_std=0.7, mean=0.0, seed=0)
    plan = opt.ask(slots=12)
    assert plan.repeats == 12
    assert max(batch.repeats for batch in plan) <= cap


def test_where_repeats_share_a_setup_places_are_setups_of_their_own():
    """24 repeats of one preparation would teach no more than one."""
    opt = Optimizer(GRID, kernel=RBF(0.3), noise_std=0.1, setup_std=0.3, seed=0)
    plan = opt.ask(slots=24)
    assert all(batch.repeats == 1 for batch in plan)
    assert plan.repeats == 24


def test_a_budget_cuts_the_last_batch():
    opt = Optimizer(GRID, kernel=RBF(0.3), noise_std=2.0, budget=50, seed=0)
    while opt.steps < 50:
        batch = opt.ask()
        opt.tell(batch, np.zeros(batch.repeats))
    assert opt.steps == 50
    assert opt.ask().repeats >= 1  # whoever wants to go on may


PLATE = np.array([(t, c) for t in (20.0, 30.0, 40.0) for c in np.linspace(0, 1, 12)])


@pytest.mark.parametrize("settings", [{}, {"kernel": RBF(0.5), "noise_std": 0.2, "mean": 0.0}])
def test_twenty_different_suggestions(settings):
    opt = Optimizer(PLATE, seed=0, **settings)
    opt.observe(3, [1.0, 1.2])
    plan = opt.ask(slots=20, distinct=True)
    assert [batch.repeats for batch in plan] == [1] * 20
    assert len({batch.index for batch in plan}) == 20
    with pytest.warns(FewerSlots, match="5 of 20 slots are filled: no other candidate"):
        few = Optimizer(PLATE[:5], seed=0, **settings).ask(slots=20, distinct=True)
    assert len(few) == 5


@pytest.mark.parametrize("policy", [None, GPBUCB(), MiniUCB()])
def test_a_plate_in_one_oven_has_one_temperature(policy):
    settings = {} if policy is None else {"policy": policy, "kernel": RBF(0.5), "noise_std": 0.2, "mean": 0.0}
    opt = Optimizer(PLATE, seed=0, **settings)
    for _ in range(3):
        plan = opt.ask(slots=8, shared=[0])
        assert plan.repeats == 8
        assert len({batch.candidate[0] for batch in plan}) == 1
        for batch in plan:
            opt.tell(batch, np.full(batch.repeats, -abs(batch.candidate[0] - 30) / 20 + batch.candidate[1]))


def test_plans_that_make_no_sense_are_refused():
    opt = Optimizer(PLATE, seed=0)
    with pytest.raises(InvalidSetting, match="'heat' is not a column"):
        opt.ask(slots=3, shared=["heat"])
    with pytest.raises(InvalidSetting, match="give slots= or workers="):
        opt.ask(distinct=True)


def test_the_ratio_of_a_plan_does_not_hang_on_the_unit():
    """Where the first fit comes with the plan, both sides of the ratio are of the model that it made."""
    ratios = []
    for unit in (1.0, 1e3, 1e-3):
        opt = Optimizer(np.linspace(0, 1, 30)[:, None], seed=0)
        opt.observe([0, 9, 20], unit * np.array([1.0, 2.5, 0.3]))
        ratios.append(opt.ask(slots=8).ratio)
    assert ratios == pytest.approx([ratios[0]] * 3, rel=1e-3)


def test_a_plan_keeps_to_both_caps():
    X = np.linspace(0, 1, 3)[:, None]
    policy = MiniUCB(C=9.0, cap_per_batch=2)
    opt = Optimizer(X, kernel=RBF(0.3), noise_std=1.0, policy=policy, max_repeats=50, seed=0)
    assert max(batch.repeats for batch in opt.ask(slots=20)) <= 2


def test_a_batch_that_was_joined_is_explained_as_a_whole():
    opt = Optimizer(np.array([[0.0]]), kernel=RBF(1.0), noise_std=1.0, policy=GPUCB(), seed=0)
    (batch,) = opt.ask(slots=8)
    assert batch.reason.staleness == pytest.approx(3.0)


def test_a_plan_that_the_budget_cuts_short_says_so():
    opt = Optimizer(np.arange(50.0)[:, None], budget=10, seed=0)
    with pytest.warns(FewerSlots, match="the budget leaves no more"):
        assert opt.ask(slots=24).repeats == 10


def test_slots_are_whole_numbers_also_within_a_limit():
    opt = Optimizer(np.arange(50.0)[:, None], seed=0)
    for slots in ("8", 2.5):
        with pytest.raises(InvalidSetting, match="slots"):
            opt.ask(slots=slots, limit=2)
