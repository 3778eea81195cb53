"""What was told, batch by batch: single values can be left out again, and old ones fade."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato import Optimizer
from ostinato.errors import InvalidSetting
from ostinato.measurements.feedback import FeedbackInput
from ostinato.measurements.history import History, Part, faded
from ostinato.measurements.outcomes import REAL
from ostinato.measurements.tally import Statistics

pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.SuspiciousMeasurement")
values = st.lists(st.floats(-1e3, 1e3).filter(lambda y: y == 0 or abs(y) > 1e-6), min_size=1, max_size=12)


@given(parts=st.lists(values, min_size=1, max_size=5), sign=st.sampled_from([1, -1]))
def test_any_lowest_or_highest_value_can_be_left_out(parts, sign):
    """However the values were told: what is left is what would have been told without it."""
    together, everything = None, []
    for part in parts:
        measured = FeedbackInput(part).read(REAL).measured(sign, len(everything), 0)
        everything += part
        together = measured if together is None else together + measured
    assert together is not None
    y = sign * np.array(everything)
    assert {y.min(), y.max()} <= {value for _, value in together.points}
    turned = -together
    assert together == -turned
    assert together.at == len(y)
    for number, value in together.points:
        assert y[number - 1] == value
        rest, left = np.delete(y, number - 1), together.without({number})
        assert left.n == len(rest)
        if len(rest):
            assert left.mean == pytest.approx(rest.mean(), abs=1e-9)
            assert left.squares == pytest.approx(np.sum((rest - rest.mean()) ** 2), abs=1e-6)
    assert together.without({-1}) == together.statistics
    ends = {number for number, _ in together.points[:2]}
    rest = np.delete(y, [number - 1 for number in ends])
    assert together.without(ends).n == len(rest)


def test_failures_are_numbered_too():
    measured = FeedbackInput([None, 5.0, float("nan"), 7.0]).read(REAL).measured(1, 6, 4)
    assert measured.points == ((12, 5.0), (14, 7.0))


@given(order=st.permutations(range(6)), since=st.integers(0, 12))
def test_new_values_are_found_in_whatever_order_they_came(order, since):
    """Batches that are in flight together are told in any order; their values have the numbers of the batches."""
    history = History()
    for batch in order:
        measured = FeedbackInput([float(batch), batch + 0.5]).read(REAL).measured(1, 2 * batch, 0)
        history.add({Part(batch, batch % 3, False): measured})
    assert sorted(number for number, _, _ in history.new(since)) == list(range(since + 1, 13))


def test_what_has_faded_scatters_as_much_and_counts_for_less():
    half = faded(Statistics(9, 2.0, 8.0), 0.5)
    assert half.n == 4.5
    assert half.mean == 2
    assert half.squares / (half.n - 1) == pytest.approx(1.0)
    assert faded(Statistics(1, 2.0), 0.5).squares == 0


def test_measurements_count_for_half_after_their_half_life():
    history = History()
    for batch in range(3):
        history.add({Part(batch, batch, False): FeedbackInput([1.0] * 100).read(REAL).measured(1, 100 * batch, 0)})
    tally = history.tally(by_setup=False, half_life=100, now=300)
    assert [tally[candidate].n for candidate in range(3)] == pytest.approx([25, 50, 100])
    assert history.steps == 300
    assert history.tally(by_setup=False).steps == 300


def shop(half_life, moves, events=6_000):
    """What is earned, of the best attainable, in the last third; the optimum moves after one half."""
    X, rng = np.linspace(0, 1, 50)[:, None], np.random.default_rng(0)
    truths = [np.exp(-((X[:, 0] - centre) ** 2) / 0.02) for centre in (0.2, 0.8)]
    opt = Optimizer(X, goal="earn", half_life=half_life, seed=0)
    earned: list[float] = []
    while opt.steps < events:
        truth = truths[int(moves and opt.steps >= events // 2)]
        batch = opt.ask(limit=min(events - opt.steps, 100))
        opt.tell(batch, truth[batch.index] + 0.2 * rng.standard_normal(batch.repeats))
        earned += [truth[batch.index]] * batch.repeats
    return opt, float(np.mean(earned[2 * events // 3 :]))


def test_with_a_half_life_it_follows_an_optimum_that_moves():
    opt, earned = shop(500, moves=True)
    assert earned > 0.8
    assert opt.steps == 6_000
    assert opt.best().index == pytest.approx(39, abs=3)


def test_where_nothing_moves_a_half_life_costs_little():
    assert shop(500, moves=False)[1] > 0.9 * shop(None, moves=False)[1]


def test_drift_is_diagnosed_and_only_drift():
    found = str(shop(None, moves=True)[0].diagnose())
    assert "half_life= (such as 400)" in found
    assert "half_life" not in str(shop(None, moves=False)[0].diagnose())


@pytest.mark.parametrize("half_life", [1, 5, 30, 100])
@pytest.mark.parametrize(("outcome", "goal"), [("real", "find"), ("binary", "earn"), ("positive", "find")])
def test_any_half_life_does(half_life, outcome, goal):
    X, rng = np.linspace(0, 1, 50)[:, None], np.random.default_rng(0)
    opt = Optimizer(X, goal=goal, outcome=outcome, half_life=half_life, seed=0)
    while opt.steps < 80:
        batch = opt.ask(limit=80 - opt.steps)
        rate = 0.5 + 0.4 * np.sin(6 * X[batch.index, 0])
        y = rng.random(batch.repeats) < rate if outcome == "binary" else rate * rng.gamma(25, 1 / 25, batch.repeats)
        opt.tell(batch, y)
    assert opt.steps == 80
    assert opt.best().n >= 1
    assert opt.certificate is None


def test_a_long_time_is_no_trouble():
    opt = Optimizer(np.arange(6.0)[:, None], half_life=10, seed=0)
    opt.observe(0, n=10, mean=1.0, std=1.0)
    opt.observe(1, n=10**6, mean=2.0, std=1.0)
    assert opt.best().index == 1
    assert (opt.steps, opt.unique) == (10**6 + 10, 2)


def test_hyperparameters_are_learned_again_in_every_half_life():
    opt, _ = shop(300, moves=False, events=3_000)
    assert opt.learned.fits >= 10


def test_standard_errors_stay_apart_from_plain_values():
    opt = Optimizer(np.arange(6.0)[:, None], half_life=10, seed=0)
    batch = opt.ask(limit=1)
    opt.observe(batch.index, [1.0], stderr=[0.001])
    opt.observe(3, [3.0] * 40)
    assert opt.steps == 41


@pytest.mark.parametrize("half_life", [0, -5, 2.5, "long"])
def test_a_half_life_is_a_whole_number_of_measurements(half_life):
    with pytest.raises(InvalidSetting, match="half_life"):
        Optimizer(np.eye(3), half_life=half_life)


def test_a_half_life_and_robust_do_not_go_together():
    with pytest.raises(InvalidSetting, match="do not go together"):
        Optimizer(np.eye(3), half_life=100, robust=True)
