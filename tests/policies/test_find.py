"""Finding: look around first, then tell the best ones apart."""

import numpy as np
import pytest

from ostinato import Optimizer
from ostinato.errors import InvalidSetting
from ostinato.policies import Find

X = np.linspace(0, 10, 80)[:, None]
TRUTH = np.sin(X[:, 0])


def run(steps=100, budget=None, seed=0, **settings):
    opt, rng = Optimizer(X, budget=budget, seed=seed, **settings), np.random.default_rng(seed)
    first: dict[int, int] = {}
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        first.setdefault(batch.index, opt.steps)
        opt.tell(batch, TRUTH[batch.index] + 0.5 * rng.standard_normal(batch.repeats))
    return opt, first


def test_the_last_fifth_of_the_budget_knows_no_new_candidate():
    for seed in range(5):
        _, first = run(100, budget=100, seed=seed)
        assert max(first.values()) < 80


def test_without_a_budget_it_goes_on_looking():
    assert run(100, seed=1)[1] == run(100, budget=10**6, seed=1)[1]


def test_beyond_the_budget_it_still_answers():
    opt, _ = run(150, budget=100)
    assert opt.steps == 150


def test_caps_leave_it_something_to_ask():
    opt, first = run(100, budget=100, policy=Find(cap_per_candidate=2))
    assert len(first) >= 50
    assert opt.steps == 100


def test_the_share_is_a_share():
    with pytest.raises(InvalidSetting, match="finish"):
        Find(finish=0.0)
    with pytest.raises(InvalidSetting, match="budget"):
        Optimizer(X, budget=0)
