"""What is changed is not taken for the old."""

import subprocess
import sys

import numpy as np
import pytest

from ostinato import MiniUCB
from ostinato.experiments import digest as digests
from ostinato.experiments.algorithms import ALGORITHMS, Algorithm
from ostinato.experiments.digest import digest, digest_of_problem
from ostinato.kernels import RBF, Matern52
from ostinato.problems import Gaussian, Problem, load

X = np.arange(4.0)[:, None]
TRUTH = [0.0, 1.0, 3.0, 2.5]
SETTINGS = {"C": 1.1, "lengthscale": 1.0}


def problem_of(candidates=X, truth=TRUTH, noise=0.1, kernel=RBF):
    return Problem("four", candidates, truth, Gaussian(noise), kernel=kernel)


def test_every_part_of_a_problem_counts():
    others = [
        problem_of(),
        problem_of(candidates=X + 1),
        problem_of(truth=[0.0, 1.0, 3.0, 2.0]),
        problem_of(noise=0.2),
        problem_of(kernel=Matern52),
        problem_of(kernel=lambda l: RBF(l)),
        problem_of(kernel=lambda l: RBF(2 * l)),
    ]
    assert len({digest_of_problem(problem) for problem in others}) == 7
    used = problem_of()
    assert used.optimum == 2
    assert used.noise_std > 0
    assert digest_of_problem(used) == digest_of_problem(problem_of())  # what it has worked out since does not count


def test_every_part_of_a_policy_counts():
    problem = digest_of_problem(problem_of())
    scheduled = [Algorithm("a", lambda s=s: MiniUCB(beta=s)) for s in (lambda p: 2.0, lambda p: 3.0)]
    digests = [
        digest(problem, ALGORITHMS["BBKB"], SETTINGS),
        digest(problem, ALGORITHMS["BBKB"], SETTINGS | {"C": 1.2}),
        digest(problem, ALGORITHMS["BBKB"], SETTINGS | {"lengthscale": 2.0}),
        digest(problem, ALGORITHMS["mini-GP-UCB"], SETTINGS),
        *(digest(problem, algorithm, {}) for algorithm in scheduled),
    ]
    assert len(set(digests)) == 6
    assert digest(problem, ALGORITHMS["BBKB"], dict(SETTINGS)) == digests[0]


def test_what_runs_record_counts(monkeypatch):
    problem = digest_of_problem(problem_of())
    before = digest(problem, ALGORITHMS["BBKB"], SETTINGS)
    monkeypatch.setattr(digests, "RECORDED", digests.RECORDED + 1)
    assert digest(problem, ALGORITHMS["BBKB"], SETTINGS) != before


@pytest.mark.parametrize("name", ["rastrigin", "rosenbrock-coco", "nas201-cifar10"])
def test_it_is_the_same_in_another_process(name):
    code = (
        "from ostinato.experiments.digest import digest_of_problem\n"
        f"from ostinato.problems import load\nprint(digest_of_problem(load({name!r})).hex())"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == digest_of_problem(load(name)).hex()
