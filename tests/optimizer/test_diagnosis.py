"""A verdict in words: what fits is said to fit, and what does not is named with its remedy."""

import numpy as np
import pytest

from ostinato import Optimizer, Study
from ostinato.errors import NothingMeasured
from ostinato.kernels import RBF
from ostinato.optimizer.diagnosis import NEVER_DIFFER

X = np.linspace(0, 10, 60)[:, None]


def measured(law, seed=0, candidates=25, visits=2, repeats=6, **settings):
    """An optimiser that was told of some candidates; `law(x, rng, n)` gives the values of a visit."""
    opt, rng = Optimizer(X, seed=seed, **settings), np.random.default_rng(seed)
    rows = rng.choice(60, candidates, replace=False)
    for _ in range(visits):
        for row in rows:
            opt.observe(int(row), law(X[row, 0], rng, repeats))
    return opt


def smooth(x, rng, n):
    return np.sin(x) + 0.3 * rng.standard_normal(n)


def failed(opt):
    return {check.name for check in opt.diagnose().checks if not check.ok}


def test_a_model_that_fits_is_said_to_fit():
    fits = [measured(smooth, seed).diagnose() for seed in range(20)]
    assert sum(diagnosis.fits for diagnosis in fits) >= 19
    assert "fits these data" in next(d for d in fits if d.fits).verdict
    assert np.median([d.noise_std for d in fits]) == pytest.approx(0.3, rel=0.05)
    assert np.mean([d.noise_interval[0] < 0.3 < d.noise_interval[1] for d in fits]) >= 0.8
    assert "the model:" in str(fits[0])
    assert len(fits[0].residuals) == len(fits[0].rows) == 25


@pytest.mark.parametrize(
    ("settings", "law", "check", "remedy"),
    [
        ({"kernel": RBF(20.0), "noise_std": 0.3}, smooth, "left-out candidates", "a length-scale that is too long"),
        ({"kernel": RBF(1.5), "noise_std": 1.0}, smooth, "noise", "leave it out, and it is learned"),
        ({"kernel": RBF(1.5), "noise_std": 0.2}, smooth, "noise", "holds 0.2 true"),
        (
            {},
            lambda x, rng, n: np.sin(x) + (0.05 + 0.2 * x) * rng.standard_normal(n),
            "noise of each candidate",
            "varying",
        ),
        (
            {},
            lambda x, rng, n: np.sin(x) + 0.5 * rng.standard_normal() + 0.1 * rng.standard_normal(n),
            "returns",
            "setup_std='learn'",
        ),
    ],
    ids=["too smooth", "noise too large", "noise too small", "unequal noise", "set-ups"],
)
def test_what_does_not_fit_is_named_with_its_remedy(settings, law, check, remedy):
    for seed in range(5):
        opt = measured(law, seed, **settings)
        diagnosis = opt.diagnose()
        assert check in failed(opt)
        assert diagnosis.fits is False
        assert diagnosis.verdict.startswith("The model does not fit these data: ")
        assert remedy in str(diagnosis)


def test_the_remedies_help():
    uneven = lambda x, rng, n: np.sin(x) + (0.05 + 0.2 * x) * rng.standard_normal(n)  # noqa: E731
    opt = measured(uneven, noise_std="varying")
    assert "noise of each candidate" not in failed(opt)
    low, high = opt.learned.noise_std
    assert low < 0.4
    assert high > 1.2
    setups = lambda x, rng, n: np.sin(x) + 0.5 * rng.standard_normal() + 0.1 * rng.standard_normal(n)  # noqa: E731
    opt = measured(setups, setup_std="learn")
    assert opt.diagnose().fits
    assert opt.learned.setup_std == pytest.approx(0.5, rel=0.3)


def test_left_out_residuals_are_those_of_leaving_out():
    """Against a model that never saw the candidate."""
    rng = np.random.default_rng(0)
    y = {row: np.sin(X[row, 0]) + 0.3 * rng.standard_normal(3) for row in range(0, 60, 6)}
    given = {"kernel": RBF(2.0), "noise_std": 0.3}
    whole = Optimizer(X, **given)
    for row, values in y.items():
        whole.observe(row, values)
    diagnosis = whole.diagnose()
    for row, residual in zip(diagnosis.rows, diagnosis.residuals, strict=True):
        without = Optimizer(X, **given)
        for other, values in y.items():
            if other != row:
                without.observe(other, values)
        prediction = without.predict()
        expected = (y[row].mean() - prediction.mean[row]) / np.hypot(prediction.std[row], 0.3 / np.sqrt(3))
        assert residual == pytest.approx(expected)


def test_too_early_and_nothing():
    opt = Optimizer(X, seed=0)
    with pytest.raises(NothingMeasured):
        opt.diagnose()
    opt.observe(3, [1.0, 1.1])
    assert opt.diagnose().fits is None
    assert "Too early" in opt.diagnose().verdict


