"""Looking at a study changes nothing that is stored, and no decision."""

import inspect
import shutil
import sqlite3

import numpy as np
import pytest

from inside import next_batch
from ostinato import MiniUCB
from ostinato.kernels import RBF
from ostinato.plots import FIGURES
from ostinato.stopping import Spent
from ostinato.study import Study
from ostinato.study.request import Request

X = np.random.default_rng(0).random((60, 2))
TRUTH = np.sin(4 * X[:, 0]) + X[:, 1]
GIVEN = {"kernel": RBF(0.4), "noise_std": 0.3, "mean": 0.0, "policy": MiniUCB()}
QUESTIONS = {
    "best": lambda study: study.best(0.9),
    "top": lambda study: study.top(4),
    "status": lambda study: str(study.status()),
    "counts": lambda study: study.counts(),
    "counters": lambda study: study.counters(),
    "diagnose": lambda study: str(study.diagnose()),
    "explain": lambda study: str(study.explain(0)),
    "history": lambda study: study.history(),
    "leases": lambda study: study.leases(),
    "in_hand": lambda study: study.in_hand(),
    "moment": lambda study: study.moment(),
    "measurements": lambda study: list(study.measurements(everything=True)),
    "last_measurements": lambda study: study.last_measurements(5),
    "measurements_from": lambda study: study.measurements_from(3, 5),
    "numbers": lambda study: study.numbers(0, range(3)),
    "index": lambda study: study.index(X[3]),
    "candidate": lambda study: study.candidate(3),
    "task": lambda study: study.task(study.leases()[0].batch),
    "shortage": lambda study: study.shortage(Request("somebody", 60.0), []),
    "looked": lambda study: study.looked(lambda optimizer: optimizer.predict()),
    "reading": lambda study: study.reading(lambda reader: reader.record),
    "to_frame": lambda study: study.to_frame("pandas"),
    "shown in a notebook": lambda study: study._repr_html_(),
    "repr": repr,
    **{f"plot {name}": lambda study, name=name: study.plot(name) for name in FIGURES if name != "posterior"},
}
CHANGES = {
    "add", "allow", "ask", "close", "correct", "hand_out", "keep_answer", "note_program", "observe", "observe_all",
    "release", "release_all", "renew", "renew_held", "restore", "retire", "retract", "run", "skip", "tell", "tell_all",
    "teller",
}  # fmt: skip
APART = {"plot", "backup"}  # figures by their names; a copy, which is not the study


def dump(path):
    with sqlite3.connect(path) as connection:
        found = [line for line in connection.iterdump() if "answers" not in line]
    connection.close()
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", [{}, GIVEN], ids=str)
def test_no_question_changes_anything(tmp_path, settings):
    path, copy = tmp_path / "lab.db", tmp_path / "copy.db"
    study, rng = Study("lab", path, X, seed=1, budget=100, stop=Spent(900), **settings), np.random.default_rng(2)
    while (done := study.status().measurements) < 40:
        task = study.ask(limit=40 - done)
        study.tell(task, 2 + TRUTH[task.index] + 0.3 * rng.standard_normal(task.repeats))
    study.observe(3, [np.nan])
    study.correct(number=4, new=2.5)
    study.ask(limit=4)
    shutil.copy(path, copy)
    before = dump(path)
    properties = [name for name, each in inspect.getmembers(Study) if isinstance(each, property)]
    questions = QUESTIONS | {name: lambda study, name=name: getattr(study, name) for name in properties}
    for name, ask in questions.items():
        ask(study)
        assert dump(path) == before, name
    looked, untouched = next_batch(study.optimizer, 20), next_batch(Study("lab", copy).optimizer, 20)
    assert (looked.index, looked.repeats) == (untouched.index, untouched.repeats)


def test_all_that_can_be_asked_is_asked_here():
    methods = {name for name, each in inspect.getmembers(Study, inspect.isfunction) if not name.startswith("_")}
    assert methods - CHANGES - APART == {name for name in QUESTIONS if name in methods}
