"""The settings that did best, of runs made for choosing them."""

from math import inf, nan

import numpy as np
import pytest

from experiment_runs import MINI, UNIFORM, run
from ostinato.experiments.choices import choose, chosen, settings


def test_settings_that_were_given_are_told_too():
    given = [run("mine", seed, (1.0, 10.0), settings={"C": 1.3}) for seed in (0, 1)]
    fresh = [run("mini-GP-UCB", seed, settings={"C": 1.5}) for seed in (0, 1)]
    first, second, *rest = settings([*given, *fresh, *tried(1.1, [9, 9]), *tried(1.5, [1, 1]), *UNIFORM])
    assert [(trial.settings, trial.stage, trial.best) for trial in (first, second)] == [
        ({"C": 1.1}, "choose", False),
        ({"C": 1.5}, "choose", True),
    ]
    own = next(trial for trial in rest if trial.algorithm == "mine")
    assert (own.settings, own.stage, own.best, own.seeds, own.t) == ({"C": 1.3}, "report", True, 2, 100)
    assert own.regret == pytest.approx(0.1)
    assert {trial.algorithm for trial in rest} == {"mine", "uniform"}


def tried(C, regrets, algorithm="mini-GP-UCB", **more):
    return [run(algorithm, i, (1.0, r), stage="choose", settings={"C": C}, **more) for i, r in enumerate(regrets)]


def test_the_lowest_mean_regret_is_chosen():
    runs = [*tried(1.1, [10, 30]), *tried(1.5, [19, 20]), *tried(2.0, [9, 100]), *tried(1.1, [5, 5], "BBKB")]
    assert choose(runs) == {("hill", "mini-GP-UCB"): {"C": 1.5}, ("hill", "BBKB"): {"C": 1.1}}
    assert choose([*runs, *MINI, *UNIFORM]) == choose(runs)  # fresh runs have no say


def test_choices_do_not_hang_on_the_order_of_runs():
    runs = [*tried(2.0, [0.1, 0.2, 0.3]), *tried(1.1, [0.3, 0.2, 0.1]), *tried(1.5, [0.2, 0.1, 0.3])]
    for seed in range(20):
        shuffled = [runs[i] for i in np.random.default_rng(seed).permutation(len(runs))]
        assert choose(shuffled) == choose(runs)


def test_ties_go_to_the_first_and_failures_to_nobody():
    assert choose([*tried(2.0, [3, 3]), *tried(1.1, [2, 4])]) == {("hill", "mini-GP-UCB"): {"C": 1.1}}
    assert choose([*tried(1.1, [nan, 1]), *tried(2.0, [3, 3])]) == {("hill", "mini-GP-UCB"): {"C": 2.0}}
    assert choose([*tried(1.1, [inf, 1]), *tried(2.0, [3, 3])]) == {("hill", "mini-GP-UCB"): {"C": 2.0}}
    assert choose([]) == {}


def test_every_setting_tried_is_told_with_its_share_of_uniforms_regret():
    uniform = [run("uniform", seed, (9.0, 90.0), stage="choose") for seed in (0, 1)]
    first, second = (
        trial
        for trial in chosen([*tried(1.5, [9, 9]), *tried(1.1, [18, 18]), *uniform])
        if trial.algorithm != "uniform"
    )
    assert (first.settings, first.best, first.seeds, first.t) == ({"C": 1.1}, False, 2, 100)
    assert (second.settings, second.best, second.normalised) == ({"C": 1.5}, True, True)
    assert [first.regret, second.regret] == pytest.approx([0.2, 0.1])
    (alone,) = chosen(tried(1.5, [9, 9]))
    assert not alone.normalised
    assert alone.regret == pytest.approx(0.09)
