"""The certified search: what it says of the highest score is true, in memory, in plans and in studies."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato import Category, Float, Integer, Optimizer, Ordered, Space, Study
from ostinato.candidates import Sampled
from ostinato.checks import at_most
from ostinato.confidence import Bayesian
from ostinato.errors import InvalidSetting
from ostinato.kernels import RBF, Constant, Hamming, Linear, Matern12, Matern32, Matern52, RationalQuadratic
from ostinato.kernels.boxes import Boxes
from ostinato.optimizer.certified import Region, ceiling_of, certified
from ostinato.policies import BKB, GPBUCB, GPUCB, UCB, AdaptiveUCB, Combined, MiniEI, MiniMeta, MiniTS, MiniUCB
from ostinato.posterior import Posterior
from sizes import size

pytestmark = pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")
KERNELS = [
    RBF(0.3),
    Matern12(0.5),
    Matern32(0.4),
    Matern52(0.3),
    RationalQuadratic(0.4),
    Matern52(0.3) * RBF(0.5) + Constant(),
]
FLAT = Space(x=Float(0, 1), y=Float(0, 1))
GIVEN = {"kernel": Matern52(0.3), "noise_std": 0.2, "policy": MiniUCB(C=1.3, beta=2.0), "search": "certified"}


def measured(kernel, d, q, seed, noise=0.1):
    """A posterior of some random measurements, one of them of a point that was measured often."""
    rng = np.random.default_rng(seed)
    model = Posterior(rng.random((q + 2, d)), kernel, np.full(q + 2, noise**2), mean=0.5)
    for candidate in range(q):
        model.condition(candidate, 50 if candidate == 0 else 1, rng.normal())
    return model


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@settings(max_examples=size(6, 15), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.floats(-4, 0), st.sampled_from([0.0, 1.0, 3.0]))
def test_upper_bounds_over_boxes_are_bounds(kernel, seed, d, size, beta):
    rng = np.random.default_rng(seed)
    model = measured(kernel, d, int(rng.integers(1, 20)), seed, noise=10.0 ** rng.uniform(-2, 0))
    ceiling = ceiling_of(model, {0: 3.0, len(model.features) - 1: 2.0}, beta)
    low = rng.random((30, d))
    low[:3] = model.features[0]
    boxes = Boxes(low - 10.0**size * rng.random((30, d)), low + 10.0**size * rng.random((30, d)))
    upper = ceiling.over(boxes).upper
    for _ in range(30):
        points = boxes.low + rng.random((30, d)) * (boxes.high - boxes.low)
        assert (ceiling.at(points) <= upper + 1e-7).all()
    assert (ceiling.at(low) <= upper + 1e-7).all()


def test_the_score_is_that_of_the_model():
    model = measured(Matern52(0.3), 2, 12, 0)
    points = np.random.default_rng(1).random((40, 2))
    mean, variance = model.predict(points)
    assert np.allclose(ceiling_of(model, {}, 2.0).at(points), mean + 2 * np.sqrt(variance), atol=1e-8)
    ghost = model.ghost()
    ghost.add(12, 4.0)
    later = ceiling_of(model, {12: 4.0}, 1.0).at(model.features[[13]])[0] - model.predict(model.features[[13]])[0][0]
    assert later == pytest.approx(np.sqrt(ghost.variance(13)), abs=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@pytest.mark.parametrize("d", [1, 2])
def test_the_maximum_is_that_of_a_dense_grid(kernel, d):
    ceiling = ceiling_of(measured(kernel, d, 15, d), {}, 2.0)
    table = Sampled(Space({f"x{j}": Float(0, 1) for j in range(d)}))
    found = certified(ceiling, Region(table), np.full(d, 0.5))
    sides = np.linspace(0, 1, 20_001 if d == 1 else 201)
    grid = np.stack([each.ravel() for each in np.meshgrid(*[sides] * d)], axis=1)
    highest = float(np.max(ceiling.at(grid)))
    assert found.upper >= highest
    assert found.value >= highest - (found.upper - found.value)
    assert found.upper - found.value <= 1.1e-3 * np.sqrt(ceiling.variance)
    assert found.value == pytest.approx(ceiling.at(found.point[None, :])[0])


def test_nothing_measured_needs_one_box():
    opt = Optimizer(FLAT, seed=0, **GIVEN)
    assert opt.ask().reason.gap < 1e-6


def run(opt, n, seed=0):
    rng, gaps = np.random.default_rng(seed), []
    while opt.steps < n:
        batch = opt.ask(limit=n - opt.steps)
        gaps.append(batch.reason.gap)
        opt.tell(batch, float(np.sin(7 * batch.candidate["x"])) + 0.2 * rng.standard_normal(batch.repeats))
    return gaps


def test_a_run_says_how_near_it_came():
    opt = Optimizer(FLAT, seed=0, **GIVEN)
    gaps = run(opt, 60)
    assert max(gaps) < 2e-3
    batch = opt.ask()
    score = opt.predict([batch.candidate])
    many = np.random.default_rng(0).random((20_000, 2))
    others = opt.predict([{"x": float(x), "y": float(y)} for x, y in many])
    gap = opt.explain(batch).numbers.gap
    assert np.max(others.mean + 2 * others.std) <= score.mean[0] + 2 * score.std[0] + gap
    assert f"within {at_most(gap)} of the highest of the whole space" in str(opt.explain(batch))
    certificate = opt.certificate
    assert certificate.certified == len(gaps) + 1
    assert certificate.gap == max(*gaps, gap)
    assert certificate.total_gap >= sum(gaps)
    assert "of the highest of the space, and bounds on regret grow by" in str(certificate)
    assert str(pickle.loads(pickle.dumps(opt)).certificate) == str(certificate)


def test_the_sampled_search_says_that_it_is_approximate():
    opt = Optimizer(FLAT, seed=0, **GIVEN | {"search": "sampled"})
    run(opt, 20)
    batch = opt.ask()
    assert batch.reason.gap is None
    assert "another may score higher" in str(opt.explain(batch))
    assert "approximate: regret stays sublinear if" in str(opt.certificate)


def test_points_keep_to_the_space():
    space = Space(
        x=Float(0, 10, digits=1),
        n=Integer(1, 7),
        rate=Float(0.001, 1, log=True),
        kind=Category("a", "b", "c"),
    ).where(lambda c: c["x"] + c["n"] < 9 and (c["kind"] != "c" or c["n"] > 2))
    kernel = RBF((3.0, 2.0, 1.0), std=2.0).on("x", "n", "rate") * Hamming().on("kind")
    opt = Optimizer(space, seed=0, **GIVEN | {"kernel": kernel})
    rng = np.random.default_rng(0)
    for _ in range(6):
        batch = opt.ask(limit=5)
        c = batch.candidate
        assert c["x"] == round(c["x"], 1)
        assert c["n"] in range(1, 8)
        assert space.allows(c)
        assert batch.reason.gap is not None
        opt.tell(batch, c["x"] - (c["kind"] == "a") + rng.standard_normal(batch.repeats))


def test_columns_of_few_values_are_searched_to_the_end():
    """Without continuous ranges there is nothing between two values: the gap closes to rounding."""
    space = Space(x=Float(0, 10, step=0.001), y=Float(0, 10, step=0.001), g=Ordered("low", "high"))
    opt = Optimizer(space, seed=0, **GIVEN | {"kernel": RBF((1.0, 1.0, 1.0))})
    assert opt.candidates is None
    opt.observe({"x": 5.0, "y": 5.0, "g": "low"}, [3.0])
    assert opt.ask().reason.gap < 2e-3


def test_points_that_are_retired_are_not_asked_for():
    opt = Optimizer(FLAT, seed=0, **GIVEN)
    run(opt, 20)
    first = opt.ask()
    opt.close(first)
    opt.retire(first.candidate)
    second = opt.ask()
    assert second.candidate != first.candidate
    assert second.reason.gap < 5e-3


def test_every_batch_of_a_plan_is_certified_but_those_that_share_columns():
    opt = Optimizer(FLAT, seed=0, **GIVEN)
    run(opt, 20)
    plan = opt.ask(slots=6, distinct=True)
    assert max(batch.reason.gap for batch in plan) < 5e-3
    shared = Optimizer(FLAT, seed=0, **GIVEN)
    run(shared, 20)
    batches = list(shared.ask(slots=4, distinct=True, shared=["x"]))
    assert len({batch.candidate["x"] for batch in batches}) == 1
    assert [batch.reason.gap is None for batch in batches].count(False) == 1


@pytest.mark.parametrize("policy", [GPUCB(beta=Bayesian()), AdaptiveUCB(), Combined(UCB(2.0), MiniMeta(1.2))], ids=repr)
def test_policies_that_score_by_upper_confidence_bounds_are_certified(policy):
    opt = Optimizer(FLAT, seed=0, direction="minimize", **GIVEN | {"policy": policy})
    assert max(run(opt, 6)) < 5e-3


REFUSED = {
    "unknown": (FLAT, {"search": "exact"}, "search='exact' is unknown: give 'sampled' or 'certified'"),
    "table": (np.eye(3), {}, "cannot be listed.*leave out search"),
    "kernel learned": (FLAT, {"kernel": None}, "kernel would be: give kernel=, or leave out search"),
    "noise learned": (FLAT, {"noise_std": None}, "noise_std would be: give noise_std="),
    "set-ups learned": (FLAT, {"setup_std": "learn"}, "setup_std would be"),
    "outcome": (FLAT, {"outcome": "count", "noise_std": None}, "outcome='count'"),
    "EI": (FLAT, {"policy": MiniEI()}, "upper confidence bounds, and the policy is MiniEI"),
    "goal": (FLAT, {"policy": None}, "the policy is Find.*give policy=MiniUCB"),
    "TS": (FLAT, {"policy": MiniTS()}, "upper confidence"),
    "rounds": (FLAT, {"policy": GPBUCB()}, "upper confidence"),
    "sparse": (FLAT, {"policy": BKB()}, "upper confidence"),
    "linear": (FLAT, {"kernel": Linear()}, "stationary kernel, and kernel=Linear"),
    "own kernel": (FLAT, {"kernel": lambda X, Y: X @ Y.T}, "stationary kernel"),
    "columns": (Space({f"x{j}": Float(0, 1) for j in range(5)}), {}, "at most 4 columns, and the space has 5"),
    "levels": (Space(x=Float(0, 1), a=Category(*range(30)), b=Category(*range(30))), {}, "at most 512 comb.* 900"),
    "depends": (Space(a=Category("u", "v"), x=Float(0, 1).when(a="u")), {}, "depends on others, as 'x' does"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_where_nothing_can_be_certified_it_says_why(name):
    candidates, others, message = REFUSED[name]
    with pytest.raises(InvalidSetting, match=message):
        Optimizer(candidates, **GIVEN | others)


def test_a_study_keeps_the_gaps(tmp_path):
    address = str(tmp_path / "lab.db")
    study = Study("lab", address, FLAT, seed=0, **GIVEN)
    rng = np.random.default_rng(0)
    for _ in range(5):
        task = study.ask()
        study.tell(
            task, [float(np.sin(7 * task.candidate["x"])) + 0.2 * rng.standard_normal() for _ in range(task.repeats)]
        )
    said = study.explain(0)
    assert said.numbers.gap is not None
    assert "of the highest of the whole space" in str(said)
    here, again = study.optimizer.certificate, Study("lab", address).optimizer.certificate
    assert here.certified == again.certified > 0
    assert str(here) == str(again)


@pytest.mark.parametrize(
    ("value", "said"), [(0.0, "0"), (0.00301, "0.0031"), (0.003, "0.003"), (0.29, "0.29"), (123.4, "130"), (9.99, "10")]
)
def test_bounds_are_rounded_up(value, said):
    assert at_most(value) == said
