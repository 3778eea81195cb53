"""Fixtures that several rooms share."""

import pytest


@pytest.fixture(scope="session")
def postgres():
    """A real PostgreSQL server."""
    from servers import Server

    server = Server()
    yield server
    server.remove()


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Where a new storage can be made: of each kind in turn."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/lab.db"
    return request.getfixturevalue("postgres").database()
