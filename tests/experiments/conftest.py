"""Fixtures of the experiments."""

from concurrent.futures import Future

import pytest

from ostinato.experiments import jobs


class Here:
    """An executor that works at once, in this process."""

    def __init__(self, _, equipment):
        jobs._equip(*equipment)

    def submit(self, work, *arguments):
        future = Future()
        future.set_result(work(*arguments))
        return future

    def map(self, work, items):
        return map(work, items)

    def shutdown(self, **_):
        """There is nothing to end."""


@pytest.fixture
def here(monkeypatch):
    """Runs are made in this process: for tests of what becomes of them. Others start real workers."""
    monkeypatch.setattr(jobs, "_executor", Here)
