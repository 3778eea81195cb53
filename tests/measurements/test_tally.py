"""Statistics add: however measurements are grouped, the numbers are those of all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.errors import InvalidFeedback
from ostinato.measurements.outcomes import REAL
from ostinato.measurements.tally import Statistics, Tally

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@given(groups=st.lists(VALUES, min_size=1, max_size=5))
def test_statistics_add_up(groups):
    total = sum((Statistics.of_values(np.array(group)) for group in groups), Statistics())
    everything = np.concatenate(groups)
    assert total.n == len(everything)
    assert total.mean == pytest.approx(everything.mean(), rel=1e-9, abs=1e-6)
    assert total.squares == pytest.approx(np.sum((everything - everything.mean()) ** 2), rel=1e-6, abs=1e-3)


@given(values=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30))
def test_a_laboratorys_summary_says_the_same_as_its_values(values):
    summary = Statistics.of_summary(len(values), float(np.mean(values)), float(np.std(values, ddof=1)))
    exact = Statistics.of_values(np.array(values))
    assert summary.n == exact.n
    assert summary.mean == pytest.approx(exact.mean)
    assert summary.squares == pytest.approx(exact.squares, abs=1e-6)


def test_counts_to_a_billion_keep_their_precision():
    total = Statistics(10**9, 1.0, 0.0) + Statistics(1, 2.0)
    assert total.n == 10**9 + 1
    assert total.mean - 1.0 == pytest.approx(1e-9, rel=1e-6)


def test_a_tally_keeps_candidates_apart():
    tally = Tally()
    tally.add(7, Statistics.of_values(np.array([1.0, 3.0])))
    tally.add(2, Statistics(1, 5.0))
    tally.add(7, Statistics(1, 5.0))
    assert tally[7] == Statistics(3, 3.0, 8.0)
    assert tally[0].n == 0
    assert (len(tally), tally.steps) == (2, 4)
    assert [candidate for candidate, _ in tally] == [7, 2]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([], "No measurements"),
        ([1.0, np.nan], "Measurement 1 of 2 is nan"),
        ([-np.inf], "The measurement is -inf"),
        ([[1.0, 2.0]], "shape"),
        ("3.5", "not numbers"),
        ([True, False], "not numbers"),
        ([1.0, None], "NaN or None for"),
        ([1e308, -1e308], "too large"),
        (1e120, "too large"),
        ([[1.0], [2.0, 3.0]], "not numbers"),
    ],
)
def test_values_that_cannot_be_true_are_refused(values, message):
    with pytest.raises(InvalidFeedback, match=message):
        Statistics.of_values(REAL.values(values))


@pytest.mark.parametrize(
    ("summary", "message"),
    [
        ((0, 1.0, 1.0), "n=0"),
        ((2.5, 1.0, 1.0), "n=2.5"),
        ((True, 1.0, 1.0), "n=True"),
        ((3, np.nan, 1.0), "mean=nan"),
        ((3, 1.0, None), "std is missing"),
        ((3, 1.0, -1.0), "std=-1.0"),
        ((3, 1e200, 1.0), "too large"),
    ],
)
def test_summaries_that_cannot_be_true_are_refused(summary, message):
    with pytest.raises(InvalidFeedback, match=message):
        Statistics.of_summary(*summary)


def test_one_measurement_needs_no_standard_deviation():
    assert Statistics.of_summary(1, 2.0, None) == Statistics.of_summary(1, 2.0, float("nan")) == Statistics(1, 2.0)


@given(
    st.lists(st.tuples(st.floats(-9, 9), st.sampled_from([0.0, 0.1, 3.0])), min_size=1, max_size=8),
    st.randoms(),
    st.booleans(),
)
def test_the_order_in_which_feedback_comes_does_not_matter(told, random, by_setup):
    """With standard errors (the second number) and without, mixed in any way."""

    def tally(feedback):
        total = Tally(by_setup=by_setup)
        for setup, (value, error) in feedback:
            total.add(0, Statistics.of_weighted(np.array([value]), error) if error else Statistics(1, value), setup)
        return total

    numbered = list(enumerate(told))
    first = tally(numbered)
    random.shuffle(numbered)
    assert tally(numbered)[0].mean == pytest.approx(first[0].mean, abs=1e-12)


def test_no_value_and_no_standard_error_overflows():
    for values, errors in (([9e99, -9e99], 1e-90), ([1e99, 1.0], [1e-99, 1e99])):
        statistics = Statistics.of_weighted(np.array(values), errors)
        assert np.isfinite(statistics.mean)
        assert 0 < statistics.known < np.inf
    with pytest.raises(InvalidFeedback, match="too large"):
        Statistics.of_values(np.array([9e153, -9e153]))


def test_integers_beyond_numpys_own():
    assert REAL.values([10**30, None][:1]).tolist() == [1e30]
    with pytest.raises(InvalidFeedback, match="not numbers"):
        REAL.values([10**400])
