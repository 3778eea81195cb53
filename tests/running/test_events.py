"""Whoever wants to know hears what happens in a run: functions, a logger, programs."""

import json
import logging
import sys
from itertools import pairwise

import numpy as np
import pytest

import ostinato
from ostinato.errors import FailedNotification, InvalidSetting
from ostinato.kernels import RBF
from ostinato.running.events import Events
from ostinato.running.notifying import Notifier
from ostinato.running.task import Task

X = np.linspace(-2, 2, 21)[:, None]
GIVEN = {"budget": 40, "seed": 0, "kernel": RBF(0.7), "noise_std": 0.1}


def run(**options):
    rng = np.random.default_rng(0)
    return ostinato.optimize(lambda x: -((x[0] - 0.5) ** 2) + 0.1 * rng.standard_normal(), X, **GIVEN, **options)


def test_every_value_is_heard_of_and_the_end():
    heard, ends = [], []
    result = run(on_tell=lambda task, values: heard.append((task.index, values)), on_stop=ends.append)
    assert sum(len(values) for _, values in heard) == result.steps == 40
    assert ends == ["budget"]


def test_another_recommendation_is_news_once():
    best = []
    result = run(on_best=best.append)
    named = [each.index for each in best]
    assert all(one != two for one, two in pairwise(named))
    assert result.best.index == named[-1]


def test_listening_changes_no_decision():
    assert str(run(on_best=id).best) == str(run().best)


def test_what_a_listener_raises_ends_the_run_and_nothing_is_lost():
    def enough(task, values):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as raised:
        run(on_tell=enough)
    assert raised.value.optimizer.steps > 0


def test_the_end_is_heard_of_also_where_an_error_made_it():
    def broken(x):
        raise ZeroDivisionError("by hand")

    ends = []
    with pytest.raises(ZeroDivisionError):
        ostinato.optimize(broken, X, budget=5, on_stop=ends.append)
    assert ends == ["ZeroDivisionError: by hand"]


def test_a_function_is_wanted():
    with pytest.raises(InvalidSetting, match="on_best=3 cannot be called"):
        run(on_best=3)


def test_the_logger_gets_records_with_all_that_happened(caplog):
    with caplog.at_level(logging.INFO, "ostinato"):
        run()
    assert {record.event for record in caplog.records} >= {"tell", "best", "stop"}
    told = [record.details for record in caplog.records if record.event == "tell"]
    assert sum(len(each["values"]) for each in told) == 40
    json.dumps(told)  # plain numbers, texts and lists


def event(file, study="lab"):
    """A run that has ended, as a notifier hears of it."""
    events = Events(study, [Notifier(f"{sys.executable} {file} {{event}} {{message}}", ["stop"])])
    events.ended("budget", lambda question: None)
    events.told(Task("lab", 0, 0, [1.0], 0, 1), [1.0])  # not asked for
    return events._listeners[1]


def test_a_program_is_started_for_the_events_asked_for(tmp_path):
    program = tmp_path / "note.py"
    program.write_text(
        "import os, sys\n"
        f"open({str(tmp_path / 'notes')!r}, 'a').write(repr(sys.argv[1:]) + os.environ['OSTINATO_EVENT'] + '\\n')"
    )
    event(program).finish()
    (line,) = (tmp_path / "notes").read_text().splitlines()
    assert line.startswith("['stop', 'ended (budget)']")
    assert json.loads(line.partition("]")[2])["study"] == "lab"


def test_a_program_that_fails_is_remarked_on_and_nothing_else(tmp_path):
    program = tmp_path / "note.py"
    program.write_text("raise SystemExit('no network')")
    with pytest.warns(FailedNotification, match="no network"):
        event(program).finish()


@pytest.mark.parametrize(
    ("template", "kinds", "words"),
    [
        ("there-is-no-such-program {message}", ["stop"], "no program"),
        ("true {temp}", ["stop"], "it may name event, message, study"),
        ("true", ["lunch"], "no such event"),
        ("", ["stop"], "is empty"),
    ],
)
def test_what_cannot_work_is_refused_at_once(template, kinds, words):
    with pytest.raises(InvalidSetting, match=words):
        Notifier(template, kinds)
