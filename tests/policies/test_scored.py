"""A score and a repeat rule make a policy; either may be one's own."""

import pickle
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import pytest

from ostinato import MiniUCB, Optimizer
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF
from ostinato.policies import (
    EI,
    GPEI,
    GPTS,
    GPUCB,
    TS,
    UCB,
    Combined,
    MiniEI,
    MiniMeta,
    MiniTS,
    Once,
    RareEI,
    RareSwitching,
    RareTS,
    RareUCB,
    RepeatRule,
)

X = np.linspace(0, 5, 40)[:, None]
PAIRS = {
    MiniUCB(C=1.3, beta=2.0): Combined(UCB(2.0), MiniMeta(1.3)),
    MiniEI(C=1.3, beta=1.5): Combined(EI(1.5), MiniMeta(1.3)),
    MiniTS(C=1.3): Combined(TS(), MiniMeta(1.3)),
    GPUCB(beta=2.0): Combined(UCB(2.0), Once()),
    GPEI(): Combined(EI(), Once()),
    GPTS(): Combined(TS(), Once()),
    RareUCB(C=0.4): Combined(UCB(), RareSwitching(0.4)),
    RareEI(C=0.4): Combined(EI(), RareSwitching(0.4)),
    RareTS(C=0.4): Combined(TS(), RareSwitching(0.4)),
}


def choices(policy, steps=60):
    opt, rng = Optimizer(X, kernel=RBF(1.0), noise_std=0.5, policy=policy, seed=3), np.random.default_rng(0)
    made = []
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        made.append((batch.index, batch.repeats))
        opt.tell(batch, np.sin(X[batch.index, 0]) + 0.5 * rng.standard_normal(batch.repeats))
    return made, opt


@pytest.mark.parametrize("known", PAIRS, ids=lambda policy: type(policy).__name__)
def test_every_algorithm_is_its_score_and_its_rule(known):
    (named, first), (joined, second) = choices(known), choices(PAIRS[known])
    assert named == joined
    assert first.certificate == second.certificate


def test_a_rule_of_ones_own():
    @dataclass(frozen=True)
    class ThreeTimes(RepeatRule):
        def __call__(self, repeat_value):
            return 3

    made, opt = choices(Combined(score=UCB(2.0), repeats=ThreeTimes()))
    assert {repeats for _, repeats in made} == {3}
    assert opt.certificate is None  # it promises nothing


@pytest.mark.parametrize(
    ("parts", "kind", "method"),
    [
        ((UCB(2.0), lambda repeat_value: 2), "RepeatRule", "__call__(self, repeat_value)"),
        ((UCB(2.0), 3), "RepeatRule", "__call__(self, repeat_value)"),
        ((UCB(2.0), Once), "RepeatRule", "give an object of it"),  # the class itself
        ((lambda belief: belief.means, Once()), "Score", "slack(self, belief, best)"),
        ((MiniMeta(1.2), UCB(2.0)), "Score", "the score, comes first"),  # the other way round
    ],
)
def test_parts_that_are_none_are_refused(parts, kind, method):
    with pytest.raises(InvalidSetting, match=rf"is not a {kind}: ") as refused:
        Combined(*parts)
    assert method in str(refused.value)
    assert f"ostinato.policies.{kind}" in str(refused.value)


@pytest.mark.parametrize(
    "make", [lambda: MiniMeta(1.0), lambda: RareSwitching(0.0), lambda: MiniUCB(C=1.0), lambda: RareUCB(C=0)]
)
def test_rules_check_their_settings(make):
    with pytest.raises(InvalidSetting, match="C="):
        make()


def test_a_combined_policy_is_copied_with_its_parts():
    policy = Combined(score=UCB(2.0), repeats=MiniMeta(1.2), cap_per_batch=7)
    assert pickle.loads(pickle.dumps(policy)) == policy == deepcopy(policy)
