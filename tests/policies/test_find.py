"""Finding: look at many candidates, then tell the best ones apart."""

import numpy as np
import pytest

from ostinato import Float, Optimizer, Space
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF
from ostinato.policies import Find

X = np.linspace(0, 10, 80)[:, None]
TRUTH = np.sin(X[:, 0])


def run(steps=100, budget=None, seed=0, noise=0.5, **settings):
    """The optimiser at the end, and its batches: candidate, repeats, and the measurements made before."""
    opt, rng = Optimizer(X, budget=budget, seed=seed, **settings), np.random.default_rng(seed)
    batches: list[tuple[int, int, int]] = []
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        batches.append((batch.index, batch.repeats, opt.steps))
        opt.tell(batch, TRUTH[batch.index] + noise * rng.standard_normal(batch.repeats))
    return opt, batches


def first(batches):
    """When each candidate was measured first."""
    return {index: before for index, _, before in reversed(batches)}


def test_the_last_tenth_of_the_budget_tells_the_best_apart():
    """It knows no new candidate, and does not only repeat the leader."""
    others = 0
    for seed in range(5):
        _, batches = run(200, budget=200, seed=seed)
        assert max(first(batches).values()) < 180
        counts = {index: sum(n for i, n, before in batches if i == index and before < 180) for index in first(batches)}
        most = max(counts, key=lambda index: counts[index])
        others += any(index != most for index, _, before in batches if before >= 180)
    assert others >= 2


def test_without_a_budget_it_goes_on_looking():
    assert first(run(100, seed=1)[1]) == first(run(100, budget=10**6, seed=1)[1])


def bowl(policy, steps=150):
    """A run on a bowl in three columns with next to no noise."""
    points, rng = np.random.default_rng(0).random((1_000, 3)), np.random.default_rng(1)
    truth = -np.sum((points - 0.4) ** 2, axis=1)
    opt, before, switched = Optimizer(points, seed=0, policy=policy), None, 0
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        switched, before = switched + (batch.index != before), batch.index
        opt.tell(batch, truth[batch.index] + 0.001 * rng.standard_normal(batch.repeats))
    return opt, switched, np.max(truth) - truth[opt.best().index]


def test_it_stays_with_the_leader_where_nothing_else_promises_to_be_worth_a_switch():
    opt, switched, missed = bowl(Find())
    _, restless, _ = bowl(Find(worth=0))
    assert switched < 0.8 * restless
    assert missed < 0.01
    assert "no other candidate promises enough to be worth a switch" in str(opt.explain(opt.ask()))


def test_in_a_space_that_cannot_be_listed_every_improvement_is_worth_a_look():
    assert Optimizer(Space(x=Float(0, 1))).policy == Find(worth=0)
    assert Optimizer(X).policy == Find()


@pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement")
def test_where_the_leader_is_capped_it_does_not_stay_with_a_poor_one():
    points, rng = np.linspace(0, 1, 60)[:, None], np.random.default_rng(0)
    opt, poor = Optimizer(points, seed=0, policy=Find(cap_per_candidate=5)), 0
    while opt.steps < 200:
        batch = opt.ask(3)
        poor += "worth a switch" in str(opt.explain(batch)) and batch.index != opt.leader()[0]
        opt.tell(batch, -10 * (points[batch.index, 0] - 0.3) ** 2 + 0.02 * rng.standard_normal(batch.repeats))
    assert not poor


def test_an_improvement_is_not_negative():
    with pytest.raises(InvalidSetting, match="worth"):
        Find(worth=-1)


def test_beyond_the_budget_it_still_answers():
    opt, _ = run(150, budget=100)
    assert opt.steps == 150


def test_caps_leave_it_something_to_ask():
    opt, batches = run(100, budget=100, policy=Find(cap_per_candidate=2))
    assert len(first(batches)) >= 50
    assert opt.steps == 100


@pytest.mark.parametrize("noise", [0.05, 2.0])
def test_while_anything_is_learned_no_batch_takes_more_than_a_tenth_of_what_was_measured(noise):
    _, batches = run(300, noise=noise)
    assert all(repeats <= max(1, before / 10) for _, repeats, before in batches)


def test_a_switching_cost_allows_longer_batches():
    _, batches = run(100, switch_cost=30.0, noise=2.0)
    assert max(repeats for _, repeats, _ in batches) > 10


def test_where_kernel_and_noise_are_given_the_papers_rule_holds():
    opt, batches = run(300, kernel=RBF(1.0), noise_std=0.5)
    assert max(repeats / max(before, 10) for _, repeats, before in batches) > 0.1
    assert opt.certificate.holds


def test_a_second_and_higher_peak_is_found():
    """The first release looked at 29 candidates, and stayed on the broad hill in five of eight runs."""
    points = np.random.default_rng(0).random((1_000, 2))
    broad = np.exp(-np.sum((points - [0.3, 0.35]) ** 2, axis=1) / (2 * 0.2**2))
    truth = broad + 1.35 * np.exp(-np.sum((points - [0.75, 0.7]) ** 2, axis=1) / (2 * 0.1**2))
    found = 0
    for seed in range(6):
        opt, rng = Optimizer(points, budget=300, seed=seed), np.random.default_rng(seed)
        while opt.steps < 300:
            batch = opt.ask(limit=300 - opt.steps)
            opt.tell(batch, truth[batch.index] + 0.15 * rng.standard_normal(batch.repeats))
        found += truth[opt.best().index] > 1.2
    assert found >= 4


@pytest.mark.parametrize("kernel", [None, RBF(1.0)])
def test_failures_beyond_the_budget_leave_it_asking(kernel):
    opt = Optimizer(X, budget=3, kernel=kernel, noise_std=0.5, seed=0)
    for _ in range(4):
        opt.tell(opt.ask(limit=1), [np.nan])
    assert opt.ask().repeats >= 1


def test_a_plate_spreads_while_little_is_known():
    opt, _ = run(60)
    plate = opt.ask(slots=30)
    assert max(batch.repeats for batch in plate) <= 6
    assert plate.repeats == 30


def test_few_candidates_are_told_apart():
    """With six of them all were looked at soon, and the best may take what it likes."""
    opt, rng = Optimizer(np.arange(6.0)[:, None], seed=0), np.random.default_rng(0)
    while opt.steps < 300:
        batch = opt.ask(limit=300 - opt.steps)
        opt.tell(batch, 3.0 * (batch.index == 2) + rng.standard_normal(batch.repeats))
    assert opt.top(1)[0].index == 2
    assert opt.best().n > 90


def test_shares_are_shares():
    for name in ("finish", "batch_share", "candidate_share"):
        with pytest.raises(InvalidSetting, match=name):
            Find(**{name: 0.0})
    with pytest.raises(InvalidSetting, match="budget"):
        Optimizer(X, budget=0)
