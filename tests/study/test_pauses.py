"""Studies while nothing can be measured: failures are taken back, status says so, and a crash leaves nothing behind."""

import os
import signal
import threading
from functools import partial
from pathlib import Path
from time import monotonic

import numpy as np
import pytest
from msgspec.structs import replace

from ostinato.errors import Failed, Outage, Paused
from ostinato.running.pausing import Pause
from ostinato.running.program import program_of
from ostinato.study import Study, verify, workers
from ostinato.study.paused import Note, notes_of
from ostinato.study.pauses import PauseNote
from terminal import PATIENCE, start, wait_until

X = np.stack(np.meshgrid(np.linspace(0, 1, 11), np.linspace(0, 1, 8)), axis=-1).reshape(-1, 2)
QUICK = {"retry_every": 0.001, "give_up_after": 600}


class Bench:
    """Down from a number of measurements on, until somebody has seen that the run pauses."""

    def __init__(self, study, after=25, how=Failed):
        self._study, self._after, self._how = study, after, how
        self._lock = threading.Lock()
        self.seen, self.calls, self.at_once, self.most_at_once = [], 0, 0, 0

    def __call__(self, x):
        with self._lock:
            self.calls += 1
            self.at_once += 1
            down = self.calls > self._after and len(self.seen) < 2
        try:
            return self._measured(x, down)
        finally:
            with self._lock:
                self.at_once -= 1

    def _measured(self, x, down):
        if down:
            paused = Study(self._study.name, self._study.storage).status().paused
            if paused and paused[0].next_try > paused[0].since and not self._study.status().failures:
                self.most_at_once = max(self.most_at_once, self.at_once)
                self.seen.append(str(paused[0]))
            raise self._how("the pump is off")
        return float(-((x[0] - 0.3) ** 2) + 0.2 * np.random.default_rng().standard_normal())


@pytest.mark.parametrize(("how", "workers"), [(Failed, 1), (Outage, 3)])
def test_an_outage_is_shown_and_taken_back(address, how, workers):
    study = Study("lab", address, X, seed=0)
    bench = Bench(study, how=how)
    with pytest.warns(Paused, match="the pump is off"):
        result = study.run(bench, 50, workers=workers, **QUICK)
    assert (result.ended, result.steps, result.failures) == ("budget", 50, 0)
    assert "next try at" in bench.seen[0]
    assert "The last failure: the pump is off" in bench.seen[0]
    assert bench.most_at_once == 1  # one try at a time, however many workers there are
    status = Study("lab", address).status()
    assert (status.measurements, status.failures, status.in_flight, status.paused) == (50, 0, 0, ())
    taken = [each for each in study.measurements(everything=True) if each.revisions]
    assert all(each.revision.why.startswith("outage, since ") for each in taken)
    assert bool(taken) == (how is Failed)  # what could not even be begun was never told
    assert verify(study.storage, "lab") == []


def off_until_asked_three_times(x):
    """In a process of its own: what it knows is in files."""
    file = Path(os.environ["OSTINATO_TEST_FILE"])
    calls = file.read_text() if file.exists() else ""
    file.write_text(calls + "x")
    if 10 <= len(calls) < 13:
        raise Outage("no power")
    return float(x[0])


def test_in_other_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("OSTINATO_TEST_FILE", str(tmp_path / "calls"))
    study = Study("lab", tmp_path / "lab.db", X, seed=0)
    with pytest.warns(Paused, match="no power"):
        result = study.run(off_until_asked_three_times, 30, workers=1, executor="processes", **QUICK)
    assert (result.steps, result.failures) == (30, 0)


def test_giving_up_is_shown_until_the_next_run(address):
    study = Study("lab", address, X, seed=0)
    with pytest.warns(Paused):
        result = study.run(bench_down(40), 90, workers=2, retry_every=0.001, give_up_after=0.02)
    assert (result.ended, result.failures) == ("outage", 0)
    (paused,) = study.status().paused
    assert "the run has given up" in str(paused)
    assert "paused" in str(study.status())
    assert study.run(lambda x: 1.0, 90, workers=2).ended == "budget"
    assert study.status().paused == ()
    assert verify(study.storage, "lab") == []


def bench_down(after):
    calls = []

    def down(x):
        calls.append(x)
        if len(calls) > after:
            raise Failed("the pump is off")
        return float(x[0])

    return down


