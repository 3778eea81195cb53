"""Optimising over a space that cannot be listed: batches, repeats, plans and answers are those of a table."""

import pickle

import numpy as np
import pytest

from inside import next_batch
from ostinato import Category, Float, Integer, Optimizer, Ordered, Space
from ostinato.candidates import Sampled
from ostinato.errors import InvalidCandidates, InvalidFeedback, InvalidSetting, UnknownCandidate
from ostinato.kernels import RBF
from ostinato.optimizer.search import Climber, search
from ostinato.policies import BKB, GPBUCB, MiniTS, MiniUCB, Uniform
from sizes import size

SPACE = Space(x=Float(0, 1), y=Float(0.001, 10, log=True), kind=Category("a", "b", "c"))
GIVEN = {"kernel": RBF(0.3), "noise_std": 0.1}
FLAT = Space(x=Float(0, 1), y=Float(0, 1))


pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")


def truth(c):
    return -10 * (c["x"] - 0.3) ** 2 - (np.log10(c["y"]) + 1) ** 2 + (c["kind"] == "b")


def run(opt, f, n, rng, noise=0.1):
    while opt.steps < n:
        batch = opt.ask(limit=n - opt.steps)
        opt.tell(batch, f(batch.candidate) + noise * rng.standard_normal(batch.repeats))
    return opt


def test_it_finds_the_best_point_of_a_mixed_space():
    opt = run(Optimizer(SPACE, seed=1, budget=120), truth, 120, np.random.default_rng(0))
    best = opt.best()
    assert truth(best.candidate) > 0.9
    assert opt.unique < 120
    assert best.candidate["kind"] == "b"


@pytest.mark.parametrize(
    "policy", [MiniUCB(C=1.3), MiniTS(C=1.3), GPBUCB(C=1.5), BKB(), Uniform()], ids=lambda p: type(p).__name__
)
def test_every_policy_takes_a_space(policy):
    opt = Optimizer(FLAT, policy=policy, seed=0, **GIVEN)
    run(opt, lambda c: -((c["x"] - 0.3) ** 2) - (c["y"] - 0.6) ** 2, 40, np.random.default_rng(0))
    assert opt.steps == 40
    assert 0 <= opt.best().candidate["x"] <= 1


def test_the_search_beats_the_pool():
    """The point that is asked for scores better than any of a hundred thousand others."""
    opt = Optimizer(FLAT, policy=MiniUCB(C=1.3, beta=2.0), seed=0, **GIVEN)
    run(opt, lambda c: -((c["x"] - 0.3) ** 2) - (c["y"] - 0.6) ** 2, 60, np.random.default_rng(0))
    asked = next_batch(opt).candidate
    points = np.random.default_rng(1).random((100_000, 2))
    many = opt.predict([{"x": float(x), "y": float(y)} for x, y in points[:20_000]])
    one = opt.predict([asked])
    assert one.mean[0] + 2 * one.std[0] >= np.max(many.mean + 2 * many.std) - 1e-4


def test_a_search_climbs_to_the_top():
    table = Sampled(Space({f"x{j}": Float(0, 1) for j in range(5)} | {"kind": Category("a", "b", "c")})).seeded(0)

    def score(features):
        return -np.sum((features[:, :5] - 0.37) ** 2, axis=1) + (features[:, 5] == 2)

    found, looked_at = search(table, lambda more: score(np.concatenate([table.features, more])))
    assert looked_at > len(table)
    assert score(found[None, :])[0] > 1 - 1e-3
    assert score(found[None, :])[0] > score(table.features).max()


def test_a_point_that_is_scored_again_is_no_gain():
    """Its score may be off by rounding, and differently in another process: the next step is smaller in both."""
    table = Sampled(FLAT).seeded(0)
    steps = []
    for rounding in (0.0, 1e-15):
        climber = Climber(table, 0, 0.25)
        climber.take_scores(np.stack([climber.point] * 4), np.full(4, 0.25 * (1 + rounding)))
        climber.settle()
        steps.append(climber._step)
    assert steps[0] == steps[1] < 0.1


