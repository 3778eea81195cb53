"""Studies over spaces that cannot be listed."""

from concurrent.futures import ThreadPoolExecutor
from datetime import date

import numpy as np
import pytest

from inside import next_batch
from ostinato import Category, Float, Integer, Ordered, Space, Study
from ostinato.errors import InvalidCandidates, InvalidFeedback, InvalidSetting, StudyDiffers, UnknownCandidate
from ostinato.kernels import RBF, Matern52
from ostinato.policies import BKB, GPBUCB, MiniUCB
from ostinato.service.routes.measurements import csv_chunks

SPACE = Space(x=Float(0, 1), y=Float(0.001, 10, log=True), kind=Category("a", "b"))


def truth(c):
    return -10 * (c["x"] - 0.3) ** 2 - (np.log10(c["y"]) + 1) ** 2 + (c["kind"] == "b")


@pytest.mark.filterwarnings("ignore::ostinato.errors.OstinatoWarning")
@pytest.mark.parametrize(
    "settings",
    [{}, {"robust": True}, {"outcome": "count"}]
    + [{"kernel": RBF(0.3), "noise_std": 0.3, "policy": policy} for policy in (GPBUCB(C=2.0), BKB(oversampling=0.3))],
    ids=["learned", "robust", "count", "GP-BUCB", "BKB"],
)
def test_two_processes_and_a_newcomer_decide_alike(tmp_path, settings):
    path, rng = tmp_path / "lab.db", np.random.default_rng(0)
    studies = [Study("lab", path, SPACE, seed=0, **settings), Study("lab", path)]
    for step in range(12):
        study = studies[step % 2]
        task = study.ask(limit=4)
        values = truth(task.candidate) + 0.1 * rng.standard_normal(task.repeats)
        study.tell(task, np.maximum(0, np.round(5 + values)) if settings.get("outcome") else values)
        if step == 7:
            study.observe({"x": 0.5, "y": 0.1, "kind": "b"}, [5.0])
        follower, newcomer = study.optimizer, Study("lab", path).optimizer
        assert follower.counts() == newcomer.counts()
        a, b = next_batch(follower), next_batch(newcomer)
        assert (a.index, a.candidate, a.repeats) == (b.index, b.candidate, b.repeats), step


@pytest.mark.parametrize(("outcome", "seed"), [("binary", 6), ("binary", 7), ("count", 3), ("positive", 3)])
def test_noise_that_follows_the_mean_is_stored_of_what_was_measured(tmp_path, outcome, seed):
    """Of all others it is the usual one, though 1 / usual · usual may be off from 1 by rounding, as it is here."""
    space, rng = Space(x=Float(0, 1), y=Float(0, 1)), np.random.default_rng(seed)
    study = Study("lab", tmp_path / "lab.db", space, seed=0, outcome=outcome)
    for x, y, draw in ((*rng.random(2), rng) for _ in range(6)):
        values = draw.random(3) < 0.5 if outcome == "binary" else draw.poisson(3, 3) + (outcome == "positive")
        study.observe({"x": x, "y": y}, values.astype(float))
    task = study.ask(limit=1)
    study.tell(task, [1.0])
    assert len(study.optimizer.core.state.decision_state.fit_state.noises) <= 6
    a, b = next_batch(study.optimizer), next_batch(Study("lab", tmp_path / "lab.db").optimizer)
    assert (a.candidate, a.repeats) == (b.candidate, b.repeats)


def test_who_only_watches_sees_points_that_others_name(tmp_path):
    study = Study("lab", tmp_path / "lab.db", SPACE, seed=0)
    study.observe({"x": 0.5, "y": 0.1, "kind": "a"}, [0.5])
    watching = Study("lab", tmp_path / "lab.db")
    ways = {
        "a data frame": lambda: watching.to_frame("polars")["x"].to_list(),
        "CSV": lambda: [float(line.split(",")[3]) for line in b"".join(csv_chunks(watching)).decode().split()[1:]],
        "history": lambda: [watching.table[batch.facts.index]["x"] for batch in watching.history()],
        "measurements": lambda: [watching.table[each.index]["x"] for each in watching.measurements()],
        "the last": lambda: [watching.table[each.index]["x"] for each in watching.last_measurements()],
        "from one on": lambda: [watching.table[each.index]["x"] for each in watching.measurements_from(1, 99)],
    }
    for number, look in enumerate(ways.values()):
        assert watching.table.rows == number + 1
        study.observe({"x": number / 10, "y": 0.1, "kind": "a"}, [number / 10])
        assert number / 10 in look()


