"""The algorithms by name, and the settings tried for them."""

import pytest

from ostinato import MiniUCB
from ostinato.confidence import Fixed
from ostinato.errors import InvalidSetting
from ostinato.experiments import algorithms
from ostinato.experiments.algorithms import ALGORITHMS, Algorithm, find


def test_the_whole_table_of_the_paper_is_there():
    assert list(ALGORITHMS) == [
        *("mini-GP-UCB", "mini-GP-EI", "mini-GP-TS", "GP-UCB", "GP-EI", "GP-TS", "GP-BUCB", "GP-BTS", "BKB", "BBKB"),
        *("RS-OFUL", "ε-greedy", "uniform"),
    ]


def test_one_beta_for_all():
    made = [algorithm.make(algorithm.settings((1.0,))[0]) for algorithm in ALGORITHMS.values()]
    assert {policy.beta for policy in made if hasattr(policy, "beta")} == {Fixed(2.0)}


def test_settings_are_all_combinations():
    assert ALGORITHMS["mini-GP-UCB"].settings((1.0, 2.0)) == [
        {"lengthscale": l, "C": C} for l in (1.0, 2.0) for C in (1.1, 1.2)
    ]
    assert len(ALGORITHMS["ε-greedy"].settings((1.0, 2.0))) == 12
    assert ALGORITHMS["uniform"].settings((1.0, 2.0)) == [{}]
    assert Algorithm("mine", MiniUCB, {"C": (1.5,)}).make({"C": 1.5, "lengthscale": 3.0}) == MiniUCB(1.5)


def test_names_are_found_however_they_are_written():
    assert find("Mini-gp-ucb").name == "mini-GP-UCB"
    assert find("e-greedy").name == find("ε-Greedy").name == "ε-greedy"
    assert find("MiniUCB").name == find("mini-ucb").name == "mini-GP-UCB"  # as the policy is called
    assert find("EpsilonGreedy").name == "ε-greedy"
    with pytest.raises(InvalidSetting, match="Did you mean mini-GP-UCB"):
        find("mini-GPU")


def test_an_algorithm_that_is_not_in_the_paper_is_found_by_name_and_not_reproduced(monkeypatch):
    mine = Algorithm("least-known", MiniUCB, {"C": (1.3,)})
    monkeypatch.setitem(algorithms.OTHERS, mine.name, mine)
    assert find("Least-Known") is mine
    assert mine.name not in ALGORITHMS