RUN = """
import sys, threading, numpy as np
from pathlib import Path
from ostinato.errors import Failed
from ostinato.study import Study
study, calls, where = Study("lab", sys.argv[1]), [], Path(sys.argv[2])
def note(what):
    with (where / what).open("a") as file:
        file.write("x")
def down(x):
    calls.append(x)
    if len(calls) > 40:
        note("begun")
        if sys.argv[3] == "judging" and Study("lab", sys.argv[1]).status().paused:
            note("stuck")
            threading.Event().wait()
        note("failed")
        raise Failed("the pump is off")
    return float(x[0])
study.run(down, 90, workers=2, retry_every=100_000.0)
"""


@pytest.mark.parametrize("moment", ["judging", "pausing"])
def test_a_run_that_is_killed_leaves_nothing_behind(tmp_path, moment):
    address = f"sqlite:///{tmp_path}/lab.db"
    study = Study("lab", address, X, seed=0)
    process = start("-c", RUN, address, tmp_path, moment)
    if moment == "judging":
        begun, stuck, failed = (partial(count_in, tmp_path / name) for name in ("begun", "stuck", "failed"))
        wait_until(lambda: stuck() and stuck() + failed() == begun(), process)  # from here on nothing more fails
        wait_until(lambda: len(judged_in(study)) == study.status().failures == failed(), process)
    else:
        wait_until(lambda: any(each.next_try - each.since > 1_000 for each in study.status().paused), process)
    assert not study.status().paused[0].lost
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    (paused,) = study.status().paused
    assert paused.lost
    assert "is not heard of any more" in str(paused)
    assert (study.status().failures > 0) == (moment == "judging")  # nobody came to judge them
    result = study.run(lambda x: float(x[0]), 90, workers=2)
    assert (result.steps, result.failures) == (90, 0)
    assert study.status().paused == ()
    assert verify(study.storage, "lab") == []


def count_in(file):
    return file.stat().st_size if file.exists() else 0


def test_a_note_is_renewed_while_its_run_lives_and_lost_soon_after(address):
    """Also where its process cannot be seen, as on another machine, and however long a try takes."""
    study = Study("lab", address, X, seed=0)

    def until():
        return study._stored.read(lambda reader: notes_of(reader)[0].until)

    with PauseNote(study._stored, 1.0) as note:
        note.keep(Pause(10.0, "no power", 1e6))
        first = until()
        wait_until(lambda: until() > first + 1.0)
        assert study.status().paused[0].next_try - study.status().paused[0].since > 9e5
    wait_until(lambda: study.status().paused[0].lost)  # nobody renews it any more
    study.run(lambda x: float(x[0]), 3, progress=False)
    assert study.status().paused == ()


def test_a_note_of_a_clock_that_has_gone_back_is_lost(tmp_path):
    note = Note("elsewhere|boot|ns|1|2|x", 0.0, "no power", 2e9, 2e9, seconds=10.0)
    assert note.is_lost(1e9, local=False)
    assert not note.is_lost(2e9 - 5, local=False)


def test_two_runs_of_one_study_have_a_note_each(address):
    study = Study("lab", address, X, seed=0)
    with PauseNote(study._stored, 60.0) as one, PauseNote(study._stored, 60.0) as two:
        one.keep(Pause(1.0, "no power", 5.0))
        two.keep(Pause(1.0, "no air", 5.0))
        assert [each.failure for each in study.status().paused] == ["no power", "no air"]
        one.keep(None)
        assert [each.failure for each in study.status().paused] == ["no air"]
        two.keep(None)
    assert study.status().paused == ()


def test_a_note_changes_nothing_else(tmp_path):
    """Settings, answers and decisions are what they were."""
    study, other = (Study(name, tmp_path / "lab.db", X, seed=0, robust=True, budget=50) for name in ("lab", "calm"))
    note = PauseNote(study._stored, 60.0)
    for each in (study, other):
        for _ in range(6):
            task = each.ask()
            if each is study:
                note.keep(Pause(1.0, "no power", 5.0, (task,)))
            each.tell(task, [float(X[task.index, 0])] * task.repeats)
    assert study.best().index == other.best().index
    assert study.ask().index == other.ask().index
    Study("lab", tmp_path / "lab.db", X, seed=0, robust=True)  # what is given is what it was made with


