"""Earning: early measurements are an investment, late ones are not."""

import numpy as np
import pytest
from scipy.stats import norm

from ostinato import MiniEI, Optimizer
from ostinato.kernels import RBF
from ostinato.policies import Earn
from sizes import size

X = np.linspace(0, 10, 80)[:, None]
TRUTH = np.sin(X[:, 0]) + X[:, 0] / 10


def run(steps, seed=0, noise=0.5, **settings):
    opt, rng = Optimizer(X, goal="earn", seed=seed, **settings), np.random.default_rng(seed)
    earned = 0.0
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        earned += batch.repeats * TRUTH[batch.index]
        opt.tell(batch, TRUTH[batch.index] + noise * rng.standard_normal(batch.repeats))
    return opt, earned / steps


def asked_with(left, policy):
    """What is asked with so many measurements left, of a good candidate that is known and an uncertain worse one."""
    table = np.array([[0.0], [100.0]])
    opt = Optimizer(table, policy=policy, kernel=RBF(1.0, std=1.0), noise_std=0.5, mean=0.0, budget=100 + left, seed=0)
    opt.observe(0, [1.0] * 99)
    opt.observe(1, [0.4])
    return opt.ask()


def test_what_is_left_decides_whether_looking_pays():
    assert asked_with(1_000, Earn()).index == 1
    assert asked_with(3, Earn()).index == 0


def test_it_is_the_knowledge_gradient_by_hand():
    """Two unrelated candidates, B = 1: the value of looking at the second, against going on with the first."""
    noise, left, wide = 0.25, 50, 1.5**2
    mean, variance = 0.4 / (1 + noise), noise / (1 + noise)
    top, own = 99 / (99 + noise), noise / (99 + noise)

    def gain(gap, v):
        std = wide * v / np.sqrt(wide * v + noise)
        return std * (gap / std * norm.cdf(gap / std) + norm.pdf(gap / std))

    looking = (left - 1) * gain(mean - top, variance) + mean - top
    staying = (left - 1) * gain(mean - top, own)
    assert asked_with(left, Earn(cap_per_batch=1)).index == int(looking > staying)


def test_the_last_measurements_go_to_the_leader():
    opt, _ = run(200, budget=200)
    batch, belief = opt.ask(limit=1), opt.predict()
    _, mean, std = opt.leader()
    assert belief.mean[batch.index] >= mean - 0.1 * std  # the leader, or one that is as good


def test_it_earns_more_than_expected_improvement_one_at_a_time():
    from ostinato.policies import GPEI

    ours = np.mean([run(200, seed, budget=200)[1] for seed in range(size(4, 8))])
    theirs = np.mean([run(200, seed, policy=GPEI())[1] for seed in range(size(4, 8))])
    assert ours > theirs


@pytest.mark.parametrize("block_size", [1, 7])
def test_blocks_make_the_same_choices(block_size):
    whole, parts = (run(60, budget=60, block_size=size)[0] for size in (None, block_size))
    assert whole.diagnose().rows == parts.diagnose().rows
    assert whole.switches == parts.switches


def test_where_kernel_and_noise_are_given_it_is_the_papers():
    assert Optimizer(X, goal="earn", kernel=RBF(1.0), noise_std=0.5).policy == MiniEI(C=1.2, beta=1.0)
    assert Optimizer(X, goal="earn").policy == Earn()


def test_a_value_that_is_nearly_sure_to_be_better_is_no_obstacle():
    """Candidates between well-known ones, far above them in units of what is unknown."""
    points = np.linspace(0, 1, 201)[:, None]
    truth = -20 * (points[:, 0] - 0.56) ** 2
    opt = Optimizer(points, goal="earn", seed=0, noise_std=1.0, budget=10**7)
    for row in range(0, 201, 25):
        opt.observe(row, mean=truth[row], n=4000, std=1.0)
    assert truth[opt.ask().index] >= truth[100]


def test_a_capped_leader_is_left_for_what_is_near():
    points = np.array([[0.0], [1.0], [100.0]])
    settings = {"kernel": RBF(0.1), "noise_std": 0.1, "mean": 0.0, "switch_cost": {0: 1.0}}
    opt = Optimizer(points, policy=Earn(cap_per_candidate=5), budget=100, seed=0, **settings)
    opt.observe(1, [1.0] * 3)
    opt.observe(2, [1.0] * 3)
    opt.observe(0, [2.0] * 5)
    assert opt.ask().index in (1, 2)


def test_it_is_explained():
    opt, _ = run(40, budget=100)
    batch = opt.ask()
    leads = batch.index == opt.leader()[0]
    assert ("best measured" if leads else "measurements that are left") in str(opt.explain(batch))
