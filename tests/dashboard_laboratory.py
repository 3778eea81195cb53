"""A server with studies for the tests of the dashboard, and a browser to look at it."""

import os
import subprocess
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from ostinato import Study
from ostinato.candidates.reading import listed
from ostinato.errors import OstinatoWarning
from ostinato.service.tokens import Role, create_token
from ostinato.storage import open_storage
from terminal import start

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]
SCRIPT = "<script>alert(1)</script>"
LONG = "a category whose name is very long, as those of catalysts and strains in a laboratory sometimes are (batch {})"


def need_chromium():
    """Skip where there is no browser, unless servers are required."""
    if not CHROMIUM.exists():
        message = "Chromium is not installed: apt-get install chromium (make test does it where it may)"
        if os.environ.get("OSTINATO_REQUIRE_SERVERS"):
            pytest.fail(message)
        pytest.skip(message)


def told(study, values_of, most=12):
    """Measure until so many values were told."""
    while study.counters()[0].answered < most:
        task = study.ask(limit=3, worker="robot")
        if task is None:
            return
        study.tell(task, [values_of(task.candidate, i) for i in range(task.repeats)])


def make_studies(file):
    """Studies of all kinds that pages have to show."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OstinatoWarning)
        made = SimpleNamespace(names=[])

        def study(name, columns, **settings):
            made.names.append(name)
            return Study(name, file, listed(columns), seed=1, **settings)

        temps = {"temp": [20.0 + 5 * i for i in range(12)], "solvent": ["water", "ethanol"] * 6}
        told(study("yield", temps, budget=60), lambda c, i: 50 - (c["temp"] - 45) ** 2 / 40 + i * 0.3)
        study("empty", temps, budget=10)
        study("clicks", {"page": ["a", "b", "c"]}, outcome="binary")
        told(study("one measurement", temps), lambda c, i: 3.0, 1)
        told(study("one candidate", {"temp": [20.0]}, noise_std=1.0), lambda c, i: 4.0 + 0.1 * i, 3)
        told(study("all failed", temps), lambda c, i: None, 4)
        told(study("long names", {"what": [LONG.format(i) for i in range(8)]}), lambda c, i: len(c["what"]) + i, 10)
        told(study("extreme", {"x": [1e-9, 1e-3, 1.0, 1e6, 1e12]}), lambda c, i: 1e15 * (1 + 1e-3 * i), 6)
        told(study("minimize", temps, direction="minimize"), lambda c, i: -1e-7 * c["temp"] + i * 1e-9, 8)
        told(
            study(SCRIPT, {'<b onclick="x">': ["<img src=x onerror=alert(1)>", "b"]}, budget=9), lambda c, i: i + 1.0, 4
        )
        return made.names


def make_token(file, name, role, studies=()):
    """A token for somebody."""
    return create_token(open_storage(f"sqlite:///{file}"), name, Role(role), studies, time.time(), None)[0]


@contextmanager
def serving(file):
    """`ostinato serve` in a process of its own; yields the link that it prints."""
    command = ("serve", file, "--port", 0, "--no-browser")
    server = start(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        link = server.stdout.readline().strip()
        assert link, server.stderr.read()
        yield link
    finally:
        server.terminate()
        server.communicate(timeout=60)
