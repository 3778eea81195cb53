"""The short versions of `make torture`: killed processes, failing disks, restarted servers, lost workers."""

import os
import shutil

import pytest
from benchmarks.reliability import damage, soak, torture, writes
from benchmarks.reliability.slow import slowly
from benchmarks.reliability.worker import SETTINGS, X

from ostinato.study import Study
from servers import Server


def assert_nothing_is_lost(found):
    assert found.acknowledged > 0
    assert (found.lost, found.changed, found.damage) == (0, 0, [])
    assert found.same_next


def test_twenty_processes_killed_at_work(tmp_path):
    found = torture.killed(f"sqlite:///{tmp_path}/lab.db", tmp_path, 20)
    assert_nothing_is_lost(found)
    assert found.done == 20


def test_many_processes_at_once(address, tmp_path):
    found, codes = torture.asked_at_once(address, tmp_path, 6, 8)
    assert_nothing_is_lost(found)
    assert codes == [0] * 6
    assert found.twice == 0


def test_a_server_that_restarts(tmp_path):
    server = Server()  # of its own: one with the databases of all other tests would take minutes to recover
    try:
        found, errors = torture.restarted(server, server.database(), tmp_path, 2)
    finally:
        server.remove()
    assert_nothing_is_lost(found)
    assert not errors
    assert found.done == 2


@pytest.fixture
def strace():
    if shutil.which("strace") is None:
        assert not os.environ.get("OSTINATO_REQUIRE_SERVERS"), "strace is missing"
        pytest.skip("strace is not installed: apt-get install strace")


@pytest.mark.usefixtures("strace")
def test_a_disk_that_fails(tmp_path):
    """The other faults: below, one by one, and `make torture`."""
    found, failed, _ = torture.faulty(tmp_path, torture.FAULTS["synchronising fails"], 1.0, patience=3.0)
    assert_nothing_is_lost(found)
    assert failed > 0


@pytest.mark.usefixtures("strace")
def test_some_writes_of_a_session_fail(tmp_path):
    """Every 40th; `make torture` has all of them."""
    found = writes.every_write(tmp_path, tasks=1, step=40)
    assert found.failed >= found.runs >= 4
    assert found.acknowledged > 0
    assert (found.lost, found.doubled, found.damage) == (0, 0, [])


def test_files_that_are_cut_off_or_have_a_bit_flipped(tmp_path):
    whole = damage.made(tmp_path)
    cut = damage.damaged(whole, tmp_path, damage.cuts(whole, 20 * damage.CUT))
    assert cut.silent == 0
    assert cut.noticed == cut.done >= 10
    flipped = damage.damaged(whole, tmp_path, damage.flips(whole, 60 * damage.FLIPPED))
    assert flipped.silent == 0
    assert flipped.noticed > 0


def test_a_day_of_a_study(tmp_path):
    """In some seconds, with one of everything; `python -m benchmarks.reliability soak` has a longer one."""
    server = Server()
    try:
        day = soak.Day(8.0, outages=1, kills=2, crashes=1, restarts=1, revisions=2, additions=1)
        found = soak.Soak(server, tmp_path, day).live()
    finally:
        server.remove()
    assert found.done["kills"] == 4
    assert found.stored > 0
    assert (found.lost, found.doubled, found.damage, found.paused) == ([], 0, [], 0)
    assert found.same_best
    assert found.apart < 1e-6


@pytest.mark.filterwarnings("default")  # Dask's own
def test_a_dask_cluster_that_loses_workers(tmp_path):
    best, left, deaths = torture.on_dask(tmp_path / "lab.db", 150, kill=1, workers=2)
    calm = Study("calm", tmp_path / "calm.db", X, seed=0, **SETTINGS)
    calm.run(slowly, 150, workers=2)
    assert (left, deaths) == ([], 1)
    assert best == calm.best().index


def test_many_feedbacks(tmp_path):
    seen = torture.stored_and_opened(tmp_path / "many.db", 1_000_000)
    assert seen["feedbacks"] == 1_000_000
    assert seen["memory_growth_MB"] < 20
