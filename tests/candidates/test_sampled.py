"""Points of a space that cannot be listed: a set that only grows, in which what was named keeps its index."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato import Category, Float, Integer, Ordered, Space
from ostinato.candidates import Sampled, head_of, packed, read_candidates, unpacked
from ostinato.errors import InvalidCandidates, InvalidSetting, UnknownCandidate
from sizes import size

SPACE = Space(
    temp=Float(20, 80),
    rate=Float(1e-5, 1, log=True),
    size=Integer(1, 10**6),
    kind=Category("a", "b"),
    ph=Float(3, 9, digits=1),
)
POINT = {"temp": 33.3, "rate": 0.01, "size": 512, "kind": "b", "ph": 7.1}

ranges = st.tuples(st.integers(-50, 50), st.integers(1, 100))
parameters = st.one_of(
    ranges.map(lambda r: Float(r[0], r[0] + r[1])),
    ranges.map(lambda r: Float(r[0], r[0] + r[1], digits=2)),
    ranges.map(lambda r: Integer(r[0], r[0] + 10**6)),
    st.integers(1, 9).map(lambda e: Float(10.0**-e, 1, log=True)),
    st.integers(1, 4).map(lambda n: Category(*"abcd"[:n])),
    st.integers(1, 4).map(lambda n: Ordered(*"abcd"[:n])),
)
switch = {"free": Float(0, 1), "switch": Category("on", "off")}
perhaps = parameters.flatmap(lambda made: st.sampled_from([made, made.when(switch="on")]))
spaces = st.lists(perhaps, min_size=1, max_size=4).map(
    lambda made: Space(switch | {f"p{i}": parameter for i, parameter in enumerate(made)})
)


def restored(table):
    return unpacked(head_of(packed(table).head))


@settings(max_examples=size(8, 1000))
@given(space=spaces, seed=st.integers(0, 100), numbers=st.lists(st.integers(0, 2000), min_size=1, max_size=5))
def test_spaces_survive_storage_and_pickling(space, seed, numbers):
    table = read_candidates(space)
    assert isinstance(table, Sampled)
    table = table.seeded(seed)
    named = table.naming([number % len(table) for number in numbers])
    for other in (restored(named), pickle.loads(pickle.dumps(named))):
        assert isinstance(other, Sampled)
        assert other.space.parameters == space.parameters
        assert [other[i] for i in range(other.rows)] == [named[i] for i in range(named.rows)]
        again = other.seeded(seed)
        assert {row.tobytes() for row in again.features} == {row.tobytes() for row in named.features}
        for index in range(named.rows):
            assert again.index_of(again.number_of(index)) == index
            assert np.array_equal(again.features[again.number_of(index)], named.features[named.number_of(index)])


@settings(max_examples=size(8, 20))
@given(space=spaces, seed=st.integers(0, 100))
def test_what_depends_on_a_switch_is_there_only_where_it_is_on(space, seed):
    table = Sampled(space).seeded(seed)
    for number in range(0, len(table), 97):
        row = table.point(number)
        for name in space.depends:
            assert (row[name] is None) == (row["switch"] == "off")
        assert np.array_equal(table.encode(row)[0], table.features[number])
    assert np.array_equal(space.settled_features(table.features), table.features)


def test_a_set_only_grows():
    table = Sampled(SPACE).seeded(0)
    named = table.naming([7, 3])
    assert (table.rows, named.rows) == (0, 2)
    assert [named.index_of(7), named.index_of(3)] == [0, 1]
    grown = named.naming(range(1000)).with_pool()
    assert len(grown) > len(named)
    assert np.array_equal(grown.features[: len(named)], named.features)
    assert grown[0] == named[0] == table.point(7)
    assert grown.naming([3]) is grown


def test_points_are_known_again():
    table = Sampled(SPACE).seeded(0).holding(POINT)
    assert table[0] == POINT
    assert table.named_by(POINT) == table.number_of(0)
    assert table.holding([POINT]).rows == 1
    assert table.holding(0) is table
    assert table.holding(POINT | {"temp": 33.3 + 1e-14}).rows == 1  # by rounding
    assert table.with_points(table.features[:5]).rows == table.rows
    assert len(table.with_points(table.features[:5])) == len(table)


@pytest.mark.parametrize(("change", "says"), [({"temp": 90}, "outside of"), ({"kind": "z"}, "has no level")])
def test_what_lies_outside_is_refused(change, says):
    with pytest.raises(UnknownCandidate, match=says):
        Sampled(SPACE).holding(POINT | change)


def test_constraints_hold_everywhere():
    space = SPACE.where(lambda c: c["temp"] < 40)
    table = Sampled(space).seeded(1)
    assert 0 < len(table) < 2048
    assert table.features[:, 0].max() < 40
    with pytest.raises(UnknownCandidate, match="ruled out"):
        table.holding(POINT | {"temp": 50.0})
    with pytest.raises(InvalidCandidates, match=r"allow none .* narrower ranges"):
        Sampled(SPACE.where(lambda c: False)).seeded(0)


def test_constraints_are_code_and_not_stored():
    kept = restored(Sampled(SPACE.where(lambda c: c["temp"] < 40)).holding(POINT))
    assert kept[0] == POINT
    with pytest.raises(InvalidSetting, match="give the space"):
        kept.space.allows(POINT)


def test_what_was_never_named_has_no_index():
    table = Sampled(SPACE).seeded(0)
    with pytest.raises(UnknownCandidate, match="never asked for"):
        table.index_of(5)
    with pytest.raises(UnknownCandidate, match="observe it first"):
        table.named_by(POINT)


# What was observed is what is stored, and distinct points stay distinct

MARGIN = 1e-12  # of a value: numbers that are nearer may be one but for rounding
wide = st.sampled_from(
    [
        Float(0, 1e9),
        Float(0, 1e6, digits=4),
        Float(0, 1, digits=12),
        Float(-1, 1e6, step=0.25),
        Float(1e-300, 1e300, log=True),
        Float(1 / 3, 2 / 3),
        Integer(1, 10**12),
        Integer(-3, 2 * 10**9, step=3),
        Integer(1, 10**18),
        Integer(5, 10**18 + 5, step=10),
        Integer(1, 10**18, log=True),
        Integer(0, 10**30),
    ]
)


@st.composite
def values_of(draw, parameter):
    """One that a user may well give: anywhere, or close to the lowest."""
    if isinstance(parameter, Integer):
        most = (parameter.high - parameter.low) // parameter.step
        return parameter.low + parameter.step * draw(st.integers(0, most) | st.integers(0, 9))
    if parameter.step is not None:
        return parameter.low + parameter.step * draw(st.integers(0, int(parameter.size) - 1))
    value = draw(st.floats(parameter.low, parameter.high, allow_subnormal=False))
    return value if parameter.digits is None else min(round(value, parameter.digits), parameter.high)


def apart(one, other):
    return (one != other and abs(one - other) > MARGIN * max(abs(one), abs(other))) or isinstance(one, int)


@settings(max_examples=size(60, 1000))
@given(data=st.data(), parameter=wide)
def test_distinct_points_stay_distinct_and_are_stored_as_they_were_observed(data, parameter):
    values = data.draw(st.lists(values_of(parameter), min_size=1, max_size=6, unique=True))
    values = [v for i, v in enumerate(values) if all(apart(v, other) for other in values[:i])]
    space = Space(x=parameter, y=Float(0, 1))
    table = Sampled(space).seeded(3)
    for value in values:
        table = table.holding({"x": value, "y": 0.5})
    for other in (table, restored(table), restored(table).seeded(3), pickle.loads(pickle.dumps(table))):
        assert [other[i]["x"] for i in range(other.rows)] == values
        assert [other.index_of(other.named_by({"x": value, "y": 0.5})) for value in values] == list(range(len(values)))
        assert len({other.number_of(i) for i in range(other.rows)}) == len(values)


@settings(max_examples=size(20, 200))
@given(parameter=wide, seed=st.integers(0, 50))
def test_points_of_the_pool_are_the_same_after_a_round_trip(parameter, seed):
    table = Sampled(Space(x=parameter, y=Float(0, 1))).seeded(seed)
    named = table.naming(list(range(0, len(table), 64)))
    again = restored(named).seeded(seed)
    assert len(again) == len(named)
    for i in range(named.rows):
        assert again[i] == named[i]
        assert again.number_of(i) == named.number_of(i)
        assert named.named_by(named[i]) == named.number_of(i)


REFUSED = {
    "below a wide range": (Float(0, 1e9), -0.9, "outside"),
    "below, by more than rounding": (Float(1 / 3, 2 / 3), 1 / 3 - 1e-10, "outside"),
    "below, on a logarithmic scale": (Float(1e-5, 1, log=True), 0.9e-5, "outside"),
    "a fraction": (Integer(1, 10**12), 7.25, "none of"),
    "half a step": (Integer(1, 10**12), 500.5, "none of"),
    "off the step": (Integer(1, 10**18, step=2), 251847321245586964, "none of"),
    "a negative number": (Integer(1, 10**12), -500, "outside"),
    "above by one": (Integer(1, 10**18), 10**18 + 1, "none of"),
    "too many digits": (Float(0, 1e9, digits=1), 5.00001, "none of"),
    "between steps": (Float(0, 1e9, step=0.5), 5.0001, "none of"),
    "not of the count": (Float(0, 1e9, count=10**9 + 1), 5.001, "none of"),
}


@pytest.mark.parametrize(("parameter", "value", "says"), REFUSED.values(), ids=REFUSED)
def test_values_that_a_parameter_does_not_have_are_refused(parameter, value, says):
    table = Sampled(Space(x=parameter, y=Float(0, 1)))
    with pytest.raises(UnknownCandidate, match=rf"x is {value}, {says} .*: give .* the nearest"):
        table.holding({"x": value, "y": 0.5})


ROUNDED = {
    "a sum": (Float(0, 1, digits=1), 0.1 + 0.2, 0.3),
    "a product": (Integer(0, 10**8), 0.1 * 30, 3),
    "above the range": (Float(0, 1), 1 + 2.3e-16, 1.0),
    "below the range": (Float(0, 1), -5.6e-17, 0.0),
    "a step": (Float(0, 1, step=1 / 3), 1 / 3, 0.3333333),
    "one of a count": (Float(0, 1, count=7), 1 / 6, 0.166666666667),
    "a minus": (Float(0, 1), -0.0, 0.0),
}


@pytest.mark.parametrize(("parameter", "given", "meant"), ROUNDED.values(), ids=ROUNDED)
def test_rounding_is_put_right(parameter, given, meant):
    table = Sampled(Space(x=parameter, y=Float(0, 1))).holding({"x": given, "y": 0.5})
    assert repr(table[0]["x"]) == repr(meant)
    assert table.holding({"x": meant, "y": 0.5}) is table
    assert table.named_by({"x": given, "y": 0.5}) == table.number_of(0)


def test_what_was_stored_by_earlier_versions_stays_readable():
    """They took numbers that are off by a little, and levels that say that there is no value."""
    old = Sampled(Space(x=Float(0, 1e9), y=Float(0, 1))).with_named([{"x": -0.9, "y": 0.5}, {"x": 5, "y": 0.5}])
    assert restored(old)[0] == {"x": -0.9, "y": 0.5}
    assert restored(old).named_by({"x": -0.9, "y": 0.5}) == old.number_of(0)
    assert packed(restored(old)).digest == packed(old).digest
    levels = Sampled(Space(c=Category.stored([None, "a"]), y=Float(0, 1))).with_named([{"c": None, "y": 0.5}])
    assert restored(levels)[0] == {"c": None, "y": 0.5}


def test_columns_that_there_are_not_are_refused():
    table = Sampled(SPACE)
    for rows in (POINT | {"zz": 1}, [POINT | {"zz": 1}]):
        with pytest.raises(UnknownCandidate, match="'zz' is none of the candidates' columns: give 'temp', "):
            table.holding(rows)
    frame = pytest.importorskip("pandas").DataFrame([POINT | {"value": 3.5}])
    assert table.holding(frame).rows == 1


@pytest.mark.parametrize("space", [SPACE, Space(ph=Integer(3, 9), kind=Category("a", "b"))], ids=["sampled", "listed"])
def test_several_rows_in_one_dict_are_refused(space):
    table, row = read_candidates(space), {name: POINT[name] for name in space.parameters} | {"ph": 7}
    for several in ([7], [7, 8], np.array([7, 8])):
        with pytest.raises(UnknownCandidate, match=r"ph is .*, which is not one value: .* a list of such dicts"):
            table.holding(row | {"ph": several}).named_by(row | {"ph": several})
    assert table.holding(row | {"ph": np.array(7.0)}).named_by(row | {"ph": np.array(7.0)}) >= 0


def test_an_index_before_there_are_any():
    with pytest.raises(UnknownCandidate, match=r"Index 0 .* no point was asked for or observed yet"):
        Sampled(SPACE).named_by(0)
