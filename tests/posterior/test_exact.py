"""The posterior is exact: the same numbers as a dense Gaussian process on every single measurement."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from histories import histories
from ostinato.errors import InvalidKernel
from ostinato.kernels import RBF, Constant, Custom, Linear, Matern52
from ostinato.measurements.tally import Statistics, Tally
from ostinato.posterior import PendingVariances, Posterior
from ostinato.posterior.exact import VARIANCES_EVERY
from reference import fifty_digits, scikit_learn
from sizes import size

EPSILON = np.finfo(np.float64).eps
BACKENDS = [np, array_api_strict]


def posterior_of(history, *, xp=np, block_size=4, mean=0.0):
    posterior = Posterior(history.X, RBF(), history.noise, mean=mean, xp=xp, block_size=block_size)
    for row, n, value in history.epochs:
        posterior.condition(row, n, value)
    return posterior


def over_candidates(posterior):
    mean = np.concatenate([np.asarray(np.from_dlpack(block)) for block in posterior.means])
    variance = np.concatenate([np.asarray(np.from_dlpack(block)) for block in posterior.variances])
    return mean, variance


SMOOTH = [(RBF(1.0), 0.5), (RBF(3.0), 1.0), (Linear(0.5) + Constant(2.0), 1.0), (Matern52(4.0), 1.0)]


@pytest.mark.parametrize(("kernel", "span"), SMOOTH, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("noise_std", [0.3, 0.01, 0.00101])
def test_smooth_kernels_lose_no_digits_between_repairs(kernel, span, noise_std):
    """Hundreds of single measurements of neighbours: K is all but singular, and M = (K + Λ)⁻¹ loses digits fast."""
    rng = np.random.default_rng(0)
    X = np.linspace(0, span, 200)[:, None]
    posterior = Posterior(X, kernel, np.full(200, noise_std**2), block_size=64)
    rows = rng.integers(0, 200, 140)
    values = np.sin(3 * X[rows, 0]) + noise_std * rng.standard_normal(140)
    for row, value in zip(rows, values, strict=True):
        posterior.condition(int(row), 1, value)
    K = kernel(X, X)
    A = K[np.ix_(rows, rows)] + noise_std**2 * np.eye(140)
    expected = K[:, rows] @ np.linalg.solve(A, values)
    log_det = np.linalg.slogdet(A)[1] - 140 * np.log(noise_std**2)
    mean, variance = over_candidates(posterior)
    fresh_variance = posterior.predict(X)[1]
    rho = float(K.max()) * np.bincount(rows).max() / noise_std**2
    assert mean == pytest.approx(expected, abs=max(1e-8, 1e-14 * rho))  # beyond ρ = 1e7 the dense solve is no better
    assert posterior.log_det == pytest.approx(log_det, abs=max(1e-8, 1e-14 * rho))
    assert variance == pytest.approx(fresh_variance, rel=100 * 140 * EPSILON * (1 + rho) + 1e-9)


@settings(deadline=None, max_examples=size(12, 30))
@given(seed=st.integers(0, 10**6))
def test_candidates_of_very_different_prior_variance(seed):
    """A linear kernel on rows of sizes 1e-3 to 1e3: some candidates vary a million times more than others."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((8, 2)) * 10 ** rng.uniform(-3, 3, (8, 1))
    posterior = Posterior(X, Linear(), np.full(8, 0.1), block_size=3)
    totals = {}
    for row in rng.integers(0, 8, 20):
        n = int(10 ** rng.uniform(0, 3))
        value = float(X[row] @ [1.0, -1.0] + np.sqrt(0.1 / n) * rng.standard_normal())
        posterior.condition(int(row), n, value)
        count, mean = totals.get(int(row), (0, 0.0))
        totals[int(row)] = (count + n, (count * mean + n * value) / (count + n))
    counts, means = zip(*totals.values(), strict=True)
    expected = fifty_digits(Linear()(X, X), list(totals), counts, means, np.full(8, 0.1))
    rho = float(np.max(np.sum(X * X, axis=1))) * max(counts) / 0.1
    assert over_candidates(posterior)[0] == pytest.approx(expected.mean, rel=1e-7, abs=1e-7)
    assert posterior.log_det == pytest.approx(expected.log_det, abs=1e-8 + 100 * EPSILON * rho)


