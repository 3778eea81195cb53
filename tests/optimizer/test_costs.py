"""Switching costs: how users give them, and what they change."""

import itertools

import numpy as np
import pandas as pd
import pytest

from ostinato import MiniUCB, Optimizer
from ostinato.candidates import read_candidates
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF
from ostinato.optimizer.costs import read_costs, shortest_way

FRAME = pd.DataFrame([(t, s) for t in (20.0, 40.0, 60.0) for s in ("a", "b")], columns=["temp", "solvent"])
TABLE = read_candidates(FRAME)
ALL = np.arange(6)


@pytest.mark.parametrize(
    ("given", "from_0"),
    [
        (5, [0, 5, 5, 5, 5, 5]),
        ({"temp": 30, "solvent": 1}, [0, 1, 30, 31, 30, 31]),
        ({"temp": 30}, [0, 0, 30, 30, 30, 30]),
        (np.add.outer(10 * np.arange(6), np.arange(6)), [0, 1, 2, 3, 4, 5]),
        (lambda a, b: abs(a["temp"] - b["temp"]), [0, 0, 20, 20, 40, 40]),
    ],
    ids=["a number", "per column", "one column", "a table", "a function"],
)
def test_costs_are_given_in_many_ways(given, from_0):
    assert read_costs(given, TABLE)(0, ALL).tolist() == from_0


@pytest.mark.parametrize(
    ("given", "match"),
    [
        (-1, "switch_cost=-1"),
        (np.nan, "switch_cost=nan"),
        ("much", "switch_cost='much'"),
        ({"pressure": 1}, "column 'pressure', which is not there"),
        ({"temp": -3}, "temp"),
        (np.zeros((2, 2)), r"shape \(2, 2\) for 6"),
        (np.full((6, 6), np.inf), "finite"),
    ],
)
def test_costs_that_cannot_be_are_refused(given, match):
    with pytest.raises(InvalidSetting, match=match):
        read_costs(given, TABLE)


def test_a_function_is_checked_when_it_is_used():
    with pytest.raises(InvalidSetting, match="finite"):
        read_costs(lambda a, b: -1, TABLE)(0, ALL)


def test_a_round_is_walked_in_a_cheap_order():
    costs = read_costs({"temp": 30, "solvent": 1}, TABLE)
    assert shortest_way(2, [0, 5, 3, 1, 4], costs) == [3, 5, 4, 0, 1]
    assert shortest_way(None, [4, 0, 5], costs) == [4, 5, 0]
    assert shortest_way(0, [4, 0, 5], None) == [4, 0, 5]


X = np.stack(np.meshgrid(np.arange(8.0), np.arange(8.0), indexing="ij"), axis=-1).reshape(-1, 2)
TRUTH = -0.1 * np.sum((X - [5, 3]) ** 2, axis=1)


def run(steps=300, seed=0, **settings):
    opt = Optimizer(X, kernel=RBF(2.0, std=2.0), noise_std=1.0, policy=MiniUCB(C=1.2), seed=seed, **settings)
    rng = np.random.default_rng(seed)
    path = []
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        path.append(batch.index)
        opt.tell(batch, TRUTH[batch.index] + rng.standard_normal(batch.repeats))
    return opt, path


def test_dear_switches_are_fewer_and_the_ledger_says_what_they_cost():
    free, _ = run()
    dear, path = run(switch_cost=50)
    assert dear.switches < 0.7 * free.switches
    costs = dear.costs
    assert costs.switches == dear.switches == sum(a != b for a, b in itertools.pairwise(path))
    assert costs.switch_cost == 50 * dear.switches
    assert costs.measurement_cost == costs.measurements == 300
    assert costs.total == costs.switch_cost + 300
    assert costs.one_at_a_time == 299 * 50 + 300
    assert TRUTH.max() - TRUTH[dear.best().index] < 0.3
    assert free.costs.switch_cost == 0
    assert "switches" in str(costs)


def test_a_column_that_is_hard_to_change_changes_less():
    """Near-ties are settled by what is cheap to reach: totals over seeds."""

    def changes(column, **settings):
        return sum(np.count_nonzero(np.diff(X[run(200, seed, **settings)[1], column])) for seed in range(6))

    assert changes(0, switch_cost={0: 5.0, 1: 0.01}) < 0.8 * changes(0, switch_cost={0: 0.01, 1: 5.0})


def test_a_measurements_own_cost_counts():
    opt, _ = run(50, switch_cost=10, measurement_cost=2.5)
    assert opt.costs.measurement_cost == 125


def test_a_cost_that_is_refused_changes_nothing():
    costs = {"now": 1.0}
    opt = Optimizer(
        np.arange(3.0)[:, None], kernel=RBF(1.0), noise_std=0.01, switch_cost=lambda a, b: costs["now"], seed=0
    )
    first, second = opt.ask(), opt.ask()
    opt.tell(first, np.zeros(first.repeats))
    steps, costs["now"] = opt.steps, -1.0
    with pytest.raises(InvalidSetting, match="0 or more"):
        opt.tell(second, np.zeros(second.repeats))
    assert opt.steps == steps
    assert [batch.id for batch in opt.in_flight] == [second.id]
