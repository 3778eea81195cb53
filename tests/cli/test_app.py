"""The command line, as a person types it."""

import subprocess
import sys
from pathlib import Path

import pytest

import ostinato
import terminal

INSTALLED = ([Path(sys.executable).with_name("ostinato")], [sys.executable, "-m", "ostinato"])


def ostinato_command(*arguments):
    return terminal.ostinato(*arguments, cwd=Path())


def installed(*arguments):
    """What was installed, in the ways that users start it."""
    for program in INSTALLED:
        yield subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=terminal.PATIENCE, check=False)


@pytest.mark.parametrize("policy", ["ucb", "ei", "ts"])
def test_the_demo_prints_the_answer_beside_the_truth(policy):
    done = ostinato_command("demo", "--budget", "2000", "--policy", policy)
    assert done.returncode == 0, done.stderr
    for word in ("recommended", "true optimum", "switches", "certificate", "2,000"):
        assert word in done.stdout
    assert done.stderr == ""


def test_the_demo_is_reproducible():
    first, second = (done.stdout for done in installed("demo", "--budget", "1000", "--seed", "5"))
    assert first == second
    assert first != ostinato_command("demo", "--budget", "1000", "--seed", "6").stdout


def test_help_teaches():
    for arguments in ([], ["--help"], ["demo", "--help"]):
        shown = ostinato_command(*arguments)
        assert "candidates" in shown.stdout
    assert "Example" in ostinato_command("demo", "-h").stdout


def test_version():
    for done in installed("--version"):
        assert done.stdout.strip() == f"ostinato {ostinato.__version__}"


def test_mistakes_are_told_without_a_traceback():
    for done in installed("demo", "--policy", "best"):
        assert done.returncode == 2
        assert "'best' is not one of" in done.stderr
        assert "Traceback" not in done.stderr
    assert ostinato_command("demo", "--budget", "0").returncode == 2
