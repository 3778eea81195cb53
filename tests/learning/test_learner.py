"""Nothing to tune: whatever the units, the noise and the columns, runs come out right."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato
from ostinato import Category, Float, MiniUCB, Optimizer, Space
from ostinato.candidates import read_candidates
from ostinato.kernels import Matern52
from ostinato.learning import Learner, LearningSettings
from ostinato.learning.learner import GROWTH, REPEATED
from ostinato.measurements.tally import Statistics, Tally
from sizes import size

AXIS = np.linspace(0, 1, 15)
GRID = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=-1).reshape(-1, 2)
POWERS = [2.0**k for k in (-20, -3, 0, 7, 30)]
TRUTH = np.exp(-8 * np.sum((GRID - [0.3, 0.7]) ** 2, axis=1)) + 0.3 * GRID[:, 0]


def run(opt, truth, steps, *, noise=0.1, shift=0.0, stretch=1.0, seed=0):
    rng = np.random.default_rng(seed)
    rows = []
    while opt.steps < steps:
        batch = opt.ask(limit=steps - opt.steps)
        rows.append((batch.index, batch.repeats))
        opt.tell(batch, shift + stretch * (truth[batch.index] + noise * rng.standard_normal(batch.repeats)))
    return rows


def test_finds_the_best_of_an_unknown_function():
    regrets = []
    rng = np.random.default_rng(0)

    def measure(x, n):
        return np.exp(-8 * np.sum((x - [0.3, 0.7]) ** 2)) + 0.3 * x[0] + 0.1 * rng.standard_normal(n)

    for seed in range(8):
        result = ostinato.optimize(measure, GRID, budget=150, vectorized=True, seed=seed)
        regrets.append(TRUTH.max() - TRUTH[result.best.index])
    assert np.mean(regrets) < 0.05
    assert result.switches < 75
    assert "noise_std" in result.learned.what
    assert not result.learned.guaranteed
    assert "guarantee" in str(result)


@settings(deadline=None, max_examples=size(4, 8))
@given(stretch=st.sampled_from(POWERS), scale=st.sampled_from(POWERS), seed=st.integers(0, 100))
def test_units_do_not_matter(stretch, scale, seed):
    """Neither those of the measurements nor those of a column: the same candidates, the same repeats.

    Units are powers of two here, so that rounding is the same too.
    """
    plain = run(Optimizer(GRID, seed=seed), TRUTH, 60)
    other = Optimizer(GRID * [scale, 1.0], seed=seed)
    assert run(other, TRUTH, 60, stretch=stretch) == plain


@pytest.mark.parametrize(("shift", "stretch", "scale", "offset"), [(1e4, 1e-3, 1e6, 50), (-3e5, 700.0, 1e-5, -1e-3)])
def test_odd_units_are_as_good_as_any(shift, stretch, scale, offset):
    regrets, noises = [], []
    for seed in range(size(3, 6)):
        opt = Optimizer(GRID * [scale, 1.0] + [offset, 0.0], seed=seed)
        run(opt, TRUTH, 100, shift=shift, stretch=stretch, seed=seed)
        regrets.append(TRUTH.max() - TRUTH[opt.best().index])
        noises.append(opt.learned.noise_std[0] / stretch)
    assert np.mean(regrets) < 0.1
    assert np.median(noises) == pytest.approx(0.1, rel=0.3)


def test_minimising_is_maximising_the_negative():
    up = run(Optimizer(GRID, seed=3), TRUTH, 80)
    assert run(Optimizer(GRID, direction="minimize", seed=3), TRUTH, 80, stretch=-1.0) == up


def test_noise_is_known_after_200_measurements():
    estimates = []
    for seed in range(size(10, 20)):
        opt = Optimizer(GRID, seed=seed)
        run(opt, TRUTH, 200, noise=0.2, seed=seed)
        estimates.append(opt.learned.noise_std[0] / 0.2)
    off = np.abs(np.array(estimates) - 1)
    assert np.median(off) < 0.1
    assert np.mean(off < 0.2) >= 0.95


def test_categories_and_decades_need_no_preparation():
    frame = pd.DataFrame(
        [(lr, solvent, t) for lr in 10.0 ** np.arange(-6, 1) for solvent in ("a", "b", "c") for t in range(5)],
        columns=["lr", "solvent", "t"],
    )
    truth = (
        -((np.log10(frame["lr"]) + 3) ** 2) / 4 + (frame["solvent"] == "b") - 0.1 * (frame["t"] - 2) ** 2
    ).to_numpy()
    found = []
    for seed in range(size(3, 6)):
        opt = Optimizer(frame, seed=seed)
        run(opt, truth, 120, noise=0.3, seed=seed)
        found.append(truth.max() - truth[opt.best().index])
    assert np.mean(found) < 0.15
    assert set(opt.learned.lengthscales) == {"lr", "solvent", "t"}
    assert opt.learned.lengthscales["lr"] < 20  # decades
    assert opt.predict([{"lr": 3e-4, "solvent": "b", "t": 2}]).mean[0] == pytest.approx(1.0, abs=0.7)


def test_a_logarithmic_column_of_a_space():
    space = Space(lr=Float(1e-5, 1e-1, count=5, log=True), kind=Category("x", "y"))
    assert [c["lr"] for c in space.enumerate()][::2] == [1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
    opt = Optimizer(space, kernel=Matern52(1.0), noise_std=0.1)  # kernels see decades
    covariance = opt.covariance([{"lr": 1e-5, "kind": "x"}, {"lr": 1e-4, "kind": "x"}, {"lr": 1e-3, "kind": "x"}])
    assert (
        covariance[0, 1]
        == pytest.approx(covariance[1, 2])
        == pytest.approx(Matern52(1.0)(np.zeros((1, 1)), np.ones((1, 1)))[0, 0])
    )


def test_hopeless_outcomes_do_not_rule_the_model():
    """A tenth of the candidates diverges, to a million below the others: the good ones are told apart all the same."""
    truth = np.where(np.arange(len(GRID)) % 10 == 3, -1e6, TRUTH)
    opt = Optimizer(GRID, seed=0)
    run(opt, truth, 200)
    assert truth[opt.best().index] > TRUTH.max() - 0.15
    assert opt.learned.std < 10


def test_what_is_given_is_not_learned():
    opt = Optimizer(GRID, kernel=Matern52(0.3), seed=0)
    run(opt, TRUTH, 150)
    assert opt.learned.what == ("noise_std",)
    assert opt.learned.lengthscales == {0: 0.3, 1: 0.3}
    assert opt.learned.noise_std[0] == pytest.approx(0.1, rel=0.4)
    opt = Optimizer(GRID, noise_std=0.1, seed=0)
    run(opt, TRUTH, 60)
    assert opt.learned.what == ("kernel", "mean")
    assert opt.learned.noise_std == pytest.approx((0.1, 0.1))
    opt = Optimizer(GRID, noise_std=0.1, kernel=Matern52(0.3), policy=MiniUCB())
    assert opt.learned.given
    assert opt.certificate is not None
    assert Optimizer(GRID).certificate is None


def test_fits_come_on_a_growing_schedule():
    learner = Learner(read_candidates(GRID), LearningSettings())
    tally, fits = Tally(), []
    for step in range(1, 2000):
        tally.add(step % 50, Statistics(1, float(np.sin(step))))
        if learner.due(tally):
            learner.learn(tally)
            fits.append(step)
    assert len(fits) < 22
    assert all(later >= GROWTH * sooner for sooner, later in itertools.pairwise(fits))
    assert all(later >= REPEATED * sooner for sooner, later in itertools.pairwise(fits) if sooner > 50)
    assert learner.evaluations <= 40 * len(fits)


@pytest.mark.parametrize("values", [[5.0], [5.0, 5.0, 5.0], [0.0], [-1e-9, 1e-9]])
def test_a_single_candidate_is_enough_to_answer(values):
    opt = Optimizer(GRID, seed=0)
    opt.observe(7, values)
    assert opt.best().mean == pytest.approx(np.mean(values), abs=1e-6 + 0.05 * abs(values[0]))
    assert np.isfinite(opt.predict().std).all()
    assert opt.ask().repeats >= 1


def test_values_that_never_differ_are_no_trouble():
    opt = Optimizer(GRID, seed=0)
    run(opt, np.full(len(GRID), 3.0), 80, noise=0.0)
    assert opt.best().mean == pytest.approx(3.0)


def test_one_candidate_and_one_column_of_one_value():
    opt = Optimizer([[1.0, 2.0]], seed=0)
    for _ in range(5):
        opt.tell(opt.ask(limit=3), [1.0])
        for batch in opt.in_flight:
            opt.close(batch)
    assert opt.best().index == 0


@pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement")
def test_finding_does_not_stop_at_the_first_hill():
    """Three catalysts with a hill each: the highest is found, whatever the noise."""
    frame = pd.DataFrame([(c, t, k) for c in "abc" for t in range(21) for k in range(11)], columns=["c", "t", "k"])
    tops = {"a": (60, 5, 3), "b": (50, 15, 8), "c": (84, 10, 9)}
    truth = np.array(
        [
            tops[c][0] * np.exp(-(((t - tops[c][1]) / 4) ** 2) - ((k - tops[c][2]) / 2.5) ** 2)
            for c, t, k in frame.values
        ]
    )
    for noise in (0.01, 5.0):
        opts = [Optimizer(frame, seed=seed) for seed in range(size(2, 3))]
        for seed, opt in enumerate(opts):
            run(opt, truth, 300, noise=noise, seed=seed)
        assert np.mean([truth.max() - truth[opt.best().index] for opt in opts]) < 5
        assert min(opt.unique for opt in opts) > 25


@pytest.mark.parametrize(
    ("candidates", "budget", "widths"), [(5, 5, (0.5, 2.0)), (1, 100, (0.8, 1.3)), (2, 100, (0.8, 1.4))]
)
def test_intervals_are_sound_with_few_candidates_and_few_measurements(candidates, budget, widths):
    """In units of what the known noise would give: neither far too narrow nor far too wide."""
    covered, width = [], []
    for seed in range(size(10, 20)):
        rng = np.random.default_rng(seed)
        truth = rng.normal(50, 5, candidates)
        opt = Optimizer(np.arange(candidates)[:, None], seed=seed)
        run(opt, truth, budget, noise=5.0, seed=seed)
        best = opt.best()
        covered.append(best.interval[0] < truth[best.index] < best.interval[1])
        width.append((best.interval[1] - best.interval[0]) / 2 / (1.96 * 5 / np.sqrt(best.n)))
    assert np.mean(covered) >= 0.75  # of 300 such runs 83% cover
    assert widths[0] < np.mean(width) < widths[1]
