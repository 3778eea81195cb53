"""Fixtures that several rooms share, and how tests are spread over the cores."""

import os
import signal
import warnings

import pytest
from hypothesis import settings

from sizes import size

settings.register_profile("patient", deadline=None, max_examples=size(40, 100))  # a busy machine is no defect
settings.load_profile("patient")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # tests that run in the background of a shell: it would stay so
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """`-n auto` is one more than there are cores: some tests wait, for disks, leases and other processes."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Who has nothing left takes over what others have not begun, so that all end at about the same time."""
    from xdist.scheduler import WorkStealingScheduling

    if config.getvalue("dist") == "load":  # the default
        return WorkStealingScheduling(config, log)
    return None


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server."""
    from servers import Server

    server = Server(fsync=False)
    yield server
    server.remove()


@pytest.fixture
def long_waits(monkeypatch):
    """From now on whoever waits for a lock waits for minutes: more than anything else takes on the busiest machine."""
    monkeypatch.setattr("ostinato.storage.sqlite.BUSY", 600.0)
    monkeypatch.setattr("ostinato.storage.postgres.LOCK", 600)
    return 300.0  # seconds: whoever took less has not waited


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Where a new storage can be made: of each kind in turn."""
    return new_address(request, tmp_path)


@pytest.fixture(params=size(["sqlite"], ["sqlite", "postgresql"]))
def any_address(request, tmp_path):
    """The same for what does not depend on the kind of storage, by the promise that all storages are tested for."""
    return new_address(request, tmp_path)


def new_address(request, tmp_path):
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lab.db"
    return request.getfixturevalue("postgres").schema()


@pytest.fixture(scope="session")
def two_workers():
    """A client of a real Dask cluster: a scheduler, and two workers in processes of their own."""
    import dask
    from distributed import Client, LocalCluster

    dask.config.set({"distributed.deploy.lost-worker-timeout": "10 minutes"})  # 15 s are few on a busy machine
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with warnings.catch_warnings():  # Dask has some of its own
        warnings.simplefilter("ignore")
        cluster = LocalCluster(**how)
        client = Client(cluster)
    yield client
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client.close()
        cluster.close()