def test_repeats_go_to_exactly_the_same_point():
    opt = run(Optimizer(SPACE, seed=0), truth, 100, np.random.default_rng(0), noise=1.0)
    counts = opt.counts()
    assert max(counts.values()) > 1
    assert sum(counts.values()) == 100
    assert set(counts) <= set(range(opt.unique))


def test_any_point_can_be_observed():
    opt = Optimizer(SPACE, seed=0)
    point = {"x": 0.123456789, "y": 0.5, "kind": "c"}
    opt.observe(point, [1.0, 1.2])
    opt.observe(point, [1.1])
    assert opt.unique == 1
    assert opt.best().candidate == point
    opt.observe([point, point | {"x": 0.9}], [1.0, 2.0])
    assert opt.counts() == {0: 4, 1: 1}
    with pytest.raises(InvalidCandidates, match="all its points"):
        opt.add([point])


def test_points_can_be_retired_and_values_corrected():
    opt = run(Optimizer(SPACE, seed=0), truth, 30, np.random.default_rng(0))
    best = opt.best().candidate
    opt.retire(best)
    assert opt.best().candidate != best
    opt.restore(best)
    assert opt.best().candidate == best
    opt.observe({"x": 0.5, "y": 1.0, "kind": "a"}, [125.0])
    opt.correct({"x": 0.5, "y": 1.0, "kind": "a"}, 125.0, 0.5)
    assert opt.best().candidate == best


def test_noise_of_each_candidate_needs_candidates_that_can_be_listed():
    for noise_std in ("varying", [0.1, 0.2]):
        with pytest.raises(InvalidSetting, match="can be listed"):
            Optimizer(SPACE, noise_std=noise_std)


def test_what_is_asked_for_is_explained_as_found_by_a_search():
    opt = run(Optimizer(FLAT, policy=MiniUCB(C=1.3), seed=0, **GIVEN), lambda c: c["x"], 40, np.random.default_rng(0))
    batch = opt.ask()
    assert opt.explain(batch).numbers.searched > 2048
    assert "search of the space" in str(opt.certificate)
    assert opt.candidates is None


def test_plans_are_of_different_points():
    opt = run(Optimizer(SPACE, seed=0), truth, 30, np.random.default_rng(0))
    plan = opt.ask(slots=8, distinct=True)
    assert len({tuple(batch.candidate.values()) for batch in plan}) == 8
    for batch in plan:
        opt.tell(batch, [truth(batch.candidate)] * batch.repeats)
    assert opt.steps == 38


def test_looking_changes_nothing_and_a_copy_goes_on_alike():
    opt = run(Optimizer(SPACE, seed=3), truth, 40, np.random.default_rng(0))
    copy = pickle.loads(pickle.dumps(opt))
    opt.best(), opt.predict(), opt.top(), next_batch(opt), repr(opt)
    for _ in range(5):
        a, b = opt.ask(), copy.ask()
        assert (a.index, a.candidate, a.repeats) == (b.index, b.candidate, b.repeats)
        for each, batch in ((opt, a), (copy, b)):
            each.tell(batch, [truth(batch.candidate)] * batch.repeats)


def test_constraints_rule_out_what_the_search_finds():
    space = FLAT.where(lambda c: c["x"] + c["y"] < 0.8)
    opt = Optimizer(space, seed=0)
    run(opt, lambda c: c["x"] + 2 * c["y"], 60, np.random.default_rng(0))
    assert all(opt.core.problem.table[i]["x"] + opt.core.problem.table[i]["y"] < 0.8 for i in opt.counts())


def test_the_best_may_lie_on_a_constraint():
    """The search stays within what is allowed, and so it finds what a narrower range would find."""
    six = {f"x{j}": Float(0, 1) for j in range(6)}
    narrowed, narrow = Space(six).where(lambda c: c["x5"] <= 0.5), Space(six | {"x5": Float(0, 0.5)})

    def hill(c):
        return c["x5"] - sum((c[name] - 0.5) ** 2 for name in six)

    best = []
    for space in (narrowed, narrow):
        opt = Optimizer(space, policy=MiniUCB(C=1.3, beta=1.0), kernel=RBF(0.6), noise_std=0.01, seed=0)
        run(opt, hill, 80, np.random.default_rng(0), noise=0.01)
        best.append(hill(opt.best().candidate))
    assert best[0] > 0.46
    assert best[1] > 0.46


