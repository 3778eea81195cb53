"""Why this candidate, why this many repeats."""

import numpy as np
import pytest

from ostinato import MiniEI, MiniTS, MiniUCB, Optimizer
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF
from ostinato.policies import GPUCB, EpsilonGreedy

X = np.linspace(0, 10, 60)[:, None]


def after(steps, limit=None, **settings):
    opt, rng = Optimizer(X, seed=0, **settings), np.random.default_rng(0)
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        opt.tell(batch, np.sin(X[batch.index, 0]) + 0.5 * rng.standard_normal(batch.repeats))
    batch = opt.ask(limit)
    return opt, batch, opt.explain(batch)


def test_of_the_first_ones_nothing_is_claimed():
    """Also not of those that are asked for while the first are under way."""
    opt = Optimizer(X, seed=0)
    for _ in range(8):
        why = opt.explain(opt.ask())
        assert "one of the first few" in str(why)
        assert "±" not in str(why)
        assert why.numbers.first


def test_numbers_are_those_the_choice_was_made_by():
    opt, batch, why = after(100, kernel=RBF(1.0), noise_std=0.5)
    prediction = opt.predict()
    assert why.numbers.mean == pytest.approx(prediction.mean[batch.index])
    assert why.numbers.std == pytest.approx(prediction.std[batch.index])
    assert why.numbers.noise_std == pytest.approx(opt.learned.noise_std[0])
    assert why.numbers.leader == opt.best().candidate
    assert str(batch.candidate) in why.why_this_candidate
    assert f"{why.numbers.std:.2g}" in str(why)


@pytest.mark.parametrize(
    ("settings", "limit", "words"),
    [
        ({"policy": MiniUCB(C=3.0)}, None, "more would leave the model behind by over 3"),
        ({"policy": MiniUCB(C=1.05)}, None, "so that one tells most"),
        ({"policy": MiniUCB(C=9.0, cap_per_batch=2)}, None, "because of the cap per batch"),
        ({"policy": MiniUCB(C=9.0)}, 2, "as many as there is room for"),
        ({"policy": MiniUCB(C=1.05), "switch_cost": 100}, None, "costs as much as 100 measurements"),
        ({"policy": GPUCB()}, None, "one measurement carries"),
        ({"policy": EpsilonGreedy()}, None, "one measurement carries"),
    ],
)
def test_repeats_are_explained_by_what_decided_them(settings, limit, words):
    _, batch, why = after(5 if "tells most" in words else 40, limit, kernel=RBF(1.0), noise_std=0.5, **settings)
    assert words in why.why_this_many
    assert ("once" if batch.repeats == 1 else f"{batch.repeats} times") in why.why_this_many


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (MiniUCB(beta=2.5), "would be the best of all if it were 2.5 standard deviations better"),
        (MiniEI(beta=1.5), "promises most improvement on the leader, with exploration weight 1.5"),
        (MiniTS(), "was the best in a draw"),
        (EpsilonGreedy(), "; the leader"),
    ],
)
def test_candidates_are_explained_by_what_the_policy_seeks(policy, words):
    explained = (after(steps, kernel=RBF(1.0), noise_std=0.5, policy=policy)[2] for steps in range(3, 60))
    assert any(words in why.why_this_candidate for why in explained if not why.numbers.leads)


def test_minimising_speaks_of_the_users_own_values():
    opt = Optimizer(X, direction="minimize", seed=0)
    for row in range(0, 60, 5):
        opt.observe(row, [30 + np.sin(X[row, 0])])
    why = opt.explain(opt.ask())
    assert 28 < why.numbers.mean < 32
    assert why.numbers.leader_mean < 30


def test_only_batches_have_reasons():
    with pytest.raises(InvalidSetting, match="no reason"):
        Optimizer(X).explain("why")
