"""The short versions of `make torture`: killed processes, failing disks, restarted servers, lost workers."""

import os
import shutil

import pytest
from benchmarks.reliability import torture

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
        found, errors = torture.restarted(server, server.database(), tmp_path, 3)
    finally:
        server.remove()
    assert_nothing_is_lost(found)
    assert not errors
    assert found.done == 3


@pytest.mark.parametrize("fault", ["synchronising fails", "the disk is full"])  # the others: make torture
def test_disks_that_fail(tmp_path, fault):
    if shutil.which("strace") is None:
        assert not os.environ.get("OSTINATO_REQUIRE_SERVERS"), "strace is missing"
        pytest.skip("strace is not installed: apt-get install strace")
    found, failed, _ = torture.faulty(tmp_path, torture.FAULTS[fault], 3.0, patience=3.0)
    assert_nothing_is_lost(found)
    assert failed > 0


@pytest.mark.filterwarnings("default")  # Dask's own
def test_a_dask_cluster_that_loses_workers(tmp_path):
    best, left, deaths = torture.on_dask(tmp_path / "lab.db", 300, 2)
    calm, _, _ = torture.on_dask(tmp_path / "calm.db", 300, 0)
    assert (left, deaths) == ([], 2)
    assert best == calm


def test_many_feedbacks(tmp_path):
    seen = torture.stored_and_opened(tmp_path / "many.db", 1_000_000)
    assert seen["feedbacks"] == 1_000_000
    assert seen["memory_growth_MB"] < 20
