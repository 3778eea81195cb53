"""Rules by which a run stops before its budget is spent."""

import numpy as np
import pytest

import ostinato
from ostinato.errors import InvalidSetting
from ostinato.stopping import NoImprovement, Spent, Width, Within

X = np.linspace(0, 10, 40)[:, None]


def run(stop, budget=3000, seed=0, **settings):
    rng = np.random.default_rng(seed)
    return ostinato.optimize(
        lambda x, n: np.sin(x[0]) + 0.3 * rng.standard_normal(n),
        X, budget=budget, stop=stop, vectorized=True, seed=seed, **settings,
    )  # fmt: skip


def test_an_interval_that_is_narrow_enough():
    result = run(Width(0.2))
    low, high = result.best.interval
    assert high - low <= 0.2
    assert result.ended == "Width(width=0.2, level=0.95)"
    assert 10 < result.steps < 3000
    assert "stopped by Width" in str(result)
    assert run(Width(0.05)).steps > result.steps


def test_sure_that_nothing_is_better_by_much():
    result = run(Within(0.15, chance=0.9))
    assert result.steps < 3000
    assert result.optimizer.chance_within(0.15) >= 0.9
    assert np.sin(X).max() - np.sin(X[result.best.index, 0]) < 0.15


def test_nothing_better_for_long():
    result = run(NoImprovement(150))
    assert 150 < result.steps < 3000
    down = ostinato.optimize(
        lambda x: np.cos(x[0]), X, budget=500, stop=NoImprovement(60), direction="minimize", seed=0
    )
    assert 60 < down.steps < 500
    assert np.cos(X[down.best.index, 0]) < -0.9


def test_money_that_is_spent():
    result = run(Spent(500), switch_cost=20)
    assert 500 - 20 <= result.costs.total <= 500  # less than a switch is left
    assert "cost" in str(result)


def test_the_first_rule_that_holds():
    assert run([NoImprovement(10**6), Spent(100)]).ended == "Spent(cost=100)"
    assert run(lambda opt: opt.unique >= 4).unique == 4
    assert run(None, budget=50).ended == "budget"


@pytest.mark.parametrize("rule", [Width, "narrow", 3, [Width(1.0), None]])
def test_what_is_no_rule_is_refused(rule):
    with pytest.raises(InvalidSetting, match="not a rule"):
        run(rule)


@pytest.mark.parametrize("make", [lambda: Width(0), lambda: Within(-1), lambda: Within(1, 2), lambda: NoImprovement(0)])
def test_rules_check_their_numbers(make):
    with pytest.raises(InvalidSetting):
        make()


def test_a_rule_can_be_used_again():
    rule = NoImprovement(100)
    assert run(rule).steps == run(rule).steps


@pytest.mark.parametrize(("cost", "switch_cost"), [(1, 1000), (2_000, 1_000), (200, 3)])
def test_no_more_is_spent_than_was_said(cost, switch_cost):
    result = run(Spent(cost), switch_cost=switch_cost)
    assert result.costs.total <= cost
    assert "Spent" in result.ended
