"""Comparisons from Python: policies and problems of one's own, and the files they leave."""

import csv
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from ostinato import MiniUCB
from ostinato.errors import InvalidSetting
from ostinato.experiments import compare, reproduce
from ostinato.experiments.summary import ratios_to
from ostinato.policies import Proposal
from ostinato.problems import Gaussian, Problem

X = np.linspace(0, 6, 25)[:, None]


def test_a_policy_and_a_problem_of_ones_own_join_in(tmp_path, here):
    @dataclass(frozen=True)
    class Stubborn:
        """The first candidate, again and again."""

        def propose(self, belief, limit):
            return [Proposal(0, 5, 5)]

    problem = Problem("mine", X, np.sin(X[:, 0]), Gaussian(0.3), lengthscales=(1.0,))
    out = Console(file=StringIO(), width=100)
    policies = {"stubborn": Stubborn(), "mini": MiniUCB(1.1)}
    comparison = compare(policies, [problem], seeds=3, horizon=50, folder=tmp_path, workers=1, console=out)
    last = {(run.algorithm, run.seed): run.regret[-1] for run in comparison.runs}
    assert last["stubborn", 0] == pytest.approx(50 * (problem.truth.max() - problem.truth[0]))
    assert last["mini", 1] < last["uniform", 1] < 1.5 * last["stubborn", 1]
    text = out.file.getvalue()
    for word in ("stubborn", "mini", "uniform", "Processor", "numpy", "report.html"):
        assert word in text
    assert "mine: ratios to stubborn" in text  # the first of one's own, and not uniform
    out = Console(file=StringIO(), width=100)
    compare(policies, [problem], seeds=3, horizon=50, folder=tmp_path, workers=1, console=out, against="mini")
    assert "mine: ratios to mini" in out.file.getvalue()
    with pytest.raises(InvalidSetting, match="against='BBKB' does not run here: give one of stubborn, mini, uniform"):
        compare(policies, [problem], folder=tmp_path, against="BBKB")
    rows = {name: rows_of(tmp_path / f"{name}.csv") for name in ("results", "ratios", "settings", "summary")}
    assert {row["algorithm"] for row in rows["results"]} == {"stubborn", "mini", "uniform"}
    pairs = {(row["algorithm"], row["against"]) for row in rows["ratios"]}
    assert pairs == {(a, b) for a in policies | {"uniform": 0} for b in policies | {"uniform": 0} if a != b}
    used = [(row["algorithm"], row["settings"], row["stage"], row["used"]) for row in rows["settings"]]
    given = ("lengthscale=1", "report", "True")
    assert used == [("uniform", "", *given[1:]), ("stubborn", *given), ("mini", *given)]
    simple = {row["algorithm"]: float(row["simple"]) for row in rows["summary"]}
    assert simple["stubborn"] == pytest.approx(problem.regrets[0] / np.mean(problem.regrets))
    assert simple["mini"] < 0.3
    assert all((tmp_path / name).exists() for name in ("regret.png", "unique.png", "rounds.png", "seconds.png"))


def rows_of(path):
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_costly_algorithm_is_not_cut_short(tmp_path, here):
    problem = Problem("mine", X, np.sin(X[:, 0]), Gaussian(0.3), lengthscales=(1.0,))
    out = Console(file=StringIO(), width=100)
    runs = compare(["BKB"], [problem], seeds=2, horizon=40, folder=tmp_path, workers=1, console=out).runs
    assert {run.t[-1] for run in runs if run.algorithm == "BKB"} == {40}


def test_known_algorithms_by_name(tmp_path, here):
    problem = Problem("mine", X, np.sin(X[:, 0]), Gaussian(0.3), lengthscales=(0.5, 1.0, 2.0))
    out = Console(file=StringIO(), width=100)
    comparison = compare(
        ["mini-gp-ucb", "BBKB"],
        [problem],
        seeds=4,
        horizon=60,
        lengthscale=0.7,
        folder=tmp_path,
        workers=1,
        console=out,
    )
    settings = {run.algorithm: run.settings for run in comparison.runs}
    assert settings["mini-GP-UCB"] == {"lengthscale": 0.7, "C": 1.1}
    ratio, _ = ratios_to(comparison.runs, "mine", "BBKB")
    assert ratio.algorithm == "mini-GP-UCB"
    assert (ratio.seeds, ratio.t) == (4, 60)
    assert ratio.regret.low < ratio.regret.value < ratio.regret.high


def test_a_script_needs_no_main_guard_and_may_use_lambdas(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from ostinato.experiments import Algorithm, compare\n"
        "from ostinato.kernels import Matern52\n"
        "from ostinato.policies import GPUCB, Proposal\n"
        "from ostinato.problems import Gaussian, Problem\n"
        "class Mine:\n"
        "    def propose(self, belief, limit):\n"
        "        return [Proposal(3, 1, 1)]\n"
        "X = np.arange(9.0)[:, None]\n"
        "problem = Problem('mine', X, np.sin(X[:, 0]), Gaussian(0.3), kernel=lambda l: Matern52(l))\n"
        "print(len(compare([Algorithm('a', lambda: Mine(), modelled=False), 'GP-UCB'], [problem], seeds=2,\n"
        "      horizon=20, folder='out', workers=2).runs))\n"
    )
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.rstrip().endswith("6")


def test_unknown_names_are_told(tmp_path):
    with pytest.raises(InvalidSetting, match="no group of problems 'synth'"):
        reproduce("synth", folder=tmp_path)
    with pytest.raises(InvalidSetting, match="no algorithm 'best'"):
        compare(["best"], ["rosenbrock"], folder=tmp_path)
    with pytest.raises(InvalidSetting, match="no problem 'rosen'"):
        compare(["BBKB"], ["rosen"], folder=tmp_path)


def test_nothing_to_regret_is_no_reason_to_fail(tmp_path, here):
    problem = Problem("flat", X, np.ones(25), Gaussian(0.3), lengthscales=(1.0,))
    out = Console(file=StringIO(), width=80)
    compare(["GP-UCB"], problem, seeds=2, horizon=20, folder=tmp_path, workers=1, console=out)
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize(
    ("policies", "message"),
    [([MiniUCB()], "has no name"), ({"uniform": MiniUCB()}, "rename it"), ("GP", "no algorithm 'GP'")],
)
def test_policies_that_cannot_be_told_apart_are_refused(tmp_path, policies, message):
    with pytest.raises(InvalidSetting, match=message):
        compare(policies, "rosenbrock", folder=tmp_path)


def test_tables_keep_their_digits_in_a_narrow_terminal(tmp_path, here):
    problem = Problem("a problem with a long name", X, np.sin(X[:, 0]), Gaussian(0.3), lengthscales=(1.0,))
    out = Console(file=StringIO(), width=60)
    compare(
        {"a policy with a long name": MiniUCB()},
        [problem],
        seeds=2,
        horizon=50,
        folder=tmp_path,
        workers=1,
        console=out,
    )
    assert out.file.getvalue().count("2 × 50") == 2
