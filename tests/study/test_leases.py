"""Nobody waits for the dead: leases are renewed while their worker lives, and end soon after it does not."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from benchmarks.reliability import waiting
from msgspec.structs import replace

from ostinato import MiniUCB
from ostinato.errors import InvalidSetting, LongMeasurements, Unavailable, UnknownBatch
from ostinato.kernels import RBF
from ostinato.storage import Lease, open_storage
from ostinato.storage.postgres import Postgres
from ostinato.storage.sqlite import SQLite
from ostinato.study import Study, heartbeat, verify, workers
from ostinato.study import assigned as waits
from ostinato.study.heartbeat import Heartbeat
from ostinato.study.workers import is_gone, this_worker
from terminal import start, wait_until

X = np.linspace(0, 1, 40)[:, None]
GIVEN = {"kernel": RBF(0.2), "noise_std": 10.0, "policy": MiniUCB(C=1.5)}  # batches of all that the budget allows
YEAR = 365 * 86_400.0


@pytest.fixture
def study(address):
    return Study("lab", address, X, seed=0, budget=40, **GIVEN)


@pytest.fixture
def other(study, address):
    return Study("lab", address)


@pytest.fixture
def clock(monkeypatch):
    """By how many seconds the storages' clock is ahead."""
    ahead = [0.0]
    for kind in (SQLite, Postgres):
        now = kind.now
        monkeypatch.setattr(kind, "now", lambda self, connection, now=now: now(self, connection) + ahead[0])
    return ahead


@pytest.fixture
def quick_heart(monkeypatch):
    """A heart that beats six hundred times in the time of a lease: that of a busy machine is in time."""
    monkeypatch.setattr(heartbeat, "BEATS", 600)


def repeats(task):
    return {(task.batch, task.start + i) for i in range(task.repeats)}


# What is assigned, in words and by name


def test_tasks_know_their_worker_and_leases_are_listed_renewed_and_freed(study, other, clock):
    mine, robot = study.ask(2), study.ask(3, worker="robot-3", lease=60.0)
    assert robot.worker == "robot-3"
    assert str(os.getpid()) in mine.worker
    first, second = other.leases()
    assert (first.worker, first.repeats, first.state) == (mine.worker, 2, "held")
    assert (second.batch, second.start, second.index) == (robot.batch, robot.start, robot.index)
    assert second.until - second.since == pytest.approx(60.0)
    assert list(second.candidate) == list(X[robot.index])
    clock[0] += 30.0
    assert study.renew("robot-3") == 3
    assert study.renew(mine, lease=5.0) == 2
    first, second = other.leases()
    assert second.until - second.since == pytest.approx(90.0, abs=15.0)
    clock[0] += 40.0  # past the first sixty seconds
    assert [each.state for each in other.leases()] == ["over", "held"]
    assert repeats(other.ask(2)) == repeats(mine)
    assert study.renew(mine) == 0  # it is another's now
    assert other.release_all(worker="nobody") == 0
    assert other.release_all(worker="robot-3") == 3
    assert study.renew(robot) == study.renew("robot-3") == 0
    assert repeats(other.ask(3)) == repeats(robot)
    assert other.release_all(batch=robot.batch) == 5
    assert other.leases() == []
    assert study.tell(robot, [1.0, 2.0, 3.0]) == 3  # freed, and told all the same


def test_what_is_not_a_lease_is_refused(study):
    task = study.ask(1)
    with pytest.raises(InvalidSetting, match="lease=0"):
        study.ask(1, lease=0)
    with pytest.raises(InvalidSetting, match="lease=-1"):
        study.renew(task, lease=-1)
    with pytest.raises(InvalidSetting, match="lease=nan"):
        study.run(lambda _: 1.0, 5, lease=float("nan"))
    with pytest.raises(UnknownBatch, match="not a task"):
        study.renew(replace(task, study="another"))
    assert study.renew(study.task(task.batch)) == 0  # one that was not asked for holds nothing


# Hearts


def test_a_measurement_may_take_longer_than_a_lease(study, other, clock, quick_heart):
    taken, before = [], threading.enumerate()

    def long(candidate):
        if not taken:
            (lease,) = other.leases()
            clock[0] += 60.0  # at once: its time is over, until its heart has beaten
            wait_until(lambda: other.leases()[0].until > lease.until + 30.0)
            taken.append(other.ask(1, lease=3_600.0))
            assert repeats(taken[0]).isdisjoint({(lease.batch, lease.start)})
            other.tell(taken[0], [0.0])
        return 1.0

    assert study.run(long, 5, workers=1, lease=60.0).steps == 5
    assert other.leases() == []  # it beats for nothing that it no longer has
    assert not [each for each in threading.enumerate() if "heartbeat" in each.name and each not in before]


def test_a_run_is_not_handed_its_own_measurements_again(study, clock):
    """A machine that slept: the run goes on before its heart has beaten."""
    lock, seen = threading.Lock(), []

    def measure(candidate):
        with lock:
            seen.append(candidate[0])
            place = len(seen)
        if place == 1:
            clock[0] += 3_600.0
            wait_until(lambda: len(seen) == 6)
        return 1.0

    assert study.run(measure, 6, workers=2).steps == 6
    assert len(seen) == 6


