"""How many repeats pay, with set-ups and switching costs."""

from math import floor, log1p

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ostinato.policies import MiniMeta, MiniUCB, RepeatValue

positive = st.floats(1e-3, 1e3)


@given(variance=positive, noise=positive, C=st.floats(1.01, 5.0))
@example(variance=682.8919402045583, noise=682.8919402045583, C=2.0)  # 3, or by rounding the last number before it
def test_without_set_ups_and_costs_it_is_the_papers_rule(variance, noise, C):
    wanted, rounding = noise / (variance / (C**2 - 1)), 1e-12
    least, most = (max(1, floor(wanted * (1 + sign * rounding))) for sign in (-1, 1))
    assert least <= MiniMeta(C)(RepeatValue(variance, noise)) <= most
    assert RepeatValue(variance, noise).paying() == 1


@given(variance=positive, noise=positive, setup=positive, C=st.floats(1.01, 5.0))
def test_the_model_never_lags_by_more_than_C_where_it_can_be_helped(variance, noise, setup, C):
    repeat_value = RepeatValue(variance, noise, setup)
    B = MiniMeta(C)(repeat_value)
    assert B == 1 or repeat_value.staleness(B) <= C * (1 + 1e-9)
    assert max(1, noise / setup) >= B


def test_repeats_end_where_they_teach_nothing():
    assert MiniMeta(2.0)(RepeatValue(1e-9, noise=1.0, setup=0.01)) == 100
    assert MiniMeta(2.0)(RepeatValue(1e-9, noise=1.0, setup=4.0)) == 1


@given(variance=positive, noise=positive, setup=st.just(0.0) | positive, switch=positive, cost=positive)
def test_dear_switches_are_repaid(variance, noise, setup, switch, cost):
    """No other number of repeats learns more for its cost."""
    repeat_value = RepeatValue(variance, noise, setup, switch, cost)
    B = repeat_value.paying()
    rate = lambda b: log1p(variance / (setup + noise / b)) / (switch + cost * b)  # noqa: E731
    if setup == 0 or noise / setup > B + 1:
        assert all(rate(B) >= rate(b) * (1 - 1e-12) for b in (max(1, B - 1), B + 1, 2 * B, max(1, B // 2)))


def test_a_switch_that_costs_more_is_repeated_more():
    lengths = [MiniUCB(C=1.2).repeats(RepeatValue(0.5, 1.0, switch=cost)) for cost in (0, 1, 10, 100)]
    assert lengths == sorted(lengths)
    assert lengths[0] == 1 == MiniUCB(C=1.2).repeats(RepeatValue(0.5, 1.0))
    assert lengths[-1] > 20


def test_what_is_known_for_sure_is_not_measured_for_ever():
    assert RepeatValue(0.0, 1.0, switch=5.0).paying() == 1
    assert MiniMeta(2.0)(RepeatValue(0.0, 1.0)) >= 10**9


@pytest.mark.parametrize("repeats", [1, 7])
def test_staleness_is_that_of_the_variance(repeats):
    repeat_value = RepeatValue(2.0, 1.0, 0.5)
    after = 2.0 * (0.5 + 1 / repeats) / (2.0 + 0.5 + 1 / repeats)
    assert repeat_value.staleness(repeats) == pytest.approx((2.0 / after) ** 0.5)
