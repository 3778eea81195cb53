"""One run: regret by hand, checkpoints, and noise that is shared."""

from dataclasses import dataclass
from time import process_time, sleep

import numpy as np
import pytest

from ostinato.experiments import trial as trials
from ostinato.experiments.algorithms import ALGORITHMS, Algorithm
from ostinato.experiments.records import Job
from ostinato.experiments.trial import Measurements, checkpoints, trial
from ostinato.optimizer import Optimizer
from ostinato.policies import Proposal
from ostinato.problems import Gaussian, Problem

PROBLEM = Problem("four", np.arange(4.0)[:, None], truth=[0.0, 1.0, 3.0, 2.5], noise=Gaussian(0.1))


@dataclass(frozen=True)
class Script:
    """Asks what it was told to, a (candidate, repeats) a step."""

    plan: tuple[tuple[int, int], ...] = ((0, 3), (2, 4), (2, 1), (3, 2))

    def propose(self, belief, limit):
        told = sum(belief.counts().values())
        for candidate, repeats in self.plan:
            if told < repeats:
                return [Proposal(candidate, min(repeats, limit), repeats)]
            told -= repeats
        raise AssertionError("the script is over")


def run_of(algorithm, settings=None, seed=0, horizon=10, problem=PROBLEM):
    return trial(problem, algorithm, Job("report", problem.name, algorithm.name, settings or {}, seed, horizon))


def test_regret_is_that_of_the_truth_summed_over_repeats():
    """By hand: three times regret 3, then 0 for five, then twice 0.5; unique, batches and switches as they come."""
    run = run_of(Algorithm("script", Script))
    at = dict(zip(run.t, zip(run.regret, run.unique, run.rounds, run.switches, strict=True), strict=True))
    assert run.t == checkpoints(10) == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert at[1] == (3.0, 1, 1, 0)
    assert at[3] == (9.0, 1, 1, 0)
    assert at[4] == (9.0, 2, 2, 1)
    assert at[7] == (9.0, 2, 2, 1)
    assert at[8] == (9.0, 2, 3, 1)
    assert at[10] == (10.0, 3, 4, 2)
    assert np.all(np.diff(run.seconds) >= 0)
    assert run.seconds[-1] > 0


def test_a_checkpoint_within_a_batch_counts_its_part():
    plan = ((0, 3), (2, 4), (3, 3))
    run = run_of(Algorithm("script", lambda: Script(plan)), horizon=9)
    at = dict(zip(run.t, run.regret, strict=True))
    assert (at[2], at[8], at[9]) == (6.0, 9.5, 10.0)


@pytest.mark.parametrize("horizon", [1, 7, 1000, 5000])
def test_checkpoints_of_short_runs_are_among_those_of_long_ones(horizon):
    assert checkpoints(horizon)[-1] == horizon
    assert set(checkpoints(horizon)[:-1]) <= set(checkpoints(10**6))
    assert len(checkpoints(5000)) < 50


def test_a_candidate_gives_the_same_values_whoever_asks():
    first, second = Measurements(PROBLEM, 5), Measurements(PROBLEM, 5)
    a = np.concatenate([first(2, 3), first(0, 1), first(2, 2)])
    b = np.concatenate([second(0, 1), second(2, 5)])
    assert np.array_equal(a[[0, 1, 2, 4, 5]], b[1:])
    assert a[3] == b[0]
    assert not np.array_equal(Measurements(PROBLEM, 6)(2, 3), a[:3])


def test_algorithms_are_paired_from_their_first_candidate_on():
    """Under one seed the order that settles ties is the same, so all that see a flat prior begin alike."""
    runs = [run_of(ALGORITHMS[name], {"lengthscale": 1.0}, 3, 1) for name in ("GP-UCB", "GP-EI", "BKB")]
    assert len({run.regret[0] for run in runs}) == 1


def test_seconds_are_processor_time(monkeypatch):
    """A measurement that waits, and a policy that does: neither is at work."""

    class Waiting(Script):
        def propose(self, belief, limit):
            sleep(0.02)
            return super().propose(belief, limit)

    start = process_time()
    run = run_of(Algorithm("waiting", Waiting))
    assert run.seconds[-1] <= process_time() - start
    assert run.seconds[-1] < 4 * 0.02


def test_simple_regret_is_that_of_the_recommended_candidate_as_a_share_of_a_random_ones():
    """Regrets are 3, 2, 0 and 0.5, on average 1.375. Of 0 and 3, measured both, 3 is the better."""
    run = run_of(Algorithm("script", lambda: Script(((0, 3), (3, 4)))), horizon=7)
    assert run.simple == pytest.approx(0.5 / 1.375)
    assert run_of(Algorithm("script", lambda: Script(((0, 1), (2, 1)))), horizon=2).simple == 0
    flat = Problem("flat", PROBLEM.candidates, np.ones(4), Gaussian(0.1))
    assert run_of(ALGORITHMS["uniform"], horizon=5, problem=flat).simple is None


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_recommended_candidate_is_the_best_of_the_optimiser(name, monkeypatch):
    X = np.linspace(0, 6, 30)[:, None]
    problem = Problem("p", X, np.sin(X[:, 0]), Gaussian(1.0), lengthscales=(0.7,))
    made = []
    monkeypatch.setattr(trials, "Optimizer", lambda *a, **k: made.append(Optimizer(*a, **k)) or made[-1])
    for seed in range(5):
        run = run_of(ALGORITHMS[name], ALGORITHMS[name].settings((0.7,))[0], seed, 40, problem)
        regret = problem.regrets[made[-1].best().index]
        assert run.simple == pytest.approx(regret / np.mean(problem.regrets))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_runs_to_the_horizon(name):
    settings = ALGORITHMS[name].settings(PROBLEM.lengthscales)[0]
    run = run_of(ALGORITHMS[name], settings, 0, 60)
    assert run.t[-1] == 60
    again = run_of(ALGORITHMS[name], settings, 0, 60)
    assert (run.regret, run.unique, run.rounds, run.switches) == (
        again.regret,
        again.unique,
        again.rounds,
        again.switches,
    )
    if name != "uniform":
        assert run.regret[-1] < 0.8 * run_of(ALGORITHMS["uniform"], {}, 0, 60).regret[-1]


def test_a_problem_in_its_own_units_is_the_same_problem():
    """The optimiser sees standardised rewards; regret is told in the problem's units."""
    X = np.linspace(0, 6, 30)[:, None]
    truth = (np.sin(X[:, 0]) - np.mean(np.sin(X[:, 0]))) / np.std(np.sin(X[:, 0]))
    plain = Problem("p", X, truth, Gaussian(0.5), lengthscales=(1.0,))
    large = Problem("p", X, 100 * truth + 1000, Gaussian(50.0), lengthscales=(1.0,))
    runs = [run_of(ALGORITHMS["mini-GP-UCB"], {"C": 1.1}, 0, 200, problem) for problem in (plain, large)]
    assert runs[1].unique == runs[0].unique
    assert runs[1].regret == pytest.approx([100 * regret for regret in runs[0].regret])
