"""Fixtures of the service."""

import pytest

from ostinato import Client
from ostinato.service.tokens import Role
from service_lab import Lab, listening_at


@pytest.fixture
def lab(tmp_path):
    lab = Lab(tmp_path / "lab.db")
    yield lab
    lab.app.service.close()


@pytest.fixture
def listening(lab):
    """The laboratory on a port of this machine, in a thread."""
    with listening_at(lab.app) as lab.port:
        lab.url = f"http://127.0.0.1:{lab.port}"
        yield lab


@pytest.fixture
def client(listening):
    """A client of an administrator."""
    with Client(listening.url, listening.tokens[Role.ADMIN]) as client:
        yield client
