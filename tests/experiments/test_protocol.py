"""The protocol: settings chosen on seeds of their own, fresh seeds reported, costly algorithms shorter, resumable."""

from collections import Counter
from io import StringIO

import msgspec
import numpy as np
import pytest
from rich.console import Console

from ostinato.errors import InvalidSetting
from ostinato.experiments.algorithms import ALGORITHMS, Algorithm
from ostinato.experiments.choices import choose
from ostinato.experiments.jobs import Costs, roughly, span
from ostinato.experiments.protocol import CHOOSING_SEEDS, ExpectedSeconds, Protocol, quick, with_uniform
from ostinato.experiments.records import Job, Run
from ostinato.experiments.store import Store
from ostinato.policies import MiniUCB
from ostinato.problems import Gaussian, Problem

X = np.linspace(0, 6, 25)[:, None]
PROBLEMS = [
    Problem("wave", X, np.sin(X[:, 0]), Gaussian(0.3), lengthscales=(0.01, 1.0)),
    Problem("hill", X, -((X[:, 0] - 2) ** 2) / 4, Gaussian(0.3), lengthscales=(1.0, 2.0)),
]
FEW = [ALGORITHMS[name] for name in ("mini-GP-UCB", "BKB", "ε-greedy", "uniform")]


def console():
    return Console(file=StringIO(), width=100)


def test_choosing_and_reporting_never_share_a_seed():
    protocol = Protocol(PROBLEMS, FEW, seeds=40, horizon=50, choosing=10)
    assert {job.seed for job in protocol.choices()} == set(CHOOSING_SEEDS)
    assert not {job.seed for job in protocol.reports({})} & set(CHOOSING_SEEDS)


def test_every_algorithm_gets_all_seeds_and_the_costly_one_shorter_runs_which_is_said():
    protocol = Protocol(PROBLEMS, FEW, seeds=40, horizon=5000, choosing=1000)
    reports = [job for job in protocol.reports({}) if job.problem == "wave"]
    assert {(job.algorithm, job.horizon) for job in reports} == {
        ("mini-GP-UCB", 5000), ("BKB", 1000), ("ε-greedy", 5000), ("uniform", 5000)
    }  # fmt: skip
    every = Protocol(PROBLEMS[:1], list(ALGORITHMS.values()), seeds=40, horizon=5000).reports({})
    assert Counter(job.algorithm for job in every) == dict.fromkeys(ALGORITHMS, 40)
    assert [note for note in protocol.notes() if "costly" in note] == [
        "BKB is costly: its runs have 1,000 measurements only."
    ]


def test_the_notes_say_what_is_measured():
    notes = " ".join(Protocol(PROBLEMS, FEW, seeds=3, horizon=50).notes())
    assert "Seconds are the processor time of the algorithm alone" in notes
    assert "100% is the mean regret of all candidates" in notes


def test_runs_of_an_older_version_are_made_again(tmp_path, here):
    """They have no simple regret, and their seconds are those of a clock on the wall."""
    protocol = Protocol(PROBLEMS[:1], FEW[-1:], seeds=2, horizon=30)
    (first, _) = protocol.run(tmp_path, console(), workers=1)
    old = msgspec.json.encode({**msgspec.to_builtins(first), "made": "before", "seconds": [9.0] * len(first.t)})
    (tmp_path / "runs.jsonl").write_bytes(old.replace(b',"simple":' + str(first.simple).encode(), b"") + b"\n")
    assert next(iter(Store(tmp_path / "runs.jsonl").runs.values())).simple is None
    out = console()
    runs = protocol.run(tmp_path, out, workers=1)
    assert "kept" not in out.file.getvalue()
    assert all(run.simple is not None and run.seconds[-1] < 9 for run in runs)


