"""Where bounds on regret are proved, and what is said where they are not."""

import numpy as np
import pytest

from ostinato import Float, MiniEI, MiniTS, MiniUCB, Optimizer, Space, optimize
from ostinato.confidence import Bayesian, Frequentist, Improvement
from ostinato.kernels import RBF
from ostinato.policies import BBKB, TS, UCB, AdaptiveUCB, Combined, Earn, MiniMeta, Proposal, Uniform

RUN = {"kernel": RBF(0.3), "noise_std": 0.1, "mean": 0.0}
PROVED = {"policy": MiniUCB(beta=Bayesian())}
TEN = np.linspace(0, 1, 10)[:, None]


@pytest.mark.parametrize(
    "policy",
    [
        MiniUCB(beta=Bayesian()),
        MiniUCB(beta=Frequentist(norm_bound=1.0), cap_per_batch=5),
        MiniEI(beta=Improvement()),
        Combined(UCB(Bayesian()), MiniMeta(1.3)),
        AdaptiveUCB(),
    ],
)
def test_regret_is_bounded_where_the_policy_is_that_of_a_proof(policy):
    learned = Optimizer(TEN, **RUN, policy=policy).learned
    assert learned.given
    assert learned.guaranteed
    assert learned.uncovered == ""


class Own(MiniUCB):
    def propose(self, belief, limit=None):
        return [Proposal(0, 1)]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({}, "not for Find"),
        ({"goal": "earn"}, "beta=1.0 is not Improvement"),
        ({"policy": MiniUCB(beta=2.0)}, "beta=2.0 is not Bayesian"),
        ({"policy": MiniUCB(beta=0.1 * Frequentist(norm_bound=1.0))}, "is not Bayesian"),
        ({"policy": MiniEI(beta=Bayesian())}, "is not Improvement"),
        ({"policy": MiniTS()}, "not for MiniTS"),
        ({"policy": BBKB()}, "not for BBKB"),
        ({"policy": Uniform()}, "not for Uniform"),
        ({"policy": Earn()}, "not for Earn"),
        ({"policy": Own(beta=Bayesian())}, "not for Own"),
        ({"policy": Combined(TS(), MiniMeta(1.2))}, "not for Combined"),
        ({"policy": AdaptiveUCB(scale=0.1)}, "scale=0.1"),
        ({"policy": MiniUCB(beta=Bayesian(), cap_per_candidate=9)}, "cap_per_candidate"),
        ({**PROVED, "half_life": 50}, "half_life"),
        ({**PROVED, "setup_std": 0.2}, "setup_std"),
        ({**PROVED, "robust": True}, "robust"),
        ({**PROVED, "switch_cost": 2.0}, "switch_cost"),
        ({**PROVED, "noise_std": np.linspace(0.1, 0.2, 10)}, "differs between candidates"),
    ],
)
def test_elsewhere_the_run_says_what_is_not_covered(settings, words):
    """A constant β, policies without a proof, and settings that the proofs do not know."""
    learned = Optimizer(TEN, **(RUN | settings)).learned
    assert learned.given
    assert not learned.guaranteed
    assert words in learned.uncovered


def test_events_that_the_proofs_do_not_know_are_said_too():
    opt = Optimizer(TEN, **RUN, **PROVED)
    opt.observe(3, [np.nan])
    assert opt.learned.uncovered == "measurements failed"
    opt = Optimizer(TEN, **RUN, **PROVED)
    opt.retire(2)
    assert opt.learned.uncovered == "candidates were retired"
    opt.restore(2)
    assert opt.learned.guaranteed
    opt.add([[2.0]])
    assert opt.learned.uncovered == "candidates were added"
    space = Space(x=Float(0.0, 1.0))
    assert "search" in Optimizer(space, **RUN, **PROVED).learned.uncovered
    assert "listed" in Optimizer(space, **RUN, **PROVED, search="certified").learned.uncovered
    frequentist = MiniUCB(beta=Frequentist(norm_bound=1.0))
    assert Optimizer(space, **RUN, policy=frequentist, search="certified").learned.guaranteed


def test_the_result_says_it_in_one_line():
    def measure(candidate):
        return 0.1 * rng.standard_normal()

    rng, said = np.random.default_rng(0), {}
    for name, given in (("constant", MiniUCB(beta=2.0)), ("proved", MiniUCB(beta=Bayesian()))):
        said[name] = str(optimize(measure, TEN, budget=30, **RUN, policy=given, seed=0, progress=False))
    assert "regret      without a proved bound: beta=2.0 is not" in said["constant"]
    assert "regret" not in said["proved"]
    assert "certificate" in said["constant"]
