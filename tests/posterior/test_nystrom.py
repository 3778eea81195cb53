"""The Nyström posterior against dense computations on every single measurement."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato import Optimizer
from ostinato.kernels import RBF, Matern52
from ostinato.policies import BBKB, BKB
from ostinato.posterior import Nystrom, PendingVariances, Posterior
from reference import nystrom
from sizes import size

RNG = np.random.default_rng(3)
X = RNG.uniform(-2, 2, (30, 2))
NOISE = RNG.uniform(0.05, 0.4, 30)


def told(model, *, epochs=12, seed=0):
    """Epochs told to the model; returned measurement by measurement."""
    rng = np.random.default_rng(seed)
    rows, values = [], []
    for _ in range(epochs):
        row, n = int(rng.integers(30)), int(rng.integers(1, 6))
        feedback = np.sin(X[row, 0]) + np.sqrt(NOISE[row]) * rng.standard_normal(n)
        model.condition(row, n, float(feedback.mean()))
        rows += [row] * n
        values += feedback.tolist()
    return np.array(rows), np.array(values)


def flat(blocks):
    return blocks.flat()


@settings(deadline=None, max_examples=size(12, 30))
@given(seed=st.integers(0, 10**6), block_size=st.sampled_from([None, 7]), lengthscale=st.floats(0.3, 2.0))
def test_it_is_the_dense_one_on_all_measurements(seed, block_size, lengthscale):
    kernel = Matern52(lengthscale)
    model = Nystrom(X, kernel, NOISE, mean=0.5, block_size=block_size)
    rows, values = told(model, seed=seed)
    model = model.refreshed(np.random.default_rng(seed))
    unique = list(dict.fromkeys(rows.tolist()))
    inducing = [unique[slot] for slot in model.inducing]
    expected = nystrom(X, rows, values, NOISE, inducing, kernel, prior_mean=0.5)
    assert flat(model.means) == pytest.approx(expected.mean, abs=1e-8)
    assert flat(model.variances) == pytest.approx(expected.variance, abs=1e-8)
    assert model.log_det == pytest.approx(expected.log_det, abs=1e-7)
    for candidate in (0, unique[0], 29):
        assert model.covariance_with(candidate) == pytest.approx(expected.covariance[candidate], abs=1e-8)


def test_with_all_measured_candidates_inducing_it_is_the_exact_posterior():
    kernel = Matern52(0.8)
    model, exact = Nystrom(X, kernel, NOISE, oversampling=1e9), Posterior(X, kernel, NOISE)
    told(model), told(exact)
    model = model.refreshed(np.random.default_rng(0))
    assert len(model.inducing) == exact.unique.size
    assert flat(model.means) == pytest.approx(flat(exact.means), abs=1e-8)
    assert flat(model.variances) == pytest.approx(flat(exact.variances), abs=1e-8)
    assert model.log_det == pytest.approx(exact.log_det, abs=1e-7)


def test_every_past_step_enters_with_its_chance():
    """P(in) = 1 − (1 − min(1, q̄ σ̃²/λ))ⁿ, with the variances of the round before and the counts of now."""
    kernel, oversampling = Matern52(1.0), 0.8
    model = Nystrom(X, kernel, NOISE, oversampling=oversampling)
    rows, values = told(model)
    rng = np.random.default_rng(5)
    model = model.refreshed(rng)
    unique = list(dict.fromkeys(rows.tolist()))
    inducing = [unique[slot] for slot in model.inducing]
    before = nystrom(X, rows, values, NOISE, inducing, kernel).variance
    model.condition(4, 2, 0.3)
    rows = np.append(rows, [4, 4])
    unique = list(dict.fromkeys(rows.tolist()))
    variance = before[unique]
    counts = np.array([np.count_nonzero(rows == row) for row in unique])
    expected = 1 - (1 - np.minimum(1, oversampling * variance / NOISE[unique])) ** counts
    drawn = np.zeros(len(unique))
    for _ in range(N := 2000):
        drawn[model.refreshed(rng).inducing] += 1
    assert drawn / N == pytest.approx(expected, abs=5 * 0.5 / np.sqrt(N))
    assert 0.05 < expected.min() < expected.max() < 0.999


def test_it_survives_neighbours_that_are_nearly_equal():
    points = np.concatenate([X, X + 1e-9])
    model = Nystrom(points, RBF(2.0), np.full(60, 1e-3), oversampling=1e9)
    for row in range(60):
        model.condition(row, 3, float(np.sin(points[row, 0])))
    model = model.refreshed(np.random.default_rng(0))
    assert np.isfinite(flat(model.means)).all()
    assert flat(model.means) == pytest.approx(np.sin(points[:, 0]), abs=0.05)
    assert (flat(model.variances) >= 0).all()


@settings(deadline=None, max_examples=size(10, 25))
@given(
    picks=st.lists(st.tuples(st.integers(0, 29), st.integers(1, 4)), min_size=1, max_size=8), seed=st.integers(0, 99)
)
def test_imagined_measurements_shrink_the_variance_that_is_seen(picks, seed):
    """Within a round: the dense DTC variance with the picks added, their values irrelevant, the inducing set frozen."""
    kernel = Matern52(1.0)
    model = Nystrom(X, kernel, NOISE, oversampling=2.0)
    rows, values = told(model, seed=seed)
    model = model.refreshed(np.random.default_rng(seed))
    unique = list(dict.fromkeys(rows.tolist()))
    inducing = [unique[slot] for slot in model.inducing]
    pending_variances = PendingVariances(model.variances, model.ghost())
    for candidate, n in picks:
        before = nystrom(X, rows, values, NOISE, inducing, kernel).variance[candidate]
        assert pending_variances.add(candidate, n) == pytest.approx(before, abs=1e-8)
        rows, values = np.append(rows, [candidate] * n), np.append(values, [0.0] * n)
        some = np.unique(np.random.default_rng(seed).integers(0, 30, 5))
        pending_variances.update(some)
        expected = nystrom(X, rows, values, NOISE, inducing, kernel).variance
        assert pending_variances.variances[some] == pytest.approx(expected[some], abs=1e-8)
        assert pending_variances.variance(candidate) == pytest.approx(expected[candidate], abs=1e-8)
    assert pending_variances.everywhere() == pytest.approx(expected, abs=1e-8)


def test_nothing_measured_is_the_prior():
    model = Nystrom(X, RBF(1.0, std=2.0), NOISE, mean=1.5)
    model = model.refreshed(np.random.default_rng(0))
    assert flat(model.means).tolist() == [1.5] * 30
    assert flat(model.variances) == pytest.approx(4.0)
    assert model.log_det == 0
    assert model.covariance_with(3) == pytest.approx(RBF(1.0, std=2.0)(X[[3]], X)[0])
    pending_variances = PendingVariances(model.variances, model.ghost())
    assert pending_variances.add(0) == pytest.approx(4.0)
    assert pending_variances.everywhere() == pytest.approx(
        4.0
    )  # no inducing candidate yet: nothing can be seen to shrink


@pytest.mark.parametrize("policy", [BKB(), BBKB(1.2)])
@pytest.mark.parametrize("noise_std", [1e-1, 1e-3, 1e-5])
@pytest.mark.parametrize("lengthscale", [3.0, 20.0])
def test_runs_survive_smooth_kernels_and_little_noise(policy, noise_std, lengthscale):
    """Where neighbours are nearly equal and variances fall to rounding, the inducing set still holds."""
    axis = np.linspace(-5, 5, 7)
    grid = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    truth = -np.sum((grid - 1.3) ** 2, axis=1) / 30
    opt = Optimizer(grid, policy=policy, kernel=RBF(lengthscale), noise_std=noise_std, seed=1)
    rng, inducing = np.random.default_rng(1), []
    while opt.steps < 80:
        batch = opt.ask(limit=80 - opt.steps)
        inducing.append(len(opt.core.known.model.inducing))
        opt.tell(batch, truth[batch.index] + noise_std * rng.standard_normal(batch.repeats))
    assert min(inducing[6:], default=3) >= 3
    assert np.isfinite(flat(opt.core.known.model.means)).all()
    if lengthscale == 3.0:  # the other is far too smooth for this function
        assert truth[opt.best().index] > truth.max() - 0.3


def test_no_variance_falls_below_what_all_measurements_of_one_candidate_would_leave():
    model = Nystrom(X, RBF(50.0), np.full(30, 1e-8), oversampling=1e9)
    for row in range(30):
        model.condition(row, 10, 0.0)
    model = model.refreshed(np.random.default_rng(0))
    assert flat(model.variances).min() >= 1e-8 / (1e-8 + 300) * 0.999
