"""A space of named parameters enumerates to a table, in the user's own types."""

import numpy as np
import pytest

from ostinato import Category, Float, Integer, Optimizer, Ordered, Space
from ostinato.candidates import read_candidates
from ostinato.errors import InvalidCandidates, InvalidSetting, UnknownCandidate


def test_enumerates_every_combination_the_last_parameter_fastest():
    table = Space(n=Integer(1, 3), solvent=Category("water", "oil")).enumerate()
    assert list(table) == [
        {"n": 1, "solvent": "water"},
        {"n": 1, "solvent": "oil"},
        {"n": 2, "solvent": "water"},
        {"n": 2, "solvent": "oil"},
        {"n": 3, "solvent": "water"},
        {"n": 3, "solvent": "oil"},
    ]


def test_floats_step_to_the_numbers_that_were_meant():
    assert Float(0, 0.5, step=0.1).values == (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
    assert Float(20, 80, step=25).values == (20.0, 45.0, 70.0)
    assert Float(-5, 5, count=3).values == (-5.0, 0.0, 5.0)
    assert Float(0, np.pi, count=3).values == (0.0, np.pi / 2, np.pi)
    assert len(set(Float(1e6, 1e6 + 1e-5, step=1e-7).values)) >= 100
    assert Integer(1, 10, step=4).values == (1, 5, 9)


def test_ordered_levels_become_ranks_and_categories_codes():
    candidates = read_candidates(Space(grade=Ordered("low", "mid", "high"), solvent=Category("water", "oil")))
    assert [column.kind for column in candidates.columns] == ["number", "category"]
    assert candidates.features[:, 0].tolist() == [0, 0, 1, 1, 2, 2]


def test_constraints_are_predicates_and_can_be_stacked():
    space = Space(x=Integer(1, 4), y=Integer(1, 4)).where(lambda c: c["x"] < c["y"]).where(lambda c: c["y"] < 4)
    assert [tuple(c.values()) for c in space.enumerate()] == [(1, 2), (1, 3), (2, 3)]


def test_candidates_keep_their_types():
    candidates = read_candidates(Space(x=Float(0, 1, step=0.5), n=Integer(1, 2), on=Category(True, False)))
    assert candidates[1] == {"x": 0.0, "n": 1, "on": False}
    assert [type(value) for value in candidates[1].values()] == [float, int, bool]
    assert candidates.named_by({"n": 2, "x": 0.5, "on": True}) == 6
    with pytest.raises(UnknownCandidate, match="no level 'maybe'"):
        candidates.named_by({"n": 2, "x": 0.5, "on": "maybe"})


@pytest.mark.parametrize(
    "make",
    [
        lambda: Float(0, 1, step=0),
        lambda: Float(1, 0, step=0.1),
        lambda: Float(0, np.inf, step=1),
        lambda: Float(0, 1, count=1),
        lambda: Integer(0, 1, step=0),
        lambda: Integer(0.5, 2),
        lambda: Category(),
        lambda: Ordered("a", "a"),
        lambda: Space(x=3),
    ],
)
def test_parameters_out_of_range_are_refused(make):
    with pytest.raises(InvalidSetting):
        make()


def test_spaces_that_cannot_be_listed_are_not():
    for parameter in (Float(0, 1, step=1e-10), Integer(0, 10**12)):  # at once, before any value is made
        with pytest.raises(InvalidCandidates, match="can be listed"):
            Space(x=parameter).enumerate()
    with pytest.raises(InvalidSetting, match="not a predicate"):
        Space(x=Integer(1, 3)).where("x > 2")
    with pytest.raises(InvalidCandidates, match="no parameter"):
        Space()
    with pytest.raises(InvalidCandidates, match="1,000,000,000 combinations"):
        Space(**{name: Integer(1, 1000) for name in "abc"}).enumerate()
    with pytest.raises(InvalidCandidates, match="none of the space's 3"):
        Space(x=Integer(1, 3)).where(lambda c: False).enumerate()


CONDITIONAL = Space(
    solver=Category("sgd", "adam"),
    momentum=Float(0, 1, step=0.5).when(solver="sgd"),
    nesterov=Category(True, False).when(momentum=[0.5, 1.0]),
)


def test_a_parameter_that_depends_on_another_is_none_elsewhere():
    assert list(CONDITIONAL.enumerate()) == [
        {"solver": "sgd", "momentum": 0.0, "nesterov": None},
        {"solver": "sgd", "momentum": 0.5, "nesterov": True},
        {"solver": "sgd", "momentum": 0.5, "nesterov": False},
        {"solver": "sgd", "momentum": 1.0, "nesterov": True},
        {"solver": "sgd", "momentum": 1.0, "nesterov": False},
        {"solver": "adam", "momentum": None, "nesterov": None},
    ]
    candidates = read_candidates(CONDITIONAL)
    assert len(candidates) == 6
    assert candidates.named_by({"solver": "adam"}) == 5
    assert candidates.features[5] == pytest.approx([1.0, 0.5, 2.0], abs=1e-3)
    with pytest.raises(UnknownCandidate, match="not among"):
        candidates.named_by({"solver": "sgd"})  # momentum is missing, and nothing is put in its place
    assert candidates.features[:, 2].tolist() == [2.0, 0.0, 1.0, 0.0, 1.0, 2.0]


def test_a_parameter_that_there_is_not_has_no_influence():
    opt = Optimizer(CONDITIONAL, seed=0)
    opt.observe({"solver": "adam"}, [1.0, 2.0])
    opt.observe({"solver": "adam", "momentum": None}, [3.0])
    assert opt.unique == 1
    assert opt.best().candidate == {"solver": "adam", "momentum": None, "nesterov": None}


def test_conditions_name_parameters_that_come_before():
    with pytest.raises(InvalidSetting, match="given before it"):
        Space(momentum=Float(0, 1).when(solver="sgd"), solver=Category("sgd", "adam"))
    with pytest.raises(InvalidSetting, match=r"'momentum' .* 'solver' .* never 'rmsprop'"):
        Space(solver=Category("sgd", "adam"), momentum=Float(0, 1).when(solver="rmsprop"))
    with pytest.raises(InvalidSetting, match="never 7"):
        Space(n=Integer(1, 3), a=Float(0, 1).when(n=7))
    with pytest.raises(InvalidSetting, match="never '1': give values of Integer"):
        Space(n=Integer(1, 3), a=Float(0, 1).when(n="1"))
    with pytest.raises(InvalidSetting, match=r"any number of a range: give it steps"):
        Space(x=Float(0, 1), a=Float(0, 1).when(x=0.5))
    with pytest.raises(InvalidSetting, match=r"says twice when it is there: give all values of n at once"):
        Float(0, 1).when(n=1).when(n=2)
    both = Float(0, 1).when(solver="sgd").when(kind=["x", "y"])
    assert both.conditions == {"solver": ("sgd",), "kind": ("x", "y")}
    with pytest.raises(InvalidSetting, match="names no value"):
        Float(0, 1).when()


@pytest.mark.parametrize("more", [{}, {"x": Float(0, 1)}], ids=["listed", "not listed"])
@pytest.mark.parametrize("step", [Float(0, 1, count=7), Float(0, 1, digits=1), Float(0, 0.5, step=0.1)], ids=repr)
def test_conditions_are_met_but_for_rounding(step, more):
    """One of a count has all its digits in a space that is listed, and twelve in one that is not."""
    value = 1 / 6 if step.count else 0.1 + 0.2
    table = read_candidates(Space(step=step, a=Category("p", "q").when(step=value), **more))
    table = table.seeded(0) if more else table
    rows = [table.point(number) for number in range(min(len(table), 500))]
    there = {row["step"] for row in rows if row["a"] is not None}
    assert [pytest.approx(value)] == list(there)


def test_what_is_no_parameter_is_refused():
    with pytest.raises(InvalidSetting, match="which is not a parameter"):
        Space(x=Float)
    with pytest.raises(InvalidSetting, match=r"has no names: give them"):
        Space([Float(0, 1)])
    with pytest.raises(InvalidCandidates, match=r"any number of combinations, .*: give it to an Optimizer"):
        len(Space(x=Float(0, 1)))


@pytest.mark.parametrize("more", [{}, {"y": Float(0, 1)}], ids=["listed", "not listed"])
def test_what_goes_wrong_in_a_constraint_names_the_candidate(more):
    space = Space(s=Category("a", "b"), x=Integer(1, 9).when(s="a"), **more)
    with pytest.raises(TypeError) as caught:
        Optimizer(space.where(lambda c: c["x"] < 5), seed=0)
    assert "'x': None" in caught.value.__notes__[0]
    assert "A parameter that there is not is None" in caught.value.__notes__[0]


def test_constraints_cannot_change_a_candidate():
    space = Space(x=Integer(1, 3), y=Integer(1, 3)).where(lambda c: c.pop("x") < 3).where(lambda c: c["x"] > 1)
    assert [c["x"] for c in space.enumerate()] == [2, 2, 2]


def test_reads_well():
    assert repr(Float(0, 1, log=False, digits=2).when(solver="sgd")) == "Float(0, 1, digits=2).when(solver='sgd')"
    assert repr(Space(x=Integer(1, 2), s=Category("a")).where(bool)) == (
        "Space(x=Integer(1, 2), s=Category('a')).where(…)"
    )


def test_names_that_are_no_python_names():
    space = Space({"temp (°C)": Float(20, 40, step=10)}, ph=Integer(4, 5)).where(lambda c: c["temp (°C)"] > 20)
    assert next(iter(space.enumerate())) == {"temp (°C)": 30.0, "ph": 4}


def test_decades():
    assert Float(1e-3, 10, count=5, log=True).values == (1e-3, 1e-2, 0.1, 1.0, 10.0)
    for wrong in ({"count": 5, "low": 0.0}, {"step": 0.1, "low": 0.1}):
        with pytest.raises(InvalidSetting, match="log=True"):
            Float(high=10.0, log=True, **wrong)
