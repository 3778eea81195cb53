"""One measurement a step, rare switching, ε-greedy and uniform."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato import MiniUCB, Optimizer
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF
from ostinato.policies import (
    BKB,
    GPEI,
    GPTS,
    GPUCB,
    Combined,
    EpsilonGreedy,
    Once,
    RareEI,
    RareTS,
    RareUCB,
    RepeatValue,
    Score,
    Scores,
    Uniform,
)

X = np.linspace(-3, 3, 30)[:, None]
TRUTH = np.sin(X[:, 0])


def optimizer_of(policy, seed=0, noise_std=0.5):
    return Optimizer(X, policy=policy, kernel=RBF(1.0), noise_std=noise_std, seed=seed)


def run(opt, steps, seed=1):
    rng = np.random.default_rng(seed)
    batches = []
    while opt.steps < steps:
        batches.append(opt.ask(limit=steps - opt.steps))
        opt.tell(batches[-1], TRUTH[batches[-1].index] + 0.5 * rng.standard_normal(batches[-1].repeats))
    return batches


@pytest.mark.parametrize("policy", [GPUCB(), GPEI(), GPTS(), BKB(), EpsilonGreedy(), Uniform()])
def test_one_measurement_a_step(policy):
    opt = optimizer_of(policy)
    assert [batch.repeats for batch in run(opt, 50)] == [1] * 50
    assert opt.rounds == opt.epochs == 50
    assert opt.certificate is None


def test_gp_ucb_is_mini_gp_ucb_that_never_repeats():
    """With C so near 1 that every batch is one measurement they are the same algorithm."""
    mini = run(optimizer_of(MiniUCB(1 + 1e-9)), 80)
    assert [batch.index for batch in run(optimizer_of(GPUCB()), 80)] == [batch.index for batch in mini]


def test_bkb_with_every_step_inducing_is_gp_ucb():
    sparse = run(optimizer_of(BKB(oversampling=1e9)), 60)
    assert [batch.index for batch in run(optimizer_of(GPUCB()), 60)] == [batch.index for batch in sparse]


@pytest.mark.parametrize("policy", [RareUCB, RareEI, RareTS])
def test_rare_switching_stays_until_the_determinant_has_grown(policy):
    """By a factor above 1 + C after the batch, and not before its last repeat."""
    opt = optimizer_of(policy(C=0.7))
    rng = np.random.default_rng(0)
    for _ in range(20):
        batch, before = opt.ask(), opt.log_det
        for last in [False] * (batch.repeats - 1) + [True]:
            opt.tell(batch, [TRUTH[batch.index] + 0.5 * rng.standard_normal()])
            assert (opt.log_det - before > log(1.7) - 1e-9) == last
    assert opt.certificate.gain_per_batch == pytest.approx(log(1.7))
    assert opt.certificate.holds


@given(variance=st.floats(1e-6, 1e3), noise=st.floats(1e-6, 1e3), C=st.floats(0.01, 10))
def test_the_rare_repeats_are_the_fewest_that_do(variance, noise, C):
    B = RareUCB(C).repeats(RepeatValue(variance, noise))
    assert B * variance > C * noise * (1 - 1e-12)
    assert (B - 1) * variance <= C * noise * (1 + 1e-12)


def test_uniform_visits_all_alike():
    opt = optimizer_of(Uniform())
    counts = np.bincount([batch.index for batch in run(opt, 1500)], minlength=30)
    assert counts == pytest.approx(np.full(30, 50), abs=5 * np.sqrt(50))


def test_greedy_without_exploring_takes_the_best_average():
    opt = optimizer_of(EpsilonGreedy(a=0))
    opt.observe([3, 3, 8, 20], [1.0, 0.0, 0.7, 0.6])
    assert [opt.ask().index for _ in range(3)] == [8] * 3
    opt.observe(8, [0.0])
    assert opt.ask().index == 20


def test_greedy_explores_as_often_as_it_says():
    """Candidate 7 is always 1 and the others 0: once it is found, any other pick is exploration."""
    a, b, N, found = 2.0, 0.5, 4000, 100
    opt = optimizer_of(EpsilonGreedy(a, b))
    others = np.zeros(N)
    for t in range(N):
        batch = opt.ask()
        others[t] = batch.index != 7
        opt.tell(batch, [0.0 if others[t] else 1.0])
    expected = 29 / 30 * sum(a / t**b for t in range(found + 1, N + 1))
    assert others[found:].sum() == pytest.approx(expected, abs=5 * np.sqrt(expected))


def test_policies_without_a_model_answer_with_the_exact_one():
    opt = optimizer_of(Uniform())
    run(opt, 200)
    reference = optimizer_of(MiniUCB())
    for number, statistics in opt.core.known.tally:
        reference.observe(number, n=statistics.n, mean=statistics.mean, std=0.0 if statistics.n > 1 else None)
    assert opt.predict().mean == pytest.approx(reference.predict().mean, abs=1e-9)
    assert opt.best().index == reference.best().index


@pytest.mark.parametrize(
    ("make", "message"),
    [(lambda: RareUCB(0), "C=0"), (lambda: EpsilonGreedy(a=-1), "a=-1"), (lambda: EpsilonGreedy(b="x"), "b='x'")],
)
def test_settings_out_of_range_are_refused(make, message):
    with pytest.raises(InvalidSetting, match=message):
        make()


def test_exploring_stops_however_fast_it_falls():
    opt = optimizer_of(EpsilonGreedy(b=1000))
    run(opt, 5)
    assert opt.unique == 1


def test_a_cap_leaves_the_scores_of_a_policy_alone():
    """A policy may score by the means themselves: exhausted candidates are then left out of a copy."""

    class ByMean(Score):
        def __call__(self, belief):
            return Scores(belief.means, 0.0)

        def slack(self, belief, best):
            return 0.0

    opt = optimizer_of(Combined(ByMean(), Once(), cap_per_candidate=2))
    run(opt, 40)
    assert np.isfinite(opt.predict().mean).all()
