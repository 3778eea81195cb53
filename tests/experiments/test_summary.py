"""Means, intervals, and ratios, against numbers worked out by hand."""

from math import exp, isnan, log, nan, sqrt

import numpy as np
import pytest
from scipy.stats import t as student

from experiment_runs import MINI, UNIFORM, T, run
from ostinato.errors import InvalidInput
from ostinato.experiments import summary


def test_regret_is_a_share_of_uniforms_mean_at_the_same_t():
    curve = summary.normalised([*UNIFORM, *MINI], "hill", "mini-GP-UCB")
    np.testing.assert_allclose(curve.t, T)
    np.testing.assert_allclose(curve.mean, [0.6, 0.12])
    assert curve.seeds == 2
    np.testing.assert_allclose(summary.normalised(UNIFORM, "hill", "uniform").mean, [1.0, 1.0])


def test_the_interval_is_students_t_over_seeds():
    """Two seeds that differ by d: the standard error of their mean is d/2, and Student's t for one degree is 12.706."""
    curve = summary.normalised([*UNIFORM, *MINI], "hill", "mini-GP-UCB")
    np.testing.assert_allclose(curve.high - curve.mean, [12.706205 * 0.1, 12.706205 * 0.02], rtol=1e-6)
    np.testing.assert_allclose(curve.mean - curve.low, curve.high - curve.mean)


def test_the_interval_of_five_seeds():
    seconds = [1.0, 2.0, 3.0, 4.0, 5.0]
    runs = [run("BKB", seed, t=[10], regret=[1.0], seconds=[s]) for seed, s in enumerate(seconds)]
    curve = summary.curve(runs, "hill", "BKB", "seconds")
    assert curve.mean[0] == 3.0
    assert curve.high[0] - 3.0 == pytest.approx(2.776445 * sqrt(2.5) / sqrt(5), rel=1e-6)


def test_a_single_seed_has_no_interval():
    curve = summary.curve([MINI[0]], "hill", "mini-GP-UCB", "unique")
    assert curve.mean.tolist() == [1.0, 1.0]
    assert np.all(np.isnan(curve.low))
    assert np.all(np.isnan(curve.high))


def test_without_uniform_regret_is_that_of_an_average_measurement():
    np.testing.assert_allclose(summary.normalised(MINI, "hill", "mini-GP-UCB").mean, [0.6, 0.12])  # R_t / t
    (row,) = summary.table(MINI)
    assert not row.normalised
    assert row.regret.value == pytest.approx(0.12)


def test_other_checkpoints_are_compared_after_the_same_number_of_measurements():
    """Uniform's mean regret is 55 after 55 measurements, half-way between its checkpoints; and 5 after 5."""
    short = run("GP-UCB", 0, (1.0, 11.0), t=[5, 55])
    np.testing.assert_allclose(summary.normalised([*UNIFORM, short], "hill", "GP-UCB").mean, [0.2, 0.2])


def test_curves_end_with_the_shortest_seed_and_with_uniform():
    long = [run("GP-UCB", seed, (1.0, 2.0, 3.0), t=[10, 100, 1000]) for seed in (0, 1)]
    assert summary.curve([*long, run("GP-UCB", 2)], "hill", "GP-UCB", "unique").t.tolist() == T
    assert summary.normalised([*long, *UNIFORM], "hill", "GP-UCB").t.tolist() == T
    assert summary.normalised(long, "hill", "GP-UCB").t.tolist() == [10, 100, 1000]


def test_settings_runs_and_other_problems_are_left_out():
    others = [run("mini-GP-UCB", 0, (99.0, 99.0), problem="dale"), run("mini-GP-UCB", 5, (99.0, 99.0), stage="choose")]
    curve = summary.normalised([*others, *UNIFORM, *MINI], "hill", "mini-GP-UCB")
    np.testing.assert_allclose(curve.mean, [0.6, 0.12])


def test_the_same_seed_twice_or_no_run_at_all_is_an_error():
    with pytest.raises(InvalidInput, match="twice"):
        summary.curve([MINI[0], MINI[0]], "hill", "mini-GP-UCB", "unique")
    with pytest.raises(InvalidInput, match="no fresh run"):
        summary.curve(MINI, "hill", "BKB", "unique")


def test_the_table_tells_the_end_of_every_run_and_marks_short_ones():
    short = run("GP-TS", 0, (2.0,), t=[10], unique=[7], rounds=[10], switches=[9], seconds=[4.0])
    uniform, mini, costly = sorted(
        summary.table([*UNIFORM, *MINI, short]),
        key=lambda row: ["uniform", "mini-GP-UCB", "GP-TS"].index(row.algorithm),
    )
    assert (uniform.regret.value, uniform.short, uniform.seeds, uniform.t) == (1.0, False, 2, 100)
    assert mini.regret.value == pytest.approx(0.12)
    assert mini.regret.half == pytest.approx(12.706205 * 0.02)
    assert (mini.unique.value, mini.rounds.value, mini.switches.value, mini.seconds.value) == (1, 2, 3, 0.5)
    assert (costly.short, costly.t, costly.seeds, costly.unique.value) == (True, 10, 1, 7)
    assert costly.regret.value == pytest.approx(0.2)
    assert isnan(costly.regret.half)


def test_winners_went_the_whole_way():
    excellent_but_short = run("GP-TS", 0, (0.01,), t=[10])
    rows = summary.table([*UNIFORM, *MINI, excellent_but_short, run("BKB", 0, (nan, nan))])
    assert summary.winners(rows) == {"hill": "mini-GP-UCB"}