@pytest.mark.parametrize("xp", BACKENDS)
@settings(deadline=None, max_examples=size(16, 40))
@given(history=histories(largest_count=20), prior_mean=st.sampled_from([0.0, -3.0]))
def test_equals_scikit_learn_on_every_measurement(xp, history, prior_mean):
    posterior = posterior_of(history, xp=xp, mean=prior_mean)
    rows = np.repeat([row for row, _, _ in history.epochs], [n for _, n, _ in history.epochs])
    values = np.repeat([value for *_, value in history.epochs], [n for _, n, _ in history.epochs])
    expected = scikit_learn(history.X, rows, values, history.noise, prior_mean=prior_mean)
    mean, variance = over_candidates(posterior)
    assert mean == pytest.approx(expected.mean, abs=1e-8)
    assert variance == pytest.approx(expected.variance, abs=1e-8)
    assert posterior.log_det == pytest.approx(expected.log_det, abs=1e-8)
    fresh_mean, fresh_variance = posterior.predict(history.X)
    assert fresh_mean == pytest.approx(expected.mean, abs=1e-8)
    assert fresh_variance == pytest.approx(expected.variance, abs=1e-8)
    assert posterior.covariance(history.X) == pytest.approx(expected.covariance, abs=1e-8)


def check_against_fifty_digits(history, block_size):
    posterior = posterior_of(history, block_size=block_size)
    rows, counts, means = history.merged
    expected = fifty_digits(RBF()(history.X, history.X), rows, counts, means, history.noise)
    mean, variance = posterior.over_candidates()
    fresh_mean, fresh_variance = posterior.predict(history.X)
    for found in (mean, fresh_mean):
        assert found == pytest.approx(expected.mean, abs=1e-8)
    assert posterior.log_det == pytest.approx(expected.log_det, rel=1e-8, abs=1e-8)
    tolerance = 100 * len(rows) * EPSILON * (1 + history.rho)
    for found in (variance, fresh_variance):
        assert np.all(np.abs(found - expected.variance) <= tolerance * expected.variance)
    sd = np.sqrt(expected.variance)
    scaled = (posterior.covariance(history.X) - expected.covariance) / sd[:, None] / sd[None, :]
    assert np.max(np.abs(scaled)) <= tolerance


@settings(deadline=None, max_examples=size(24, 60))
@given(history=histories(largest_count=10**9), block_size=st.sampled_from([3, 1000]))
def test_holds_up_to_the_precision_that_float64_can_give(history, block_size):
    check_against_fifty_digits(history, block_size)


@settings(deadline=None, max_examples=size(10, 25))
@given(history=histories(largest_count=10**9, grid=True))
def test_holds_on_grids_whose_structure_is_used(history):
    check_against_fifty_digits(history, block_size=None)


@settings(deadline=None, max_examples=size(24, 60))
@given(history=histories(largest_count=10**6, near_duplicates=True), block_size=st.sampled_from([3, 1000]))
def test_near_duplicate_candidates_cost_no_precision_of_the_mean(history, block_size):
    check_against_fifty_digits(history, block_size)


@settings(deadline=None, max_examples=size(16, 40))
@given(history=histories(largest_count=10**9, least_noise=1e-9, near_duplicates=True))
def test_beyond_that_it_stays_finite_and_non_negative(history):
    posterior = posterior_of(history)
    for mean, variance in (over_candidates(posterior), posterior.predict(history.X)):
        assert np.isfinite(mean).all()
        assert np.isfinite(variance).all()
        assert np.all(variance >= 0)
    assert np.isfinite(posterior.log_det)
    assert np.isfinite(posterior.covariance(history.X)).all()


@settings(deadline=None, max_examples=size(12, 30))
@given(history=histories(largest_count=1000, most_epochs=60))
def test_is_a_function_of_the_tally_alone(history):
    """Epochs in any order, merged or not, and a rebuild from the facts: the same posterior."""
    forward = posterior_of(history)
    backward = Posterior(history.X, RBF(), history.noise, block_size=3)
    for row, n, value in reversed(history.epochs):
        backward.condition(row, n, value)
    tally = Tally()
    for row, n, value in history.epochs:
        tally.add(row, Statistics(n, value))
    rebuilt = Posterior(history.X, RBF(), history.noise)
    rebuilt.rebuild(tally)
    for other in (backward, rebuilt):
        assert np.allclose(over_candidates(other), over_candidates(forward), rtol=0, atol=1e-9)
        assert other.log_det == pytest.approx(forward.log_det, abs=1e-8)


def test_a_rebuild_forgets_what_was_computed_before_it():
    posterior = Posterior(np.arange(3.0)[:, None], RBF(), np.full(3, 0.1))
    tally = Tally()
    for value in (1.0, -2.0):
        for row in range(3):
            tally.add(row, Statistics(5, value))
        posterior.rebuild(tally)
        kept, fresh = posterior.means.flat(), posterior.predict(posterior.features)[0]  # predict keeps a factorisation
        assert kept == pytest.approx(fresh, abs=1e-12)
    assert kept[0] == pytest.approx(-0.5, abs=0.1)


