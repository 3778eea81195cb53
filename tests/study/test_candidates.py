"""Candidates of a running study can be added, retired and restored, by whichever process."""

import numpy as np
import pandas as pd
import pytest

from inside import next_batch
from ostinato import Optimizer
from ostinato.errors import InvalidCandidates, InvalidSetting, StudyDiffers
from ostinato.kernels import RBF
from ostinato.study import Study, verify

X = np.linspace(0, 1, 30)[:, None]
TRUTH = np.sin(5 * X[:, 0])
GIVEN = {"kernel": RBF(0.3), "noise_std": 0.1, "mean": 0.0}


def run(study, steps):
    rng = np.random.default_rng(0)
    while study.status().measurements < steps:
        task = study.ask(limit=steps - study.status().measurements)
        study.tell(task, TRUTH[task.index] + 0.1 * rng.standard_normal(task.repeats))


@pytest.mark.parametrize("settings", [{}, GIVEN])
def test_a_condition_is_added_and_other_processes_hear_of_it(address, settings):
    study, other = Study("s", address, X[:20], seed=3, **settings), Study("s", address)
    run(study, 15)
    task = other.ask(limit=2)
    assert study.add(X[20:]) == list(range(20, 30))
    other.tell(task, [TRUTH[task.index]] * task.repeats)
    study.observe(25, TRUTH[25])
    assert study.status().candidates == other.status().candidates == 30
    assert np.array_equal(other.candidate(25), X[25])
    for each in (study, other, Study("s", address)):
        run(each, each.status().measurements + 20)
    assert verify(study.storage, "s") == []
    a, b = next_batch(Study("s", address).optimizer, 50), next_batch(study.optimizer, 50)
    assert (a.index, a.repeats) == (b.index, b.repeats)


def test_a_study_decides_as_an_optimiser_to_which_the_same_was_added(any_address):
    study, opt = Study("s", any_address, X[:20], seed=4, **GIVEN), Optimizer(X[:20], seed=4, **GIVEN)
    for each in (study, opt):
        each.observe(3, [0.5])
        each.add(X[20:25])
        each.add(X[25:])
        each.retire([7, 8])
    task, batch = study.ask(), opt.ask()
    assert (task.index, task.repeats) == (batch.index, batch.repeats)
    assert study.retired == opt.retired == [7, 8]


def test_a_retired_candidate_is_out_of_the_question_until_it_is_restored(any_address):
    study = Study("s", any_address, X, seed=0)
    run(study, 30)
    best = study.best().index
    assert study.retire(best) == 1
    assert study.retire(best) == 0
    assert study.best().index != best
    for _ in range(10):
        task = study.ask(limit=3)
        assert task.index != best
        study.tell(task, [TRUTH[task.index]] * task.repeats)
    assert Study("s", any_address).restore(best) == 1
    assert study.retired == []


def test_a_table_with_more_rows_is_added_where_that_is_said(any_address):
    frame = pd.DataFrame({"t": [1.0, 2.0, 3.0, 4.0], "s": ["a", "b", "a", "c"]})
    study = Study("s", any_address, frame[:3], seed=0)
    with pytest.raises(StudyDiffers, match="3 rows, and the candidates that were given 1 row more"):
        Study("s", any_address, frame)
    assert Study("s", any_address, frame, extend=True).status().candidates == 4
    assert Study("s", any_address, frame[:3]).status().candidates == 4  # fewer are fine: they are all there
    with pytest.raises(StudyDiffers, match=r"row 1, column 't': 2\.0 is stored, and 9\.0 was given"):
        Study("s", any_address, frame.assign(t=[1.0, 9.0, 3.0, 4.0]))
    with pytest.raises(InvalidCandidates, match="columns do not change"):
        study.add({"t": 5.0})
    assert study.status().candidates == 4


def test_candidates_with_noise_of_their_own_are_added(any_address):
    noise = np.linspace(0.1, 0.4, 30)
    given = GIVEN | {"noise_std": noise[:20], "seed": 4}
    study, opt = Study("s", any_address, X[:20], **given), Optimizer(X[:20], **given)
    other = Study("s", any_address)
    assert other.status().candidates == 20
    for each in (study, opt):
        each.observe(3, [0.5])
        each.add(X[20:25], noise_std=noise[20:25])
        each.add(X[25], noise_std=noise[25])
        each.observe(22, [0.5])
    for each in (study, other, Study("s", any_address), Study("s", any_address, X[:20], noise_std=noise[:20])):
        assert each.optimizer.predict().std == pytest.approx(opt.predict().std)
    grown = Study("s", any_address, X, noise_std=noise, extend=True)
    opt.add(X[26:], noise_std=noise[26:])
    assert grown.optimizer.predict().std == pytest.approx(opt.predict().std)
    assert study.add(X[:3], noise_std=0.1) == []
    for rows, more, words in (
        (X + 2, None, "give noise_std= for the new rows too"),
        (X + 2, [0.1, 0.2], r"noise_std has shape \(2,\) for 30 new rows: give one number, or one for each"),
        (X + 2, -1.0, "noise_std=-1.0 is out of range"),
    ):
        for each in (study, opt):
            with pytest.raises(InvalidSetting, match=words):
                each.add(rows, noise_std=more)
    with pytest.raises(StudyDiffers, match="noise_std"):
        Study("s", any_address, X, noise_std=noise + 1)
    with pytest.raises(StudyDiffers, match="noise_std"):
        Study("s", any_address, noise_std=noise[:3])
    with pytest.raises(InvalidSetting, match=r"noise_std has shape \(29,\) for 30 candidates"):
        Study("s", any_address, X, noise_std=noise[:29])
    assert study.status().candidates == 30
    assert verify(study.storage, "s") == []