def test_few_points_that_are_allowed_are_found():
    space = FLAT.where(lambda c: abs(c["x"] - 0.5) < 0.02 and abs(c["y"] - 0.5) < 0.1)
    opt = run(Optimizer(space, seed=0), lambda c: c["y"], 20, np.random.default_rng(0), noise=0.001)
    assert opt.unique > 5
    assert opt.best().candidate["y"] > 0.57


@pytest.mark.parametrize("t", [Float(0, 1), Float(0, 100, step=25)])
@pytest.mark.parametrize("settings", [{}, GIVEN | {"policy": BKB()}], ids=["find", "BKB"])
def test_a_plan_shares_columns_of_a_space(t, settings):
    opt = run(
        Optimizer(Space(t=t, x=Float(0, 1)), seed=0, **settings),
        lambda c: c["x"] - c["t"],
        12,
        np.random.default_rng(0),
    )
    plan = opt.ask(slots=6, shared=["t"], distinct=True)
    assert len({batch.candidate["t"] for batch in plan}) == 1
    assert len({batch.candidate["x"] for batch in plan}) == 6


def test_values_that_the_space_does_not_have_are_refused():
    opt = Optimizer(Space(n=Integer(1, 10**8), t=Float(20, 80, step=5)), seed=0)
    opt.observe({"n": np.int64(3), "t": 20.000000000000004}, [1.0])
    opt.observe({"n": 3.0, "t": 20}, [1.0])
    assert opt.best().candidate == {"n": 3, "t": 20.0}
    for wrong in ({"n": 2.5, "t": 20}, {"n": 2, "t": 22.3}):
        with pytest.raises(UnknownCandidate, match="none of"):
            opt.observe(wrong, [1.0])
    with pytest.raises(InvalidFeedback):
        opt.observe({"n": 7, "t": 25}, ["abc"])
    assert opt.unique == 1
    assert opt.core.problem.table.rows == 1


def test_what_is_absent_may_be_left_out_of_some_rows():
    space = Space(solver=Category("sgd", "adam"), rate=Float(0, 1), momentum=Float(0, 1).when(solver="sgd"))
    opt = Optimizer(space, seed=0)
    rows = [{"solver": "sgd", "rate": 0.5, "momentum": 0.9}, {"solver": "adam", "rate": 0.5}]
    opt.observe(rows, [1.0, 2.0])
    assert opt.best().candidate == {"solver": "adam", "rate": 0.5, "momentum": None}
    assert len(opt.predict(rows)) == 2
    with pytest.raises(UnknownCandidate, match="give a value"):
        opt.observe({"solver": "sgd", "rate": 0.1}, [1.0])
    with pytest.raises(UnknownCandidate, match="leave it out"):
        opt.observe({"solver": "adam", "rate": 0.1, "momentum": 0.5}, [1.0])


def test_many_measurements_do_not_make_a_large_pool():
    opt = Optimizer(FLAT, seed=0)
    opt.observe({"x": 0.5, "y": 0.5}, n=10**7, mean=1.0, std=0.5)
    opt.ask()
    assert len(opt.core.problem.table) < 5_000


def test_listed_spaces_with_constraints_can_be_pickled():
    opt = Optimizer(Space(x=Integer(1, 9), y=Integer(1, 9)).where(lambda c: c["x"] < c["y"]), seed=0)
    assert pickle.loads(pickle.dumps(opt)).ask().candidate == opt.ask().candidate


