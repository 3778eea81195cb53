"""Of many candidates expected improvement is computed only where it may be the highest: the choices are the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato import MiniEI, Optimizer
from ostinato.kernels import RBF
from ostinato.policies import GPEI, ei
from ostinato.policies.acquisition import chords, log_expected_improvement

X = np.random.default_rng(0).random((400, 2))
TRUTH = np.sin(5 * X[:, 0]) + X[:, 1]
SETTINGS = {
    "one at a time": {"policy": GPEI(), "kernel": RBF(0.3), "noise_std": 0.2},
    "mini": {"policy": MiniEI(C=1.5), "kernel": RBF(0.3), "noise_std": 0.2},
    "at most three of each": {"policy": MiniEI(C=1.5, cap_per_candidate=3), "kernel": RBF(0.3), "noise_std": 0.2},
    "find, learned": {"goal": "find", "budget": 80},
    "switches cost": {"goal": "find", "budget": 80, "switch_cost": 3.0},
}


def choices(settings, seed):
    opt, rng = Optimizer(X, seed=seed, block_size=60, **settings), np.random.default_rng(seed)
    found = []
    while opt.steps < 80:
        for batch in opt.ask(slots=3) if len(found) % 5 == 4 else [opt.ask(limit=80 - opt.steps)]:
            found.append((batch.index, batch.repeats))
            opt.tell(batch, TRUTH[batch.index] + 0.2 * rng.standard_normal(batch.repeats))
    return found


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_choices_are_those_of_computing_it_everywhere(settings, seed, monkeypatch):
    everywhere = choices(settings, seed)
    monkeypatch.setattr(ei, "SELECTIVE_FROM", 0)
    assert choices(settings, seed) == everywhere


@given(st.floats(-30, 3), st.floats(0.01, 10), st.lists(st.tuples(st.floats(-9, 3), st.floats(0.0, 1.0)), min_size=1))
def test_no_candidate_below_the_chords_improves_as_much(log_tau, widest, candidates):
    lines = chords(log_tau, widest)
    gap, width = np.array(candidates).T * np.array([[1.0], [widest]])
    improvement = log_expected_improvement(gap, width**2, 1.0, 0.0, 1.0)
    below = np.all([gap + steep * width < high for high, steep in lines], axis=0)
    assert (improvement[below] <= log_tau + 1e-9).all()


@pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")
@pytest.mark.parametrize("settings", [{}, {"kernel": RBF(5.0, std=1.0), "noise_std": 1e-3}], ids=["learned", "given"])
def test_where_no_candidate_promises_anything_one_is_asked_for_all_the_same(settings):
    """A straight line without noise: soon log EI is far below what its table holds."""
    x = np.linspace(0, 10, 1501)[:, None]
    opt = Optimizer(x, seed=0, **settings)
    for _ in range(30):
        batch = opt.ask(limit=5)
        opt.tell(batch, [2 * float(x[batch.index, 0])] * batch.repeats)
    assert opt.steps >= 30