def test_answers_are_those_of_a_dense_process_on_every_measurement(tmp_path):
    """A logarithm, digits, a parameter that may be absent (None lies at one place), repeats, and another process."""
    space = Space(
        x=Float(0, 1),
        y=Float(0.001, 10, log=True),
        s=Ordered("low", "high"),
        m=Float(0, 1, digits=2).when(s="high"),
    )
    given = {"kernel": Matern52((0.3, 1.5, 1.0, 0.5), std=2.0), "noise_std": 0.3, "mean": 0.5}
    studies = [Study("lab", tmp_path / "lab.db", space, seed=0, policy=MiniUCB(C=1.3), **given) for _ in range(2)]
    rng, rows, values = np.random.default_rng(0), [], []
    for step in range(12):
        task = studies[step % 2].ask(limit=3)
        told = np.sin(7 * task.candidate["x"]) + 0.3 * rng.standard_normal(task.repeats)
        studies[step % 2].tell(task, told)
        rows += [task.candidate] * task.repeats
        values += told.tolist()

    def seen(points):
        absent = 0.50003
        return np.array(
            [[p["x"], np.log10(p["y"]), float(p["s"] == "high"), absent if p["m"] is None else p["m"]] for p in points]
        )

    many = [{"x": u, "y": 10.0 ** (4 * v - 3), "s": "high", "m": round(w, 2)} for u, v, w in rng.random((50, 3))]
    points = [*rows, *many, {"x": 0.3, "y": 0.1, "s": "low", "m": None}]
    X, Z, kernel = seen(rows), seen(points), given["kernel"]
    K = kernel(X, X) + 0.3**2 * np.eye(len(X))
    mean = 0.5 + kernel(Z, X) @ np.linalg.solve(K, np.array(values) - 0.5)
    variance = 4.0 - np.sum(kernel(Z, X) * np.linalg.solve(K, kernel(X, Z)).T, axis=1)
    found = Study("lab", tmp_path / "lab.db").optimizer.predict(points)
    assert found.mean == pytest.approx(mean, abs=1e-8)
    assert found.std == pytest.approx(np.sqrt(variance), abs=1e-7)


def test_points_keep_their_numbers(address):
    path, rng = address, np.random.default_rng(0)
    study, seen = Study("lab", path, SPACE, seed=0, budget=40), {}
    while (task := study.ask()) is not None:
        assert seen.setdefault(task.index, task.candidate) == task.candidate
        study.tell(task, truth(task.candidate) + 0.3 * rng.standard_normal(task.repeats))
    again = Study("lab", path)
    assert {index: again.table[index] for index in seen} == seen
    assert again.best().candidate == study.best().candidate


def test_the_same_space_opens_it_and_another_does_not(tmp_path):
    path = tmp_path / "lab.db"
    Study("lab", path, SPACE, seed=0).ask()
    Study("lab", path, SPACE)
    with pytest.raises(StudyDiffers, match="Float"):
        Study("lab", path, Space(x=Float(0, 2), y=Float(0.001, 10, log=True), kind=Category("a", "b")))
    with pytest.raises(
        StudyDiffers, match="parameters 'x', 'y', 'kind' are stored, and"
    ):  # columns in another order are other columns
        Study("lab", path, Space(dict(reversed(SPACE.parameters.items()))))
    with pytest.raises(StudyDiffers, match="a table"):
        Study("lab", path, np.zeros((1, 3)))


def test_constraints_have_to_be_given_again(tmp_path):
    path, space = tmp_path / "lab.db", SPACE.where(lambda c: c["x"] < 0.5)
    task = Study("lab", path, space, seed=0).ask()
    bare = Study("lab", path)
    bare.tell(task, [1.0] * task.repeats)
    with pytest.raises(InvalidSetting, match="give the space"):
        bare.ask()
    bare.observe(task.candidate, [1.1])
    assert bare.status().measurements == task.repeats + 1
    assert bare.retire(task.candidate) == 1
    assert Study("lab", path, space).ask().candidate["x"] < 0.5


