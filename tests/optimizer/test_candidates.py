"""Candidates can be added, retired and restored while a run goes on."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from ostinato import Category, Float, MiniEI, MiniUCB, Optimizer, Space
from ostinato.errors import InvalidCandidates, InvalidSetting, NothingMeasured, NothingToAsk
from ostinato.kernels import RBF
from ostinato.policies import BBKB, GPBTS, GPBUCB, GPTS, EpsilonGreedy, Uniform
from ostinato.posterior import exact
from sizes import size

X = np.linspace(0, 1, 30)[:, None]
TRUTH = np.sin(5 * X[:, 0])
GIVEN = {"kernel": RBF(0.3), "noise_std": 0.1, "mean": 0.0}
POLICIES = [None, MiniUCB(), GPTS(), GPBUCB(), GPBTS(), BBKB(), EpsilonGreedy(), Uniform()]


def run(opt, steps, truth):
    rng = np.random.default_rng(0)
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        opt.tell(batch, truth[batch.index] + 0.1 * rng.standard_normal(batch.repeats))
    return opt


@pytest.mark.parametrize("chosen", [{}, GIVEN])
def test_a_condition_is_added_to_a_run(chosen):
    opt = run(Optimizer(X[:20], seed=0, **chosen), 30, TRUTH)
    flying = opt.ask(limit=3)
    before = opt.predict(X[:20]).mean
    assert opt.add(X[20:]) == list(range(20, 30))
    assert (opt.candidates, opt.steps) == (30, 30)
    assert [batch.id for batch in opt.in_flight] == [flying.id]
    if chosen:
        assert opt.predict(X[:20]).mean == pytest.approx(before, abs=1e-9)
    opt.tell(flying, [TRUTH[flying.index]] * flying.repeats)
    run(opt, 120, TRUTH)
    assert TRUTH[opt.best().index] > 0.95 * TRUTH.max()


@settings(deadline=None, max_examples=size(12, 30))
@given(first=st.integers(5, 25), told=st.lists(st.integers(0, 29), min_size=1, max_size=12), learned=st.booleans())
def test_when_candidates_came_makes_no_difference(first, told, learned):
    early, late = (Optimizer(X[:first], seed=1, **({} if learned else GIVEN)) for _ in range(2))
    early.add(X[first:])
    for row in (row for row in told if row < first):
        late.observe(row, TRUTH[row])
    late.add(X[first:])
    for row in sorted(told, key=lambda row: row >= first):
        early.observe(row, TRUTH[row])
        if row >= first:
            late.observe(row, TRUTH[row])
    assert late.predict().mean == pytest.approx(early.predict().mean, abs=1e-9)
    assert late.best().index == early.best().index
    a, b = late.ask(), early.ask()
    assert (a.index, a.repeats) == (b.index, b.repeats)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_retired_candidate_is_neither_asked_for_nor_recommended(policy):
    chosen = {} if policy is None else GIVEN | {"policy": policy}
    opt = run(Optimizer(X, seed=0, **chosen), 40, TRUTH)
    best = opt.best().index
    mean = opt.predict().mean
    assert opt.retire(best) == 1
    assert opt.retired == [best]
    assert opt.predict().mean == pytest.approx(mean)  # it still informs its neighbours
    assert opt.best().index != best
    assert best not in [each.index for each in opt.top(5)]
    for _ in range(30):
        batch = opt.ask(limit=3)
        assert batch.index != best
        opt.tell(batch, [TRUTH[batch.index]] * batch.repeats)
    assert opt.restore([best]) == 1
    assert opt.retired == []
    if policy is None:
        assert opt.best().index == best or TRUTH[opt.best().index] > TRUTH[best] - 0.1


@pytest.mark.parametrize("settings", [{"budget": 60}, {"budget": 60, "goal": "earn"}, {"policy": MiniEI()}])
def test_a_retired_candidate_does_not_lead(settings):
    """Nor is it said to: not when the next one is chosen, and not in the last part of a budget."""
    space, rng = Space(solvent=Category(["A", "B"]), t=Float(0.0, 1.0, count=13)), np.random.default_rng(0)
    opt = Optimizer(space, seed=0, **settings)

    def tell(batch):
        value = 3.0 * (batch.candidate["solvent"] == "A") + np.sin(3 * batch.candidate["t"])
        opt.tell(batch, value + 0.3 * rng.standard_normal(batch.repeats))

    while opt.steps < 30:
        tell(opt.ask(limit=30 - opt.steps))
    assert opt.best().candidate["solvent"] == "A"
    opt.retire(range(13))
    while opt.steps < 60:
        batch = opt.ask(limit=60 - opt.steps)
        why = opt.explain(batch)
        assert why.numbers.leader is None or why.numbers.leader["solvent"] == "B"
        assert "'solvent': 'A'" not in str(why)
        tell(batch)


@pytest.mark.parametrize("many", [False, True])
def test_improvement_is_on_the_best_that_was_not_retired(many, monkeypatch):
    """By hand: expected improvement on the highest mean of all candidates but those retired. many: by a screen."""
    if many:
        monkeypatch.setattr(exact, "SCREEN_ABOVE", 100)
    table = np.linspace(0, 1, 300)[:, None]
    opt = Optimizer(table, policy=MiniEI(C=1.5, beta=1.0), kernel=RBF(0.1), noise_std=0.1, mean=0.0, seed=0)
    for row in range(0, 300, 20):
        opt.observe(row, [np.sin(5 * row / 300)])
    retired = np.arange(60, 130)  # the whole peak
    assert opt.best().index in retired
    opt.retire(retired)
    for _ in range(3):
        known = opt.predict()
        left = np.setdiff1d(np.arange(300), retired)
        mean, std = known.mean[left], known.std[left]
        z = (mean - mean.max()) / std
        gain = std * (z * norm.cdf(z) + norm.pdf(z))
        batch = opt.ask()
        assert gain[left == batch.index] == pytest.approx(gain.max(), rel=1e-6)
        opt.tell(batch, [np.sin(5 * batch.index / 300)] * batch.repeats)


def test_a_candidate_whose_measurements_fail_does_not_lead_either():
    opt = Optimizer(X, seed=0, **GIVEN)
    opt.observe(3, [2.0])
    opt.observe(20, [1.0])
    opt.observe(3, [np.nan] * 5)
    assert opt.explain(opt.ask()).numbers.leader == X[20]


def test_where_all_that_was_measured_is_retired_this_is_said():
    opt = run(Optimizer(X, seed=0), 40, TRUTH)
    opt.retire([row for row, n in opt.counts().items() if n])
    why = opt.explain(opt.ask())
    assert not why.numbers.first
    assert "nothing else that may be asked for was measured yet" in str(why)


def test_measurements_in_flight_stay_valid():
    opt = Optimizer(X, seed=0, **GIVEN)
    batch = opt.ask()
    opt.retire(batch.index)
    opt.tell(batch, [1.0] * batch.repeats)
    assert opt.steps == batch.repeats
    with pytest.raises(NothingMeasured, match="retired"):
        opt.best()


def test_where_all_are_retired_nothing_is_left():
    opt = Optimizer(X, seed=0, **GIVEN)
    opt.retire(np.arange(30))
    with pytest.raises(NothingToAsk, match="retired"):
        opt.ask()


def test_tables_and_spaces_grow_too():
    frame = pd.DataFrame({"t": [1.0, 2.0, 3.0], "s": ["a", "b", "a"]})
    opt = Optimizer(frame, seed=0)
    opt.observe({"t": 1.0, "s": "a"}, 3.0)
    assert opt.add({"t": 4.0, "s": "c"}) == [3]
    assert opt.add(pd.DataFrame({"t": [5.0], "s": ["b"]})) == [4]
    opt.observe({"t": 4.0, "s": "c"}, 5.0)
    assert opt.best().candidate == {"t": 4.0, "s": "c"}
    assert opt.add([{"s": "a", "t": 6.0}, {"t": 7.0, "s": "b"}]) == [5, 6]  # columns go by their names
    opt.observe({"t": 6.0, "s": "a"}, 5.0)
    assert opt.add(pd.DataFrame({"s": ["c"], "t": [8.0]})) == [7]
    assert opt.add({"t": [9.0, 10.0], "s": ["a", "d"]}) == [8, 9]  # as a table may be given to begin with
    space = Optimizer(Space(x=Float(0.0, 1.0, count=3), y=Float(0.0, 1.0, count=3)), seed=0)
    assert space.add([{"x": 0.25, "y": 2.0}]) == [9]


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ({"t": 1.0}, "columns do not change"),
        ({"t": [1.0, 2.0], "s": ["a"]}, "different numbers of rows"),
        ({"t": 1.0, "s": "a", "u": 3}, "columns do not change"),
        ({"t": "hot", "s": "a"}, "categories, such as 'hot': types do not change. Give numbers there"),
        ({"t": 1.0, "s": 5.0}, "numbers: types do not change. Give texts there"),
        ([{"t": 1.0, "s": "a"}, {"t": 1.0}], "same columns"),
        ({"t": float("nan"), "s": "a"}, "finite"),
    ],
)
def test_other_columns_are_refused_with_the_difference(rows, words):
    opt = Optimizer(pd.DataFrame({"t": [1.0, 2.0], "s": ["a", "b"]}), seed=0)
    with pytest.raises(InvalidCandidates, match=words):
        opt.add(rows)
    assert opt.candidates == 2


def test_noise_of_each_row_comes_with_the_rows():
    opt = Optimizer(X[:3], seed=0, **GIVEN | {"noise_std": [0.1, 0.2, 0.3]})
    with pytest.raises(InvalidSetting, match="one a row"):
        opt.add(X[3:5])
    opt.add(X[3:5], noise_std=0.4)
    assert opt.candidates == 5
    with pytest.raises(InvalidSetting, match="leave it out"):
        Optimizer(X[:3], seed=0, **GIVEN).add(X[3:5], noise_std=0.1)
