"""Fixtures that several rooms share."""

import signal

import pytest
from hypothesis import settings

settings.register_profile("patient", deadline=None)  # a busy machine is no defect
settings.load_profile("patient")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # tests that run in the background of a shell: it would stay so
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server."""
    from servers import Server

    server = Server(fsync=False)
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Where a new storage can be made: of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lab.db"
    return request.getfixturevalue("postgres").schema()
