"""The comparison on continuous ranges: how far optimisers are apart, and the page that says so."""

from math import e, log

import msgspec
import numpy as np
import pytest
from benchmarks.continuous.__main__ import Done, standings, stored, with_table
from benchmarks.continuous.problems import FUNCTIONS, problem
from benchmarks.outofthebox.report import difference

from documents import ROOT

FOLDER = ROOT / "docs" / "results" / "continuous" / "runs"


HIGHEST = {  # as they are published
    "camel": 1.031628,
    "goldstein": -log(3),
    "eggholder": 959.6407,
    "dixon-price5": 0.0,
    "griewank6": 1.0,
    "friedman10": 30.0,
    "ackley10": 20 + e,
}


@pytest.mark.parametrize("name", HIGHEST)
def test_regret_is_against_the_highest_value_that_is_known(name):
    made = problem(f"{name} 0.1")
    assert made.mean + made.std * made.top == pytest.approx(HIGHEST[name], abs=1e-4)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_run_is_better_than_the_best(name):
    regrets = [run.recommended for run in stored(FOLDER) if run.problem.startswith(f"{name} ")]
    assert min(regrets) > -1e-4


def runs(gaps):
    """Runs whose regrets are so much more than those of others, by problem and seed."""
    return {(f"p{p}", seed): {"recommended": gap} for p, row in enumerate(gaps) for seed, gap in enumerate(row)}


def test_the_table_of_the_page_is_that_of_the_runs():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert with_table(page, standings(FOLDER)) == page


def test_regret_is_that_of_all_runs_and_seconds_of_those_by_the_libraries_own_arithmetic(tmp_path):
    runs = [Done("LogEI", "p", 0, 1.0, seconds=90.0), Done("LogEI", "p", 1, 3.0, seconds=6.0, lean=True)]
    runs += [Done("Ostinato find", "p", seed, 2.0, seconds=5.0) for seed in (0, 1)]
    timed = [Done("LogEI", "p", 0, seconds=60.0), Done("Ostinato find", "p", 0, seconds=3.0)]
    for name, lines in (("runs", runs), ("seconds", timed)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "all.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    row = next(row for row in standings(tmp_path / "runs", tmp_path / "seconds") if row["optimizer"] == "LogEI")
    assert (row["runs"], row["recommended"], row["behind"]) == (2, 2.0, 0.0)
    assert (row["seconds"], row["ours_seconds"]) == (60.0, 0.05)


def test_one_seed_of_each_problem_has_an_interval_over_problems():
    """About that of the mean of as many numbers: 1.96 standard errors to each side."""
    gaps = np.random.default_rng(1).normal(2.0, 1.0, (100, 1))
    mean, low, high = difference(runs(gaps), runs(0 * gaps), "recommended", over_problems=True)
    assert mean == np.mean(gaps)
    assert np.allclose([mean - low, high - mean], 1.96 * np.std(gaps) / 10, rtol=0.1)


def test_an_interval_over_problems_counts_seeds_too():
    """The variance of the mean of one problem's seeds comes on top of that between problems."""
    rng = np.random.default_rng(1)
    gaps = rng.normal(0.0, 1.0, (60, 1)) + rng.normal(0.0, 2.0, (60, 4))
    _, low, high = difference(runs(gaps), runs(0 * gaps), "recommended", over_problems=True)
    within = np.mean(np.var(gaps, axis=1)) / 4
    assert np.isclose((high - low) / 2, 1.96 * np.sqrt((np.var(gaps.mean(axis=1)) + within) / 60), rtol=0.1)


def test_an_interval_over_seeds_leaves_problems_as_they_are():
    gaps = np.array([[1.0, 1.0], [5.0, 5.0]])
    assert difference(runs(gaps), runs(0 * gaps), "recommended") == (3.0, 3.0, 3.0)