@pytest.mark.parametrize("settings", [{}, {"block_size": 30}, {"memory": 8 * 100 * 12}])
def test_a_model_in_place_of_another_uses_its_memory_and_both_stay_right(settings):
    """A decision that learns and is thrown away leaves the last model as it was, to the bit."""
    rng = np.random.default_rng(4)
    X, tally = rng.random((100, 2)), Tally()
    for candidate in range(20):
        tally.add(candidate, Statistics(2, float(rng.standard_normal())))

    def made(kernel):
        posterior = Posterior(X, kernel, np.full(100, 0.1), **settings)
        if kernel is second:
            posterior.reuse_memory_of(old)
        posterior.rebuild(tally)
        for candidate in (25, 3, 26):
            posterior.condition(candidate, 1, 0.5)
        return posterior

    first, second, third = (Matern52(scale) for scale in (0.3, 0.5, 0.5))
    old, plain = made(first), made(first)
    new, alone = made(second), made(third)
    for found, expected in ((new, alone), (old, plain)):
        for candidate in (40, 25, 41):
            found.condition(candidate, 1, 1.5)
            expected.condition(candidate, 1, 1.5)
        assert found.means.flat().tolist() == expected.means.flat().tolist()
        assert found.variances.flat().tolist() == expected.variances.flat().tolist()
    assert old.blocks.room.gone


def test_thousands_of_epochs_do_not_drift():
    """Just before everything is repaired, where rounding has added up for longest, and after it."""
    rng, n = np.random.default_rng(3), size(150, 500)
    X = rng.uniform(-3, 3, (n, 2))
    truth, repair = np.sin(X).sum(axis=1), VARIANCES_EVERY * n
    posterior = Posterior(X, Matern52(), np.full(n, 0.5))
    for epoch, row in enumerate(rng.integers(0, n, repair + n - 1), 1):
        posterior.condition(int(row), 1, truth[row] + rng.standard_normal() * 0.7)
        if epoch in (repair - 1, repair + n - 1):
            mean, variance = over_candidates(posterior)
            fresh_mean, fresh_variance = posterior.predict(X)
            assert mean == pytest.approx(fresh_mean, abs=1e-9)
            assert variance == pytest.approx(fresh_variance, rel=1e-8)
            assert posterior.log_det == pytest.approx(posterior.factor.log_det, abs=1e-8)


@settings(deadline=None, max_examples=size(12, 30))
@given(
    history=histories(largest_count=100), pending=st.lists(st.tuples(st.integers(0, 8), st.integers(1, 50)), max_size=4)
)
def test_hallucination_gives_the_variance_that_will_be(history, pending):
    pending = [(row % len(history.X), n) for row, n in pending]
    posterior = posterior_of(history)
    before = over_candidates(posterior)
    merged = dict.fromkeys((row for row, _ in pending), 0)
    for row, n in pending:
        merged[row] += n
    pending_variances = PendingVariances(posterior.variances, posterior.ghost())
    for row, n in merged.items():
        pending_variances.add(row, n)
    variances, ghost = [pending_variances.everywhere()], pending_variances.ghost.unique
    log_det = ghost.log_det
    assert np.array_equal(over_candidates(posterior), before)
    for row, n in merged.items():
        posterior.condition(row, n, 0.0)
    assert np.concatenate(variances) == pytest.approx(over_candidates(posterior)[1], rel=1e-7, abs=1e-12)
    assert log_det == pytest.approx(posterior.log_det, abs=1e-9)


def test_at_new_points_it_is_the_same_gaussian_process():
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2, 2, (6, 2)), rng.uniform(-2, 2, (5, 2))
    noise = np.full(11, 0.1)
    rows, values = np.array([0, 1, 1, 4]), np.array([1.0, 0.5, 0.7, -1.0])
    posterior = Posterior(X, RBF(), noise[:6])
    for row, value in zip(rows, values, strict=True):
        posterior.condition(int(row), 1, value)
    expected = scikit_learn(np.concatenate([X, new]), rows, values, noise)
    mean, variance = posterior.predict(new)
    assert mean == pytest.approx(expected.mean[6:], abs=1e-10)
    assert variance == pytest.approx(expected.variance[6:], abs=1e-10)
    assert posterior.covariance(new) == pytest.approx(expected.covariance[6:, 6:], abs=1e-10)


def test_covariance_with_one_candidate_is_a_row_of_the_covariance():
    rng = np.random.default_rng(1)
    X = rng.uniform(-2, 2, (7, 2))
    posterior = Posterior(X, RBF(), np.full(7, 0.2), block_size=3)
    for row in (0, 2, 2, 5):
        posterior.condition(row, 3, rng.standard_normal())
    for row in range(7):
        assert posterior.covariance_with(row) == pytest.approx(posterior.covariance(X)[row], abs=1e-12)


def test_a_kernel_that_turns_out_not_to_be_positive_is_refused():
    posterior = Posterior(np.arange(3.0)[:, None], Custom(lambda A, B: 1 - 2 * np.abs(A - B.T)), np.full(3, 0.01))
    with pytest.raises(InvalidKernel, match="not positive"):
        posterior.condition(0, 1, 1.0)