def test_what_is_refused_leaves_nothing_behind(tmp_path):
    study = Study("lab", tmp_path / "lab.db", SPACE, seed=0)
    with pytest.raises(InvalidFeedback):
        study.observe({"x": 0.5, "y": 0.1, "kind": "a"}, ["abc"])
    assert study.table.rows == 0
    study.observe({"x": np.float64(0.5), "y": 0.1, "kind": "a"}, [1.0])
    assert Study("lab", tmp_path / "lab.db").table[0] == {"x": 0.5, "y": 0.1, "kind": "a"}


def test_what_cannot_be_stored_is_said(tmp_path):
    with pytest.raises(InvalidCandidates, match="cannot be stored"):
        Study("lab", tmp_path / "lab.db", Space(x=Float(0, 1), kind=Category(("a", "b"), ("c", "d"))))
    for level in (date(2026, 1, 1), b"a", np.inf):
        with pytest.raises(InvalidCandidates, match=r"of 'kind' is a .*, which cannot be stored as it is: use numbers"):
            Study("lab", tmp_path / "lab.db", Space(x=Float(0, 1), kind=Category(level, "b")))
    Study("lab", tmp_path / "lab.db", Space(x=Float(np.float64(0), 1), n=Integer(np.int64(1), 10**20))).ask()


def test_threads_that_share_a_study_see_whole_moments_of_its_space(tmp_path):
    """Points are added while others look, through one object: each value is found at its own point."""
    study = Study("lab", tmp_path / "lab.db", SPACE, seed=0)
    points = [{"x": k / 40, "y": 0.1, "kind": "a"} for k in range(24)]

    def work(place):
        for k in range(place, len(points), 4):
            study.observe(points[k], [float(k)])
            assert study.table.rows > 0
            study.history()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    found = {each.value: study.table[each.index] for each in study.measurements()}
    assert found == {float(k): point for k, point in enumerate(points)}


def test_a_study_holds_what_was_observed(tmp_path):
    path, space = tmp_path / "lab.db", Space(n=Integer(1, 10**18), rate=Float(0, 1e9))
    points = [{"n": 251847321245586964 + i, "rate": rate} for i in range(3) for rate in (1e-7, 2e-7, 5e-7)]
    study = Study("lab", path, space, seed=0)
    study.observe(points, [float(i) for i in range(9)])
    task = study.ask(limit=1)
    study.tell(task, [1.0])
    again = Study("lab", path)
    assert [again.table[i] for i in range(9)] == points
    assert again.table[task.index] == task.candidate
    study.observe(points[4], [4.1])
    again.observe(task.candidate, [1.1])
    assert again.table.rows == 10
    assert again.optimizer.counts()[4] == study.optimizer.counts()[task.index] == 2
    assert next_batch(study.optimizer).candidate == next_batch(Study("lab", path).optimizer).candidate


def test_levels_that_are_numbers_of_numpy_are_stored(tmp_path):
    study = Study("lab", tmp_path / "lab.db", Space(c=Category(np.int64(3), np.int64(4)), x=Float(0, 1)), seed=0)
    assert study.ask(limit=1).candidate["c"] in (3, 4)


@pytest.mark.parametrize("other", [Float(0, 1), Float(0, 1, step=0.5)], ids=["sampled", "listed"])
def test_values_that_are_rounded_to_digits_are_stored_as_they_are(tmp_path, other):
    """Of a count on a logarithmic scale, which an instrument cannot set with all its digits."""
    path, loads = tmp_path / "lab.db", Float(1, 24, count=5, log=True, digits=1)
    study = Study("lab", path, Space(load=loads, x=other), seed=0)
    study.observe({"load": 2.2, "x": 0.5}, [1.0, 2.0])
    for _ in range(6):
        task = study.ask(limit=1)
        assert task.candidate["load"] in (1.0, 2.2, 4.9, 10.8, 24.0)
        study.tell(task, [task.candidate["load"]])
    again = Study("lab", path, Space(load=loads, x=other))
    assert next(again.measurements()).index == again.index({"load": 2.2, "x": 0.5})
    assert again.ask(limit=1).candidate["load"] in loads.values
    with pytest.raises((InvalidFeedback, UnknownCandidate)):
        again.observe({"load": 2.2133638394, "x": 0.5}, [1.0])
