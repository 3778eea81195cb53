"""The adaptive scheme: length-scales that shrink and norms that grow, slowly."""

import numpy as np
import pytest

from inside import shown
from ostinato import AdaptiveUCB, MiniUCB, Optimizer
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF, Linear, Matern52

X = np.linspace(0, 1, 60)[:, None]
TRUTH = np.sin(25 * X[:, 0]) + X[:, 0]  # far shorter than the kernel below believes


def run(policy, steps=400, seed=0, kernel=None):
    opt = Optimizer(X, kernel=kernel or RBF(1.0), noise_std=0.3, policy=policy, seed=seed)
    rng = np.random.default_rng(seed)
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        opt.tell(batch, TRUTH[batch.index] + 0.3 * rng.standard_normal(batch.repeats))
    return opt


def test_the_length_scale_shrinks_as_it_says():
    policy = AdaptiveUCB(norm_bound=2.0, scale=0.2)
    opt = run(policy)
    assert opt.learned.lengthscales[0] == pytest.approx(1 / policy.shrinkage(400, 1))
    assert policy.shrinkage(400, 1) == pytest.approx(policy.norm_growth(400), rel=0.11)
    assert policy.shrinkage(0, 1) == 1
    assert policy.shrinkage(10**6, 3) ** 3 == pytest.approx(policy.norm_growth(10**6), rel=0.35)


def test_a_norm_grows_by_no_more_than_the_bound_when_the_length_scale_shrinks():
    """‖f‖² under ℓ/g is at most g^d times that under ℓ, for functions of the first space; here in one dimension.

    A function with coefficients on a fine grid has the norm aᵀKa; its norm in the other space, restricted to the grid,
    is fᵀK'⁻¹f.
    """
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 25)[:, None]
    for g in (1.2, 2.0, 4.0):
        for _ in range(20):
            K, shorter = Matern52(0.3)(grid, grid), Matern52(0.3 / g)(grid, grid)
            f = K @ rng.standard_normal(25)
            assert f @ np.linalg.solve(shorter, f) <= g * (f @ np.linalg.solve(K, f)) * (1 + 1e-9)


def test_it_finds_what_a_wrong_kernel_hides():
    def regret(policy):
        return np.mean([TRUTH.max() - TRUTH[run(policy, 1000, seed).best().index] for seed in range(4)])

    assert regret(AdaptiveUCB()) < 0.2 < 0.5 < regret(MiniUCB(C=1.2, beta=2.0))


def test_its_width_grows_with_the_norm_and_the_information():
    opt = run(AdaptiveUCB(norm_bound=1.0), 5)
    early = opt.policy.width(shown(opt))
    for index in range(60):
        opt.observe(index, [0.0] * 20)
    assert opt.policy.width(shown(opt)) > early + 1


def test_it_needs_a_kernel_to_start_from():
    with pytest.raises(InvalidSetting, match="give kernel= and noise_std="):
        Optimizer(X, policy=AdaptiveUCB())
    with pytest.raises(InvalidSetting, match="stationary"):
        Optimizer(X, kernel=Linear(), noise_std=0.1, policy=AdaptiveUCB())
    with pytest.raises(InvalidSetting, match="norm_bound"):
        AdaptiveUCB(norm_bound=-1)