def test_switching_has_a_cost_in_a_space_too():
    opt = Optimizer(FLAT, switch_cost={"x": 20, "y": 1}, seed=0)
    run(opt, lambda c: c["x"] - c["y"], 60, np.random.default_rng(0))
    assert opt.costs.switches == opt.switches
    free = run(Optimizer(FLAT, seed=0), lambda c: c["x"] - c["y"], 60, np.random.default_rng(0))
    assert opt.switches <= free.switches


def test_large_spaces_of_whole_numbers_are_searched():
    space = Space(a=Integer(1, 10**6), b=Integer(1, 10**6))
    opt = Optimizer(space, seed=0)
    run(opt, lambda c: -(((c["a"] - 3e5) / 1e6) ** 2) - ((c["b"] - 7e5) / 1e6) ** 2, 80, np.random.default_rng(0), 0.01)
    best = opt.best().candidate
    assert isinstance(best["a"], int)
    assert abs(best["a"] - 3e5) < 2e5


LARGE = Space(a=Float(0, 1, count=40), b=Float(0, 1, count=60), c=Category("xyz"), d=Float(1e-3, 1, count=6, log=True))


@pytest.mark.parametrize(
    "space", [LARGE, LARGE.where(lambda row: row["a"] + row["b"] < 1.2)], ids=["full", "constrained"]
)
def test_a_large_grid_serves_by_default_and_changes_no_decision(space):
    """The learned kernel splits over columns, so that the grid's structure is used; in blocks it is not."""

    def choices(**settings):
        opt, rng, found = Optimizer(space, budget=40, seed=3, **settings), np.random.default_rng(0), []
        while opt.steps < 40:
            batch = opt.ask()
            row = batch.candidate
            value = np.sin(5 * row["a"]) - (row["b"] - 0.4) ** 2 + 0.3 * (row["c"] == "y") + 0.1 * np.log10(row["d"])
            opt.tell(batch, value + 0.05 * rng.standard_normal(batch.repeats))
            found.append((batch.index, batch.repeats))
        return found, opt.best(), opt.learned.lengthscales

    with_grid, without = choices(), choices(block_size=9_000)
    assert with_grid[0] == without[0]
    assert with_grid[1].mean == pytest.approx(without[1].mean)
    assert with_grid[1].chance == pytest.approx(without[1].chance, abs=1e-6)
    assert set(with_grid[2]) == set("abcd")


def test_points_that_contradict_the_space_are_not_predicted():
    space = Space(solver=Category("sgd", "adam"), rate=Float(0, 1), momentum=Float(0, 1).when(solver="sgd"))
    opt = Optimizer(space, seed=1)
    sgd, adam = {"solver": "sgd", "rate": 0.5, "momentum": 0.9}, {"solver": "adam", "rate": 0.5}
    opt.observe([sgd, adam], [1.0, 2.0])
    assert len(opt.predict([sgd | {"momentum": 0.1}, adam | {"rate": 0.1}])) == 2
    with pytest.raises(UnknownCandidate, match=r"momentum has a value .* in point 1, .*: leave it out"):
        opt.predict([sgd, adam | {"momentum": 0.5}])
    with pytest.raises(UnknownCandidate, match=r"momentum is missing in point 0, .*: give a value"):
        opt.sample(points=[{"solver": "sgd", "rate": 0.1}])


def test_what_is_observed_is_what_is_recommended():
    opt = Optimizer(Space(rate=Float(0, 1e9), n=Integer(1, 10**18)), seed=0)
    rates = [1.0, 0.25, 1.0000001]
    opt.observe([{"rate": rate, "n": 251847321245586964} for rate in rates], [1.0, 2.0, 9.0])
    assert opt.unique == 3
    assert [opt.core.problem.table[i] for i in range(3)] == [{"rate": r, "n": 251847321245586964} for r in rates]
    opt.tell(opt.ask(limit=1), [1.0])


def test_points_whose_features_are_the_same_are_two_points():
    opt = Optimizer(Space(n=Integer(1, 10**18), y=Float(0, 1)), seed=0)
    opt.observe([{"n": 10**17 + i, "y": 0.5} for i in range(3)], [1.0, 2.0, 3.0])
    opt.observe({"n": 10**17 + 1, "y": 0.5}, [2.1])
    assert opt.unique == 3
    assert list(opt.counts().values()) == [1, 2, 1]
    assert len({batch.index for batch in opt.ask(slots=3)} | {0, 1, 2}) > 3