def test_a_heart_that_fails_to_beat_is_quiet_and_tries_again(study, monkeypatch, quick_heart):
    renew, tries = type(study.storage).renew, []

    def fail(self, *arguments):
        tries.append(arguments)
        if len(tries) < 4:
            raise Unavailable("away")
        return renew(self, *arguments)

    monkeypatch.setattr(type(study.storage), "renew", fail)

    def measure(candidate):
        wait_until(lambda: len(tries) >= 5)
        return 1.0

    assert study.run(measure, 3, workers=1, lease=60.0).steps == 3


def test_quick_measurements_cost_no_heartbeat(study, monkeypatch):
    monkeypatch.setattr(type(study.storage), "renew", lambda *_: pytest.fail("it was not due"))
    assert study.run(lambda _: 1.0, 40, workers=2, lease=3_600.0).steps == 40


def test_a_heart_beats_on_after_a_fork_and_the_child_holds_nothing(study, other, quick_heart):
    task = study.ask(1, lease=60.0)
    with Heartbeat(lambda keys: study.storage.renew("lab", keys, 60.0), 60.0) as heart:
        heart.hold(task.key)
        child = os.fork()
        if child == 0:
            heart.__exit__(None, None, None)
            os._exit(len([each for each in threading.enumerate() if "heartbeat" in each.name]))
        assert os.waitpid(child, 0)[1] == 0
        (before,) = other.leases()
        wait_until(lambda: other.leases()[0].until > before.until)


STOPPED = """
import sys, time, warnings
from pathlib import Path
from ostinato.study import Study

def measure(candidate, repeats):
    Path("begun").touch()
    while not Path("go").exists():
        time.sleep(0.02)
    return [1.0] * repeats

told = []
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    Study("lab", sys.argv[1]).run(
        measure, workers=1, vectorized=True, lease=1.0, on_tell=lambda task, values: told.extend(values)
    )
print(len(told), "told", *{each.category.__name__ for each in said})
"""


def test_a_process_that_was_stopped_is_late_and_what_others_did_not_tell_counts(tmp_path):
    address = f"sqlite:///{tmp_path}/lab.db"
    study = Study("lab", address, X, seed=0, budget=6, **GIVEN)
    run = start("-c", STOPPED, address, cwd=tmp_path, stdout=subprocess.PIPE)
    try:
        wait_until((tmp_path / "begun").exists, run)
        run.send_signal(signal.SIGSTOP)
        (tmp_path / "go").touch()
        wait_until(lambda: study.leases()[0].state == "over")
        task = study.ask(2)
        study.tell(task, [2.0] * task.repeats)
        time.sleep(1.0)  # so that it stood still for longer than a lease
    finally:
        run.send_signal(signal.SIGCONT)
        said, _ = run.communicate(timeout=600)
    assert run.returncode == 0
    assert LongMeasurements.__name__ in said
    assert said.startswith("4 told")  # and not the two that were measured in vain
    assert sorted(each.value for each in study.measurements()) == [1.0] * 4 + [2.0] * 2
    assert verify(study.storage, "lab") == []


def test_many_hearts_beat_at_once(address, tmp_path):
    seen = waiting.beaten(address, tmp_path, 100, workers=2, threads=10)
    assert (seen.renewed, seen.lost, seen.errors) == (100, 0, 0)


# Who waits, and for how long


def test_after_a_run_that_ended_without_a_word_the_next_one_begins_soon(tmp_path):
    how = waiting.CONTAINER_KILLED if waiting.can_contain() else waiting.HOST_RESTARTED
    _, waited = waiting.ended(f"sqlite:///{tmp_path}/lab.db", tmp_path, how)
    assert waited < 60  # and not the ten minutes of a lease by hand; `python -m benchmarks.reliability gone` shows 15


def test_a_run_that_waits_says_for_what_and_until_when(study, other, monkeypatch, capsys):
    monkeypatch.setattr(waits, "SAY_AFTER", 0.0)
    study.ask(3, worker="robot-3")
    seen = []

    def free():
        wait_until(lambda: seen.append(capsys.readouterr().err) or "waiting" in "".join(seen))
        time.sleep(1.2)  # it looks again, and says nothing
        other.renew("robot-3", lease=3_600.0)
        other.release_all()

    thread = threading.Thread(target=free)
    thread.start()
    assert study.run(lambda _: 1.0, 8, workers=1).steps == 8
    thread.join()
    said = "".join(seen) + capsys.readouterr().err
    assert said.count("waiting for 3 measurements that robot-3 holds until ") == 1
    assert "or longer if it renews that; `ostinato release " in said


def test_words_for_who_is_waited_for():
    words = waits.in_words({"a": 1}, 5.0)
    assert words.startswith("waiting for 1 measurement that a holds until ")
    words = waits.in_words({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}, 1e6)
    assert words.startswith("waiting for 15 measurements that a, b, c and 2 others hold until 2")


# Clocks


