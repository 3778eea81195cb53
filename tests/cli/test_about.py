"""What a report of a bug should say about an installation."""

import json
import platform
import sqlite3
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

import ostinato
import terminal


def said(*arguments, **environment):
    return terminal.ostinato(*arguments, cwd=Path(), **environment)


def test_verbose_says_what_a_report_of_a_bug_should():
    done = said("--version", "--verbose", OMP_NUM_THREADS="3")
    assert done.returncode == 0, done.stderr
    for words in (
        ostinato.__version__,
        platform.python_version(),
        platform.machine(),
        f"numpy {np.__version__}",
        f"scipy {version('scipy')}",
        f"sqlalchemy {version('sqlalchemy')}",
        sqlite3.sqlite_version,
        "OMP_NUM_THREADS=3",
        "[plots]",
        "[server]",
    ):
        assert words in done.stdout, words
    assert str(Path.home()) not in done.stdout  # it is pasted into public places


def test_the_same_as_json():
    found = json.loads(said("--version", "--json").stdout)
    assert found["ostinato"] == ostinato.__version__
    assert found["libraries"]["numpy"] == np.__version__
    assert found["extras"]["plots"] == {"matplotlib": version("matplotlib")}
    assert found["blas"]["numpy"] == found["blas"]["numpy"].strip() != ""
    assert found["processors"]["usable"] >= 1


@pytest.mark.parametrize("option", ["--verbose", "--json"])
def test_options_of_the_version_are_refused_elsewhere(option):
    done = said(option, "best", "lab.db")
    assert done.returncode == 2
    assert "--version" in done.stderr