def test_settings_that_one_candidate_contradicts_are_doubted_at_once():
    opt = Optimizer(X, kernel=RBF(1.5), noise_std=50.0, mean=10.0, seed=0)
    opt.observe(3, 10 + np.random.default_rng(0).standard_normal(20))
    assert opt.diagnose().fits is False
    assert "leave it out, and it is learned" in opt.diagnose().verdict
    learned = Optimizer(X, seed=0)
    learned.observe(3, 10 + np.random.default_rng(0).standard_normal(20))
    assert learned.diagnose().fits is None


def test_given_noise_that_differs_raises_no_false_alarm():
    """A few candidates are far noisier than the others, and the model was told so."""
    std = np.where(np.arange(60) % 20 == 0, 2.0, 0.05)
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        truth = np.linalg.cholesky(RBF(1.5)(X, X) + 1e-9 * np.eye(60)) @ rng.standard_normal(60)
        opt = Optimizer(X, kernel=RBF(1.5), noise_std=std, mean=0.0, seed=seed)
        for _ in range(2):
            for row in range(0, 60, 3):
                opt.observe(row, truth[row] + std[row] * rng.standard_normal(5))
        alarms += opt.diagnose().fits is False
    assert alarms <= 2


def test_a_model_that_has_seen_too_little_is_doubted():
    """One candidate took most of the measurements, as in a run that repeats the first decent one."""
    rng = np.random.default_rng(0)
    X = rng.random((2_000, 6))
    opt = Optimizer(X, seed=0)
    for row in range(40):
        opt.observe(row, X[row].sum() + 0.1 * rng.standard_normal())
    opt.observe(0, X[0].sum() + 0.1 * rng.standard_normal(260))
    found = opt.diagnose()
    assert found.fits is None
    assert "has seen too little to be sure of the rest: one candidate took 87% of all measurements" in found.verdict


def test_few_candidates_for_many_measurements_are_too_little():
    rng = np.random.default_rng(0)
    opt = Optimizer(np.arange(100.0)[:, None], seed=0)
    for row in range(0, 60, 10):
        opt.observe(row, np.sin(row / 20) + 0.1 * rng.standard_normal(50))
    assert "300 measurements went to 6 candidates of 100" in opt.diagnose().verdict


def test_where_values_drift_a_half_life_is_suggested_that_forgets_soon_enough():
    """A fifteenth of what was measured, by `benchmarks.half_life`; a quarter lost as much as to keep everything."""
    visits = iter(range(1000))

    def drifting(x, rng, n):
        return np.sin(x) + 0.02 * next(visits) + 0.3 * rng.standard_normal(n)

    opt = measured(drifting, visits=6)
    (returns,) = [check for check in opt.diagnose().checks if check.name == "returns"]
    assert not returns.ok
    assert "values drift with time, and half_life= (such as 60) lets old ones fade" in returns.words
    assert opt.steps == 15 * 60


def fixed_seed(candidate):
    """A noisy program that begins with the same seed for the same candidate."""
    x = float(candidate[0])
    return np.sin(x) + np.random.default_rng(int(1_000 * x)).normal(0, 0.3)


def test_repeats_that_never_differ_are_remarked_on(tmp_path):
    """In diagnose, in the result of a run and in status; once."""
    study = Study("s", tmp_path / "s.db", X, budget=60, seed=0)
    result = study.run(fixed_seed, progress=False)
    found = result.optimizer.diagnose()
    assert found.verdict == NEVER_DIFFER
    assert found.fits is None
    assert [check.name for check in found.checks if not check.ok] == ["repeats"]
    assert str(result).count("epeats never differ") == 1
    assert str(study.status()).count("epeats never differ") == 1
    assert Study("s", tmp_path / "s.db").status().repeats_never_differ


@pytest.mark.parametrize(
    ("settings", "values"),
    [
        ({}, [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0], [0.0, 0.0], [0.0], [1.0]]),  # may be yes and no, or counts
        ({"outcome": "count"}, [[3, 3], [4, 4], [2, 2], [3], [4], [5]]),
        ({}, [[1.5, 1.5], [2.5, 2.5], [0.5], [1.25], [2.0], [3.5]]),  # too few
        ({}, [[1.5, 1.5], [2.5, 2.5], [0.5, 0.5], [1.25, 1.26], [2.0], [3.5]]),
    ],
)
def test_elsewhere_equal_repeats_say_nothing(settings, values):
    opt = Optimizer(np.arange(6.0)[:, None], seed=0, **settings)
    for row, each in enumerate(values):
        opt.observe(row, each)
    assert not opt.core.answers.repeats_never_differ
    assert "never differ" not in str(opt.diagnose())


def test_where_the_model_does_not_fit_either_both_are_said():
    opt = Optimizer(np.arange(6.0)[:, None], kernel=RBF(3.0), noise_std=0.001, mean=0.0, seed=0)
    for row, value in enumerate([0.55, -0.45, 0.65, -0.75, 0.35, -0.25]):
        opt.observe(row, [value] * 3)
    found = opt.diagnose()
    assert found.fits is False
    assert "all equal" in found.verdict
