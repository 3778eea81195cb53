"""Values of parameters: within bounds, of as many digits as an instrument can set, the same after a round trip."""

from math import inf, isinf

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ostinato import Category, Float, Integer, Ordered
from ostinato.errors import InvalidSetting

shares = st.floats(0, 1)
numbers = st.floats(-1e6, 1e6).filter(lambda x: x == 0 or abs(x) > 1e-6)


@given(low=numbers, width=st.floats(1e-3, 1e6), u=shares)
def test_any_number_of_a_range(low, width, u):
    parameter = Float(low, low + width)
    value = parameter.sampled(u)
    assert parameter.low <= value <= parameter.high
    assert parameter.nearest(value) == value
    assert value == pytest.approx(low + u * width, abs=2e-6 * width)
    assert isinf(parameter.size)


@given(low=st.floats(1e-9, 1e3), factor=st.floats(1.5, 1e9), u=shares)
def test_all_decades_alike(low, factor, u):
    parameter = Float(low, low * factor, log=True)
    value = parameter.sampled(u)
    assert parameter.low <= value <= parameter.high
    (feature,) = parameter.codec("x").encode([value])
    assert parameter.nearest(feature) == pytest.approx(value, rel=1e-5)
    assert value == pytest.approx(low * factor**u, rel=1e-5)


@given(low=st.integers(-100, 100), width=st.integers(1, 50), digits=st.integers(0, 2), u=shares)
def test_what_an_instrument_can_set(low, width, digits, u):
    parameter = Float(low, low + width, digits=digits)
    value = parameter.sampled(u)
    assert value == round(value, digits)
    assert low <= value <= low + width
    assert parameter.size == width * 10**digits + 1
    assert value in parameter.values


@given(low=st.integers(-(10**6), 10**6), width=st.integers(0, 10**7), step=st.integers(1, 50), u=shares)
def test_whole_numbers(low, width, step, u):
    parameter = Integer(low, low + width, step)
    value = parameter.sampled(u)
    assert isinstance(value, int)
    assert low <= value <= low + width
    assert (value - low) % step == 0
    assert parameter.nearest(value) == value


@given(
    levels=st.lists(st.text(min_size=1), min_size=1, unique=True), kind=st.sampled_from([Ordered, Category]), u=shares
)
def test_levels(levels, kind, u):
    parameter = kind(*levels)
    value = parameter.sampled(u)
    (code,) = parameter.codec("x").encode([value])
    assert parameter.nearest(code) == value
    assert parameter == kind(*levels)


@pytest.mark.parametrize(
    "parameter",
    [
        Float(1 / 3, 10, step=0.5),
        Float(1 / 3, 1, count=5),
        Float(1e-8, 1, step=0.1),
        Float(0.33585575305464355, 7, log=True),
        Float(1, 24, count=5, log=True, digits=1),
        Float(1, 7, count=3, log=True, digits=0),
        Float(0, 1, step=0.3, digits=1),
        Float(0, 10, count=4, digits=1),
    ],
    ids=repr,
)
def test_its_own_values_lie_within_a_range(parameter):
    for u in np.linspace(0, 1, 201):
        value = parameter.sampled(float(u))
        (feature,) = parameter.codec("x").encode([value])
        assert parameter.low <= value <= parameter.high
        assert parameter.ends[0] <= feature <= parameter.ends[1]
        assert parameter.nearest(feature) == value


def test_what_is_spaced_evenly_may_be_rounded():
    assert Float(1, 24, count=5, log=True, digits=1).values == (1.0, 2.2, 4.9, 10.8, 24.0)
    assert Float(0, 1, count=4, digits=1).values == (0.0, 0.3, 0.7, 1.0)
    step = Float(0, 1, step=0.35, digits=1)
    assert step.values == (0.0, 0.3, 0.7)
    assert (step.size, step.own(0.3), step.own(0.35)) == (3, 0.3, None)
    assert repr(step) == "Float(0, 1, step=0.35, digits=1)"
    assert Float(5, 5.2, step=0.3, digits=1).values == (5.0,)


def test_whole_numbers_are_drawn_evenly():
    drawn = [Integer(1, 3).sampled((i + 0.5) / 300) for i in range(300)]
    assert [drawn.count(n) for n in (1, 2, 3)] == [100, 100, 100]


@given(step=st.sampled_from([0.1, 0.25, 5]), u=shares)
def test_steps_are_kept(step, u):
    parameter = Float(0, 10, step=step)
    assume(parameter.size > 1)
    assert parameter.sampled(u) in parameter.values


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Float(0, 1, step=0.1, count=11), "a step and a count: give one of them"),
        (
            lambda: Float(1, 10, count=11, log=True, digits=0),
            "two values that are both 1.0 once they are rounded: give a lower count, or more",
        ),
        (lambda: Float(0, 1, step=0.05, digits=1), "two values that are both 0.1 .* give a wider step, or"),
        (lambda: Float(0, 1, count=10**9, digits=2), "has 1,000,000,000 values to be rounded"),
        (lambda: Float(0, 1, log=True), "low above 0"),
        (lambda: Float(1, 10, step=1, log=True), "takes no step"),
        (lambda: Float(0.05, 1, digits=1), "ends between two of its values"),
        (lambda: Float(2, 1), "empty"),
        (lambda: Float(0, inf), "finite"),
        (lambda: Float(-1e308, 1e308), "too wide"),
        (lambda: Float(0, 1, digits=400), "at most 15"),
        (lambda: Float(1, 2, log="no"), "log='no' is neither True nor False"),
        (lambda: Integer(1, 2, log="no"), "log='no' is neither True nor False"),
    ],
)
def test_what_makes_no_sense_is_refused(make, says):
    with pytest.raises(InvalidSetting, match=says):
        make()


@pytest.mark.parametrize("kind", [Ordered, Category])
@pytest.mark.parametrize("nothing", [None, float("nan"), np.float64("nan")])
def test_levels_that_say_that_there_is_no_value_are_refused(kind, nothing):
    with pytest.raises(InvalidSetting, match=r"says that there is no value, .*: give it a name, such as 'none'"):
        kind("a", nothing)


def test_levels_that_may_change_are_refused():
    with pytest.raises(InvalidSetting, match=r"The level \[1\] is a list, which may change: give texts or numbers"):
        Category([1], [2])


def test_levels_are_plain():
    assert [type(level) for level in Category(np.int64(3), np.str_("a")).values] == [int, str]
    assert [type(each) for each in Float(0, 1).when(n=np.int64(3)).conditions["n"]] == [int]


def test_conditions_may_be_sets():
    made = Float(0, 1).when(s={"b", "a"})
    assert made == Float(0, 1).when(s=["a", "b"])
    assert Float(0, 1).when(s=frozenset({"a"})) == Float(0, 1).when(s="a")


def test_ranges_that_cannot_be_computed_with_are_refused():
    for low, high, says in ((1e-300, 2e-300, "narrow"), (0, 1e308, "wide"), (-1e308, 1e308, "wide")):
        with pytest.raises(InvalidSetting, match=f"too {says} to compute with: .*Use other units"):
            Float(low, high)
    assert Float(1e-300, 2e-300, log=True).size == inf
    assert Float(1e-300, 1e-300).low == 1e-300
    with pytest.raises(InvalidSetting) as refused:
        Integer(0, 10**400)
    assert len(str(refused.value)) < 200
