"""What is taken back was never told, and what is corrected was told so in the first place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato import MiniUCB, Optimizer
from ostinato.errors import InvalidFeedback, UnknownBatch
from ostinato.kernels import RBF
from ostinato.policies import BBKB, GPBUCB, GPTS
from sizes import size

X = np.linspace(0, 1, 40)[:, None]
TRUTH = 10 * np.sin(4 * X[:, 0])
GIVEN = {"kernel": RBF(0.3, std=10.0), "noise_std": 1.0, "mean": 0.0}
SETTINGS = [{}, {"goal": "earn"}, GIVEN, GIVEN | {"policy": MiniUCB()}, GIVEN | {"policy": GPTS()}, {"half_life": 30}]
pytestmark = [
    pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement"),
    pytest.mark.filterwarnings("ignore::ostinato.errors.SurprisingMeasurements"),
]


def same(one, other):
    """Everything that a user can see, and the next decision."""
    for name in ("steps", "unique", "epochs", "switches", "failures"):
        assert getattr(one, name) == getattr(other, name), name
    assert str(one.certificate) == str(other.certificate)
    assert one.costs == other.costs
    assert [(b.id, b.repeats) for b in one.in_flight] == [(b.id, b.repeats) for b in other.in_flight]
    assert one.learned == other.learned
    assert one.predict().mean == pytest.approx(other.predict().mean, abs=1e-9)
    assert one.predict().std == pytest.approx(other.predict().std, abs=1e-9)
    a, b = one.ask(), other.ask()
    assert (a.id, a.index, a.repeats, a.wanted) == (b.id, b.index, b.repeats, b.wanted)


@pytest.mark.parametrize("chosen", SETTINGS)
def test_a_typo_corrected_was_never_made(chosen):
    wrong, right = (Optimizer(X, seed=3, **chosen) for _ in range(2))
    for row in range(0, 40, 4):
        wrong.observe(row, [TRUTH[row], 10 * TRUTH[row] + 125 if row == 20 else TRUTH[row] + 0.1])
        right.observe(row, [TRUTH[row], TRUTH[row] + 0.1])
    wrong.correct(20, 10 * TRUTH[20] + 125, TRUTH[20] + 0.1)
    same(wrong, right)


@pytest.mark.parametrize("chosen", SETTINGS)
def test_a_value_taken_back_was_never_told(chosen):
    wrong, right = (Optimizer(X, seed=3, **chosen) for _ in range(2))
    for row in range(0, 40, 4):
        wrong.observe(row, [TRUTH[row], 125.0, np.nan] if row == 20 else [TRUTH[row]])
        right.observe(row, [TRUTH[row], np.nan] if row == 20 else [TRUTH[row]])
    assert wrong.retract(20, value=125.0) == 1
    same(wrong, right)
    assert wrong.retract(failures=True) == 1
    assert wrong.failures == 0


@settings(deadline=None, max_examples=size(16, 40))
@given(data=st.data(), chosen=st.sampled_from(SETTINGS[:5]))
def test_whatever_is_told_and_taken_back(data, chosen):
    """Batches asked for at once, told in any order, some of it wrong and put right later."""
    wrong, right = (Optimizer(X, seed=5, budget=60, **chosen) for _ in range(2))
    plans = [list(opt.ask(slots=12)) for opt in (wrong, right)]
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    later = []
    for one, other in zip(*plans, strict=True):
        values = TRUTH[one.index] + rng.standard_normal(one.repeats)
        told, kept = list(values), []
        for place, value in enumerate(values):
            fate = data.draw(st.sampled_from(["fine", "fine", "wrong", "taken back", "failed"]))
            if fate == "wrong":
                told[place] = value + 50 + place
                later.append((wrong.correct, (one.index, told[place], value)))
            if fate == "taken back":
                told[place] = value - 70 - place
                later.append((lambda row, bad: wrong.retract(row, value=bad), (one.index, told[place])))
            else:
                kept.append(np.nan if fate == "failed" else value)
            if fate == "failed":
                told[place] = np.nan
        wrong.tell(one, told)
        if kept:
            right.tell(other, kept)
        if len(kept) < one.repeats:
            right.close(other)
    for act, arguments in later:
        act(*arguments)
    right.core._known = None
    # a fit that knew the mistakes is forgotten
    right._state.decision_state = wrong.core.state.decision_state if later else right.core.state.decision_state
    if right.steps:
        same(wrong, right)


def test_a_batch_is_taken_back_whole():
    opt = Optimizer(X, seed=0, **GIVEN)
    first, second = opt.ask(), opt.ask()
    opt.tell(first, [1.0] * first.repeats)
    opt.tell(second, n=second.repeats, mean=3.0, std=0.1 if second.repeats > 1 else None)
    assert opt.retract(second) == second.repeats
    assert (opt.steps, opt.unique, opt.in_flight) == (first.repeats, 1, [])
    with pytest.raises(UnknownBatch, match="nothing to take back"):
        opt.retract(second)


def test_a_repeat_of_a_batch_in_flight_is_waited_for_again():
    opt = Optimizer(X, seed=0, **GIVEN | {"noise_std": 30.0})
    opt.observe(3, 1.0)
    batch = opt.ask(limit=6)
    assert batch.repeats > 2
    opt.tell(batch, [1.0, 99.0])
    opt.retract(batch.candidate, value=99.0)
    opt.tell(batch, [1.0] * (batch.repeats - 1))
    assert opt.in_flight == []


def test_measurements_go_by_the_numbers_that_warnings_name():
    opt = Optimizer(X, seed=0)
    for row in range(0, 40, 2):
        opt.observe(row, [TRUTH[row] + 20, TRUTH[row] + 20.2, 2000.0 if row == 10 else TRUTH[row] + 20.1])
    (outlier,) = opt.outliers
    assert outlier.value == 2000.0
    opt.correct(number=outlier.number, new=TRUTH[10] + 20.1)
    assert opt.outliers == []
    assert opt.steps == 60
    opt.retract(number=outlier.number)
    assert opt.steps == 59


def test_numbers_stay_whatever_is_taken_back():
    opt = Optimizer(X, seed=0)
    opt.observe(3, [1.0, 2.0, 3.0, 4.0, 5.0])
    opt.retract(number=2)
    opt.retract(number=3)
    opt.observe(4, [6.0])
    frame = opt.to_frame()
    assert list(zip(frame["number"], frame["value"], strict=True)) == [(1, 1.0), (4, 4.0), (5, 5.0), (6, 6.0)]
    with pytest.raises(InvalidFeedback, match="Measurement 2 was taken back already"):
        opt.retract(number=2)
    with pytest.raises(InvalidFeedback, match="no single measurement 7: 6 were told"):
        opt.retract(number=7)
    opt.correct(number=5, new=7.0)
    opt.retract(3, value=7.0)
    batch = opt.ask()
    opt.tell(batch, [8.0] * batch.repeats)
    opt.retract(batch)
    opt.observe(4, [9.0])
    assert list(opt.to_frame()["number"]) == [1, 4, 6, 7 + batch.repeats]


def test_an_outlier_keeps_its_number_when_others_are_taken_back():
    opt = Optimizer(X, seed=0)
    for row in range(0, 40, 2):
        opt.observe(row, [TRUTH[row] + 20, TRUTH[row] + 20.2, 2000.0 if row == 10 else TRUTH[row] + 20.1])
    (before,) = opt.outliers
    opt.retract(number=1)
    (outlier,) = opt.outliers
    assert outlier.number == before.number == 18
    opt.retract(number=outlier.number)
    assert opt.outliers == []
    assert (opt.steps, max(opt.to_frame()["value"]) < 1000) == (58, True)


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda opt: opt.retract(3, value=7.0), "No measurement of this candidate gave 7.0. Its last values are 1, 2"),
        (lambda opt: opt.retract(5, value=7.0), "No single values of it were told"),
        (lambda opt: opt.retract(3), "What is to be taken back"),
        (lambda opt: opt.retract(number=99), "no single measurement 99: 2 were told"),
        (lambda opt: opt.correct(3, 1.0), "old and new value"),
        (lambda opt: opt.correct(3, 1.0, 5.0, number=1), "by number= and by candidate and old value"),
        (lambda opt: opt.retract(3, value=1.0, number=1), "by a candidate and by number=: name them in one way"),
        (lambda opt: opt.retract(3, number=1), "by a candidate and by number="),
        (lambda opt: opt.retract(opt.ask(), value=1.0), "by a batch and by value="),
        (lambda opt: opt.retract(failures=True, number=1), "by number= and by failures=True"),
        (lambda opt: opt.correct(3, 1.0, "abc"), "abc"),
        (lambda opt: opt.correct([3, 4], 1.0, 2.0), "more than one candidate"),
        (lambda opt: opt.retract(value=1.0), "What is to be taken back"),
    ],
)
def test_what_cannot_be_found_is_said_and_changes_nothing(act, words):
    opt = Optimizer(X, seed=0)
    opt.observe(3, [1.0, 2.0])
    with pytest.raises(InvalidFeedback, match=words):
        act(opt)
    assert (opt.steps, opt.best().mean) == (2, pytest.approx(1.5))


@pytest.mark.parametrize("policy", [BBKB(), GPBUCB()])
def test_rounds_go_on_after_a_correction(policy):
    opt = Optimizer(X, seed=0, **GIVEN | {"policy": policy})
    for _ in range(4):
        batch = opt.ask()
        opt.tell(batch, TRUTH[batch.index] + np.arange(batch.repeats) / 10)
    opt.correct(batch.index, TRUTH[batch.index], 3.0)
    assert opt.ask().repeats >= 1


def test_a_failure_is_corrected_by_what_it_was():
    opt = Optimizer(X, seed=0, outcome="binary")
    opt.observe(3, [True, float("nan"), False])
    opt.correct(3, float("nan"), True)
    opt.correct(3, False, True)
    assert (opt.steps, opt.failures) == (3, 0)
    assert opt.predict().mean[3] > 0.5


def test_what_came_with_standard_errors_can_be_put_right():
    wrong, right = (Optimizer(X, seed=3, **GIVEN) for _ in range(2))
    wrong.observe(20, [1.0, np.nan, 125.0, np.nan, 3.0], stderr=[0.1, 0.2, 0.3, 0.4, 0.5])
    assert wrong.retract(20, value=125.0) == 1
    wrong.correct(number=2, new=2.0)
    assert wrong.retract(failures=True) == 1
    assert (wrong.steps, wrong.failures) == (3, 0)
    right.observe(20, [1.0, 2.0, 3.0], stderr=[0.1, 0.2, 0.5])
    same(wrong, right)


def test_failures_alone_that_came_with_standard_errors_are_taken_back():
    wrong, right = (Optimizer(X, seed=3, **GIVEN) for _ in range(2))
    for opt in (wrong, right):
        opt.observe(3, [1.0])
    wrong.observe(20, [np.nan, np.nan], stderr=0.1)
    wrong.observe(21, [2.0, np.nan], stderr=[0.1])  # of what did not fail
    right.observe(21, [2.0], stderr=0.1)
    assert wrong.retract(20, failures=True) == 2
    assert wrong.retract(failures=True) == 1
    same(wrong, right)


def test_a_batch_of_another_optimiser_is_not_taken_back():
    one, other = Optimizer(X, seed=0), Optimizer(X, seed=1)
    mine, its = one.ask(limit=1), other.ask(limit=1)
    assert (mine.id, mine.index != its.index) == (its.id, True)
    one.tell(mine, [1.0])
    with pytest.raises(UnknownBatch):
        one.retract(its)
    assert one.retract(mine) == 1