def test_the_settings_that_did_best_are_reported(tmp_path, here):
    protocol = Protocol(PROBLEMS[:1], [*FEW[:1], FEW[-1]], seeds=4, horizon=60, choosing=40)
    runs = protocol.run(tmp_path, console(), workers=1)
    kept = choose(runs)
    assert kept["wave", "mini-GP-UCB"]["lengthscale"] == 1.0  # 0.01 knows no neighbours
    mine = [run for run in runs if (run.stage, run.algorithm) == ("report", "mini-GP-UCB")]
    assert [run.seed for run in mine] == [0, 1, 2, 3]
    assert all(run.settings == kept["wave", "mini-GP-UCB"] for run in mine)
    assert len([run for run in runs if run.stage == "choose"]) == 3 * (4 + 1)


def test_finished_runs_are_not_made_again(tmp_path):
    protocol = Protocol(PROBLEMS[:1], FEW[2:], seeds=3, horizon=40, choosing=10)
    first = protocol.run(tmp_path, console(), workers=2)
    path = tmp_path / "runs.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-5]) + lines[-5][:30])  # killed while it wrote: five runs are gone
    second = protocol.run(tmp_path, console(), workers=1)
    kept = {run.key: run for run in first}
    assert len(second) == len(first)
    assert sum(run == kept[run.key] for run in second) >= len(first) - 5  # with the seconds of the first time
    assert all(run.regret == kept[run.key].regret for run in second)
    assert len(Store(path).runs) == len(first)


def test_more_seeds_go_on_from_fewer(tmp_path, here):
    first, out = console(), console()
    Protocol(PROBLEMS[:1], FEW[-1:], seeds=2, horizon=30).run(tmp_path, first, workers=1)
    assert first.file.getvalue().startswith("2 runs: less than a minute on 1 core")  # the time is estimated first
    runs = Protocol(PROBLEMS[:1], FEW[-1:], seeds=5, horizon=30).run(tmp_path, out, workers=1)
    assert [run.seed for run in runs] == [0, 1, 2, 3, 4]
    assert "2 runs of an earlier call kept" in out.file.getvalue()


def test_costs_are_corrected_by_what_was_seen():
    costs = Costs(lambda job: 10.0)
    job, other = (Job("report", "p", name, {}, 0, 100) for name in "ab")
    assert costs.total([job, other]) == 20
    costs.note(job, 2.0), costs.note(job, 4.0)
    assert costs.total([job, other]) == 13
    assert [span(s) for s in (12, 600, 7200)] == ["12 s", "10 min", "2.0 h"]
    assert [roughly(s) for s in (0.2, 59, 75, 7200)] == ["less than a minute"] * 2 + ["about 75 s", "about 2.0 h"]


def test_what_a_run_takes_beside_its_algorithm_is_expected_too():
    pilot = Run("choose", "p", "a", {}, 0, 100, t=[50, 100], seconds=[1.0, 2.0])
    expected = ExpectedSeconds({"a": (pilot, 7.0)}, {"p": 10, "large": 20}, 10)
    assert expected(Job("report", "p", "a", {}, 0, 100)) == pytest.approx(7.0)  # 2 s of it the algorithm's
    assert expected(Job("report", "p", "a", {}, 0, 200)) == pytest.approx(9.0)
    assert expected(Job("report", "large", "a", {}, 0, 100)) == pytest.approx(9.0)


def test_quick_is_small():
    protocol = quick(PROBLEMS, list(ALGORITHMS.values()))
    assert len(protocol.choices()) + len(protocol.reports({})) < 200
    assert protocol.problems[0].lengthscales == (1.0,)


def test_uniform_always_takes_part():
    assert [a.name for a in with_uniform(FEW[:1])] == ["mini-GP-UCB", "uniform"]
    assert with_uniform(FEW) == FEW


@pytest.mark.parametrize(
    ("problems", "algorithms", "message"),
    [
        (PROBLEMS[:1] * 2, FEW, "Two problems are named 'wave'"),
        (PROBLEMS, [Algorithm("a", MiniUCB)] * 2, "Two algorithms are named 'a'"),
        ([], FEW, "No problem was given"),
    ],
)
def test_what_cannot_be_compared_is_refused(problems, algorithms, message):
    with pytest.raises(InvalidSetting, match=message):
        Protocol(problems, algorithms, 3, 10)