@pytest.mark.parametrize("jump", [YEAR, -YEAR])
def test_a_clock_that_jumps_by_a_year_ends_leases_and_loses_nothing(study, other, clock, jump):
    task = study.ask(3, worker="robot-3")
    clock[0] = jump
    again = other.ask(3)
    assert repeats(again) == repeats(task)
    clock[0] = 0.0  # it is put right: what was given in the other year does not last for one
    third = study.ask(3, worker="robot-4")
    assert repeats(third) == repeats(task)
    assert study.tell(third, [1.0, 2.0, 3.0]) == 3
    assert other.tell(again, [1.0, 2.0, 3.0]) == study.tell(task, [1.0, 2.0, 3.0]) == 0
    assert study.status().measurements == 3
    assert verify(study.storage, "lab") == []


@pytest.mark.parametrize("jump", [YEAR, -YEAR])
def test_runs_go_on_while_the_clock_jumps(study, other, clock, jump, quick_heart):
    count, lock = [0], threading.Lock()

    def measure(candidate):
        with lock:
            count[0] += 1
            clock[0] = jump if count[0] % 4 < 2 else 0.0
        return 1.0

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LongMeasurements)
        runs = [threading.Thread(target=each.run, args=(measure, 40), kwargs={"workers": 2}) for each in (study, other)]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
    assert study.status().measurements == 40
    assert verify(study.storage, "lab") == []
    assert study.leases() == []


def test_small_corrections_of_a_clock_end_nothing(study, other, clock):
    task = study.ask(3, worker="robot-3", lease=10.0)
    clock[0] = -2.0
    assert repeats(other.ask(3)).isdisjoint(repeats(task))


# Processes


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine as it says it is: its boot, the processes that see each other, and for how long it has been up."""

    def be(boot, space, up=1e6, began="500"):
        proc = tmp_path / f"{boot}-{space}-{up}"
        (proc / "sys/kernel/random").mkdir(parents=True, exist_ok=True)
        (proc / "sys/kernel/random/boot_id").write_text(boot)
        (proc / "uptime").write_text(f"{up} 1.0")
        own = proc / str(os.getpid())
        (own / "ns").mkdir(parents=True, exist_ok=True)
        (own / "stat").write_text(f"1 (python) {' '.join(['S'] + ['0'] * 18 + [began])}")
        for link, target in ((own / "ns/pid", f"pid:[{space}]"), (proc / "self", str(os.getpid()))):
            link.unlink(missing_ok=True)
            link.symlink_to(target)
        monkeypatch.setattr(workers, "PROC", proc)
        return this_worker.__wrapped__()  # as if no other machine had been there before

    return be


def test_two_containers_of_one_kernel_do_not_take_each_other_for_gone(machine):
    first, second = machine("boot", 1), machine("boot", 2)
    assert first.split("|")[0] == second.split("|")[0]  # equal host names, and equal numbers
    assert first.split("|")[3] == second.split("|")[3]
    assert not is_gone(f"{first}|key", local=True)  # seen from the second
    assert not is_gone(f"{second}|key", local=True)


def test_a_container_that_is_given_the_place_of_another_knows_that_it_ended(machine):
    first = machine("boot", 1, began="500")
    machine("boot", 1, began="700")
    assert is_gone(f"{first}|key")


def test_a_host_that_started_again_knows_it_where_that_can_be_proved(machine):
    long_ago = machine("boot 1", 1, up=1e6, began=str(int(9e5 * os.sysconf("SC_CLK_TCK"))))
    early = machine("boot 1", 1, began="500")
    machine("boot 2", 1, up=120.0)
    assert is_gone(f"{long_ago}|key", local=True)  # nothing that runs now began after nine hundred thousand seconds
    assert not is_gone(f"{long_ago}|key")  # it may be another machine that shares the database
    assert not is_gone(f"{early}|key", local=True)  # a container with a boot of its own may look like that


def test_a_process_that_ended_is_gone_before_its_parent_has_asked_how():
    """As in a container whose first process never asks."""
    child = subprocess.Popen([sys.executable, "-c", "print(end=input())"], stdin=subprocess.PIPE)
    worker = "|".join([*workers._here(), str(child.pid), workers._began(child.pid), "key"])
    assert not is_gone(worker)
    child.kill()
    wait_until(lambda: is_gone(worker))
    child.communicate()


def test_what_is_not_the_own_view_of_processes_proves_nothing(machine):
    worker = machine("boot", 1)
    (workers.PROC / "self").unlink()
    (workers.PROC / "self").symlink_to("1234567")
    assert not is_gone(f"{worker}|key", local=True)
    assert this_worker.__wrapped__().startswith("|||")


def test_a_disk_of_ones_own_is_known_as_such(tmp_path, postgres):
    assert not open_storage(postgres.schema()).backend.local
    assert isinstance(open_storage(tmp_path / "lab.db").backend.local, bool)
    assert Lease(0, 0, 1, "a", 10.0, 5.0).is_over(now=10.0)
    assert not Lease(0, 0, 1, "a", 10.0, 5.0).is_over(now=9.9)