def test_relatives_stand_side_by_side_and_own_labels_last():
    labels = ["mine", "uniform", "BBKB", "GP-UCB", "mini-GP-TS", "mini-GP-UCB"]
    ordered = summary.algorithms([run(label) for label in labels])
    assert ordered == ["mini-GP-UCB", "mini-GP-TS", "GP-UCB", "BBKB", "uniform", "mine"]


def test_ratios_are_paired_by_seed():
    """Seeds differ a hundredfold, the ratio seed by seed does not: 1/2 each, so the interval has no width."""
    theirs = [run("BBKB", seed, (1.0, 10.0**seed), unique=[1, 4]) for seed in (0, 1, 2)]
    mine = [run("mini-GP-UCB", seed, (1.0, 10.0**seed / 2), unique=[1, 2]) for seed in (2, 0, 1)]
    (ratio,) = summary.ratios_to([*theirs, *mine], "hill", "BBKB")
    assert (ratio.algorithm, ratio.against, ratio.t, ratio.seeds) == ("mini-GP-UCB", "BBKB", 100, 3)
    assert [ratio.regret.value, ratio.regret.low, ratio.regret.high] == pytest.approx([0.5, 0.5, 0.5])
    assert ratio.unique.value == pytest.approx(0.5)
    assert ratio.seconds.value == pytest.approx(1.0)


def test_a_ratios_interval_is_students_t_on_logarithms():
    """Ratios 1/2 and 1/8: their geometric mean is 1/4, the standard error of the logarithm log 2."""
    estimate = summary.paired_ratio(np.array([1.0, 1.0]), np.array([2.0, 8.0]))
    width = student.ppf(0.975, 1) * log(2)
    assert estimate.value == pytest.approx(0.25)
    assert [estimate.low, estimate.high] == pytest.approx([0.25 * exp(-width), 0.25 * exp(width)])
    back = summary.paired_ratio(np.array([2.0, 8.0]), np.array([1.0, 1.0]))
    assert [back.value, back.low, back.high] == pytest.approx([4.0, 1 / estimate.high, 1 / estimate.low])


def test_ratios_use_shared_seeds_and_the_last_t_of_both():
    theirs = [run("BBKB", seed, (4.0, 40.0)) for seed in (0, 1, 2)]
    mine = [run("GP-EI", seed, (2.0,), t=[10]) for seed in (1, 2, 7)]
    (ratio,) = summary.ratios_to([*theirs, *mine], "hill", "BBKB")
    assert (ratio.t, ratio.seeds) == (10, 2)
    assert ratio.regret.value == pytest.approx(0.5)


def test_ratios_that_cannot_be_told():
    assert summary.ratios(MINI) == []
    assert summary.ratios([run("BBKB", 0), run("GP-EI", 1)]) == []
    (alone,) = summary.ratios_to([run("BBKB", 0), run("GP-EI", 0)], "hill", "BBKB")
    assert alone.regret.value == pytest.approx(1.0)
    assert isnan(alone.regret.low)
    assert isnan(summary.paired_ratio(np.array([0.0, 1.0]), np.array([1.0, 1.0])).value)


def test_all_pairs_are_compared_both_ways_round():
    regrets = {"mini-GP-UCB": 1.0, "BBKB": 2.0, "mine": 8.0}
    runs = [run(name, seed, (1.0, regret)) for name, regret in regrets.items() for seed in (0, 1)]
    found = {(ratio.algorithm, ratio.against): ratio.regret.value for ratio in summary.ratios(runs)}
    assert found == pytest.approx({(a, b): regrets[a] / regrets[b] for a in regrets for b in regrets if a != b})


def test_the_reference_is_BBKB_where_it_ran_and_else_the_first():
    own = [run("mine"), run("yours")]
    assert summary.reference([*own, run("GP-EI"), run("BBKB")], "hill") == "BBKB"
    assert summary.reference([*own, run("BBKB", problem="dale")], "hill") == "mine"
    assert summary.reference([run("uniform"), *own], "hill") == "mine"
    assert summary.reference([run("uniform")], "hill") == "uniform"
    assert summary.reference([*own, run("BBKB")], "hill", "yours") == "yours"


def test_switches_are_compared_by_ratio_and_simple_regret_by_difference():
    """Simple regrets 0 and 0.1 against 0.2 and 0.5: differences −0.2 and −0.4, and a ratio would be no number."""
    mine = [run("GP-EI", seed, switches=[1, 4], simple=simple) for seed, simple in enumerate((0.0, 0.1))]
    theirs = [run("BBKB", seed, switches=[1, 16], simple=simple) for seed, simple in enumerate((0.2, 0.5))]
    (ratio,) = summary.ratios_to([*mine, *theirs], "hill", "BBKB")
    assert ratio.switches.value == pytest.approx(0.25)
    assert ratio.simple.value == pytest.approx(-0.3)
    assert ratio.simple.high == pytest.approx(-0.3 + 12.706205 * 0.1)
    longer = [run("GP-EI", seed, (1.0, 2.0, 3.0), t=[10, 100, 200], simple=0.1) for seed in (0, 1)]
    (ratio,) = summary.ratios_to([*longer, *theirs], "hill", "BBKB")
    assert isnan(ratio.simple.value)  # at its 100th measurement it is not known


def test_the_table_tells_simple_regret_at_the_end():
    runs = [run("GP-EI", seed, simple=simple) for seed, simple in enumerate((0.0, 0.1))]
    (row,) = summary.table(runs)
    assert row.simple.value == pytest.approx(0.05)
    (old,) = summary.table([run("GP-EI"), run("GP-EI", 1, simple=0.1)])
    assert isnan(old.simple.value)


def test_a_problem_without_any_regret_has_no_shares():
    runs = [run("uniform", seed, (0.0, 0.0)) for seed in (0, 1)]
    assert np.all(np.isnan(summary.normalised(runs, "hill", "uniform").mean))