SWITCHED = Space(sv=Category("w", "e"), m=Float(0, 1).when(sv="e"), y=Float(0, 1))
LISTED = Space(sv=Category("w", "e"), m=Float(0, 1, digits=5).when(sv="e"), y=Ordered(1, 2))


@pytest.mark.parametrize("space", [SWITCHED, LISTED], ids=["sampled", "listed"])
def test_no_value_is_like_none_but_no_value_in_a_plan(space):
    opt, absent = Optimizer(space, seed=2), set()
    opt.observe({"sv": "e", "m": 0.50003, "y": 1}, [1.0])
    for _ in range(size(3, 10)):
        plan = opt.ask(slots=12, shared=["m"])
        assert len({batch.candidate["m"] for batch in plan}) == 1
        absent.add(plan[0].candidate["m"] is None)
        for batch in plan:
            good = (batch.candidate["sv"] == "w") + batch.candidate["y"]
            opt.tell(batch, good + 0.1 * np.arange(batch.repeats))
    assert True in absent


def test_candidates_are_alike_where_they_have_the_same_values():
    for space in (SWITCHED, LISTED):
        table = Optimizer(space, seed=0).core.problem.table
        table = table.holding([{"sv": "w", "y": 1}, {"sv": "w", "y": 2 if space is LISTED else 0}])
        table = table.holding(
            [{"sv": "e", "m": 0.50003, "y": 1}, {"sv": "e", "m": 0.50003, "y": 0 if space is SWITCHED else 2}]
        )
        rows = [{"sv": "w", "y": 1}, {"sv": "e", "m": 0.50003, "y": 1}]
        gone, there = (table.named_by(row) for row in rows)
        assert not table.alike(gone, [1])[there]
        assert not table.alike(there, [1])[gone]
        assert {table.point(number)["m"] for number in np.flatnonzero(table.alike(gone, [1])).tolist()} == {None}
        assert {table.point(number)["m"] for number in np.flatnonzero(table.alike(there, [1])).tolist()} == {0.50003}


def test_every_value_of_a_parameter_that_may_be_absent_is_predicted():
    for m, value in ((Float(0, 1), 0.50003), (Integer(0, 100_000), 50_003)):
        opt = Optimizer(Space(sv=Category("w", "e"), m=m.when(sv="e"), y=Float(0, 1)), seed=0)
        point = {"sv": "e", "m": value, "y": 0.2}
        opt.observe([point, {"sv": "w", "y": 0.2}], [1.0, 2.0])
        assert len(opt.predict([point, {"sv": "w", "y": 0.2}, {"sv": "w", "m": float("nan"), "y": 0.2}])) == 3
        with pytest.raises(UnknownCandidate, match="m has a value where there is no such parameter in point 0"):
            opt.predict([point | {"sv": "w"}])
        with pytest.raises(UnknownCandidate, match="m is missing in point 0"):
            opt.predict([{"sv": "e", "y": 0.2}])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_tight_constraints_say_nothing_of_nan():
    space = FLAT.where(lambda c: abs(c["x"] - 0.5) < 1e-5)
    opt = Optimizer(space, seed=0)
    run(opt, lambda c: c["y"], 8, np.random.default_rng(0))
    assert opt.steps == 8


def test_a_name_that_is_mistyped_is_refused():
    opt = Optimizer(Space(solver=Category("sgd", "adam"), momentum=Float(0, 1).when(solver="sgd"), r=Float(0, 1)))
    with pytest.raises(UnknownCandidate, match="'momentun' is none of the candidates' columns"):
        opt.observe({"solver": "adam", "momentun": 0.5, "r": 0.1}, [1.0])
    with pytest.raises(UnknownCandidate, match="'zz' is none"):
        opt.predict([{"solver": "adam", "r": 0.1, "zz": 1}])
