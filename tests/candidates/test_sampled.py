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


@settings(max_examples=size(8, 20))
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
    with pytest.raises(InvalidCandidates, match="allow none"):
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
