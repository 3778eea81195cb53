"""A process that follows a study knows and decides what one that opens it now does."""

import numpy as np
import pytest

from inside import next_batch
from ostinato import MiniUCB, Study
from ostinato.kernels import RBF
from ostinato.policies import BBKB, BKB, GPBUCB

X = np.linspace(0, 1, 25)[:, None]
TRUTH = np.sin(6 * X[:, 0])
GIVEN = {"kernel": RBF(0.2), "noise_std": 0.3}
SETTINGS = {
    "learned": {},
    "robust": {"robust": True},
    "mini": GIVEN | {"policy": MiniUCB(C=1.6)},
    "GP-BUCB": GIVEN | {"policy": GPBUCB(C=2.0)},
    "BKB": GIVEN | {"policy": BKB(oversampling=0.3)},
    "BBKB": GIVEN | {"policy": BBKB(C=2.5, oversampling=0.3)},
    "half-life": {"half_life": 40},
}


def answer(rng, index, n):
    values = TRUTH[index] + 0.3 * rng.standard_normal(n)
    values[rng.random(n) < 0.15] = np.nan
    values[rng.random(n) < 0.05] += 30
    return values.tolist()


@pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")
@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_followers_and_newcomers_are_alike(tmp_path, settings):
    path, rng = tmp_path / "lab.db", np.random.default_rng(0)
    studies = [Study("lab", path, X, seed=0, **settings), Study("lab", path)]
    held = []
    for step in range(18):
        study = studies[step % 2]
        while len(held) < 5:
            task = study.ask(limit=3)
            held.append([task, 0])
        place = int(rng.integers(len(held)))
        task, done = held[place]
        n = int(rng.integers(1, task.repeats - done + 1))
        study.tell(task, answer(rng, task.index, n), start=task.start + done)
        held[place][1] += n
        if held[place][1] == task.repeats:
            del held[place]
        follower, newcomer = study.optimizer, Study("lab", path).optimizer
        for name in ("steps", "failures", "unique", "epochs", "switches", "rounds"):
            assert getattr(follower, name) == getattr(newcomer, name), (step, name)
        decision_states = follower.core.state.decision_state, newcomer.core.state.decision_state
        assert decision_states[0].outlier_review == decision_states[1].outlier_review, step
        a, b = next_batch(follower), next_batch(newcomer)
        assert (a.index, a.repeats, a.round) == (b.index, b.repeats, b.round), step


def test_the_optimiser_of_a_study_is_for_looking(tmp_path):
    study = Study("lab", tmp_path / "lab.db", X, seed=0)
    optimizer = study.optimizer
    for act in (optimizer.ask, lambda: optimizer.observe(0, [1.0]), lambda: optimizer.retire(0)):
        with pytest.raises(Exception, match="is for looking"):
            act()
    assert study.ask().batch == 0