def test_failures_of_tasks_are_taken_back(address):
    study = Study("lab", address, X, budget=50, seed=0)
    tasks = [study.ask() for _ in range(3)]
    for task in tasks:
        study.tell(task, [None] * task.repeats)
    assert study.retract(tasks[:2], failures=True, why="a fuse") == sum(task.repeats for task in tasks[:2])
    assert study.retract(tasks[1], failures=True) == 0
    assert study.status().failures == tasks[2].repeats


class SideBySide:
    """Two workers: while one measures something long, which works, the other one fails again and again."""

    def __init__(self, failures=12, until=3):
        self.lock, self.calls, self.failed, self.long = threading.Lock(), 0, 0, threading.Event()
        self._failures, self._until = failures, until

    def __call__(self, x):
        with self.lock:
            self.calls += 1
            mine = self.calls
        if mine == 30:  # it gives a value after some others have failed
            self.long.wait(PATIENCE)
            return float(x[0])
        if mine > 30 and self.failed < self._failures:
            with self.lock:
                self.failed += 1
            if self.failed == self._until:
                self.long.set()
            raise Failed("the pump is off")
        return float(x[0])


def test_failures_while_something_long_still_works_are_part_of_the_outage(address):
    study = Study("lab", address, X, seed=0, max_repeats=1)  # on a busy machine one task could hold all failures
    with pytest.warns(Paused):
        result = study.run(SideBySide(), 60, workers=2, progress=False, **QUICK)
    assert (result.steps, result.failures) == (60, 0)


def test_an_outage_that_is_over_before_it_can_be_judged_does_not_count(address):
    """A value comes of what was under way, and from then on everything works."""
    study = Study("lab", address, X, seed=0, max_repeats=1)
    result = study.run(SideBySide(5, 5), 60, workers=2, progress=False, **QUICK)
    assert (result.steps, result.failures) == (60, 0)


def test_failures_that_were_taken_back_bar_no_candidate(address):
    """What is asked next, again and again, is what it would be if they had never been told; here and elsewhere."""
    calm, disturbed = (Study(name, address, X, seed=0) for name in ("calm", "disturbed"))
    lost = [disturbed.ask(limit=1) for _ in range(3)]
    for task in lost:
        disturbed.tell(task, [None])
    assert disturbed.retract(lost, failures=True, why="outage") == 3
    for study in (disturbed, Study("disturbed", address)):
        for _ in range(6):
            one, two = calm.ask(limit=1), study.ask(limit=1)
            assert one.index == two.index
            for each, task in ((calm, one), (study, two)):
                each.tell(task, [float(X[task.index, 0])])


WAITING = """
import itertools, sys, time
from pathlib import Path
from ostinato.errors import Failed
from ostinato.study import Study
numbers = itertools.count(1)
def down(x):
    number = next(numbers)
    if number > 44:
        Path(sys.argv[2], "stuck").touch()
    while number == 41 or number > 44:
        time.sleep(1)  # it takes for ever, and nothing is judged before it is over
    if number > 41:
        raise Failed("the pump is off")
    return float(x[0])
Study("lab", sys.argv[1]).run(down, 90, workers=2)
"""


def test_a_run_that_is_killed_before_it_comes_to_judge_leaves_nothing_behind(tmp_path):
    """However few failures it has seen; while they are so few, it does not pause yet, nor say so."""
    address = f"sqlite:///{tmp_path}/lab.db"
    study = Study("lab", address, X, seed=0, max_repeats=1)  # so that different candidates fail: that is in doubt
    process = start("-c", WAITING, address, tmp_path)
    wait_until(lambda: (tmp_path / "stuck").exists() and len(judged_in(study)) == 3, process)
    assert study.status().paused == ()
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE)
    assert study.status().failures == 3
    result = study.run(lambda x: float(x[0]), 90, workers=2)
    assert (result.steps, result.failures) == (90, 0)
    assert judged_in(study) == []


def judged_in(study):
    return [place for note in study._stored.read(notes_of) for place in note.judged]


def test_a_run_elsewhere_that_is_killed_is_noticed_while_another_one_goes_on(address, monkeypatch):
    """Its process cannot be seen: that it is lost is known only when its note is over, and others run by then."""
    study = Study("lab", address, X, seed=0)
    for row in range(5):
        study.observe(row, [0.0])
    task = study.ask(limit=1)
    study.tell(task, [None])
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(workers, "_here", lambda: ["elsewhere", "boot", "processes"])
        with PauseNote(study._stored, 0.3) as note:
            note.keep(Pause(1.0, "no power", 0.0, (task,), paused=False))
    assert study.status().failures == 1
    end = monotonic() + PATIENCE
    study.run(lambda x: float(x[0]), 10**6, lease=0.2, stop=lambda each: each.failures == 0 or monotonic() > end)
    assert study.status().failures == 0
    assert judged_in(study) == []


OFF = (False, False, False)


class Lab:
    """A program that fails for some of its calls, and a study with values; what other runs of it tell is told here."""

    def __init__(self, address, down=()):
        self.study = Study("lab", address, X, seed=0, max_repeats=1)
        self.calls, self._down, self.meanwhile = 0, down, {}
        self.study.run(self, 20, progress=False)
        self.study.allow(40)
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        if self.calls in self._down and self.study.status().measurements >= 20:
            raise Failed("the pump is off")
        self.meanwhile.get(self.calls, lambda: None)()
        return float(x[0])

    def elsewhere(self, *works, program=None):
        """Other runs on other machines, each of which gets one value, or none."""
        name = program_of(self).name if program is None else program
        for number, worked in enumerate(works):
            task = self.study.ask(limit=1, worker=f"elsewhere:{number}")
            self.study.tell(replace(task, program=name), [float(task.candidate[0]) if worked else None])


def test_an_outage_of_which_several_runs_see_a_little_does_not_count(address):
    """None of them sees enough to know; and it is over when the last one looks."""
    lab = Lab(address, down=(1, 2))
    lab.elsewhere(*OFF)
    result = lab.study.run(lab, workers=1, progress=False, **QUICK)
    assert (result.steps, result.failures) == (40, 0)
    assert [each.revision.why[:7] for each in lab.study.measurements(everything=True) if each.revisions] == 5 * [
        "outage,"
    ]
    assert verify(lab.study.storage, "lab") == []


@pytest.mark.parametrize("late", [(3,), (3, 4)])
def test_what_others_tell_while_an_outage_is_judged_is_taken_back_with_it(any_address, late):
    """The third call is a candidate that worked before, and the fourth one that had failed."""
    lab = Lab(any_address, down=(1, 2))
    lab.meanwhile = dict.fromkeys(late, lambda: lab.elsewhere(False))
    lab.elsewhere(*OFF)
    result = lab.study.run(lab, workers=1, progress=False, **QUICK)
    assert (result.steps, result.failures) == (40, 0)


def test_what_others_saw_of_an_outage_before_they_got_values_again_is_taken_back_with_it(any_address):
    """While one run still finds out what happened, others work again: their values hide nothing."""
    lab = Lab(any_address, down=(1, 2))
    lab.meanwhile = {3: lambda: lab.elsewhere(False, False, True, True)}
    lab.elsewhere(*OFF)
    result = lab.study.run(lab, workers=1, progress=False, **QUICK)
    assert (result.steps, result.failures) == (40, 0)


@pytest.mark.parametrize(("begun_in_it", "counts"), [(True, 0), (False, 1)])
def test_what_is_told_late_belongs_to_an_outage_if_it_was_begun_in_it(any_address, begun_in_it, counts):
    """Of a run that was killed right after: whoever goes on takes it back."""
    lab = Lab(any_address, down=(1, 2))
    lab.elsewhere(*OFF)
    asked = [lab.study.ask(limit=1, worker="elsewhere:9")] if begun_in_it else []

    def tell():
        task = asked[0] if asked else lab.study.ask(limit=1, worker="elsewhere:9")
        lab.study.tell(replace(task, program=program_of(lab).name), [None])

    lab.meanwhile = {12: tell}
    result = lab.study.run(lab, workers=1, progress=False, **QUICK)
    assert (result.steps, result.failures) == (40 - counts, counts)


@pytest.mark.parametrize(("works", "program"), [((*OFF, True), None), (OFF, "another"), (OFF, ""), ((False,), None)])
def test_few_failures_count_where_others_work_or_are_something_else(any_address, works, program):
    """A value came after them; another program, or people, told them; or they are too few even together."""
    lab = Lab(any_address, down=(1, 2))
    lab.elsewhere(*works, program=program)
    result = lab.study.run(lab, workers=1, progress=False, **QUICK)
    assert result.failures == 2 + works.count(False)


def test_what_others_have_taken_back_is_part_of_no_row(any_address):
    lab = Lab(any_address, down=(1, 2))
    lab.elsewhere(*OFF)
    assert lab.study.retract(failures=True, since=0.0) == 3
    result = lab.study.run(lab, workers=1, progress=False, **QUICK)
    assert result.failures == 2
