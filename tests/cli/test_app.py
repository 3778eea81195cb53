"""The command line, as a person types it."""

import subprocess
import sys
from pathlib import Path

import pytest

import ostinato
import terminal
import warm

INSTALLED = ([Path(sys.executable).with_name("ostinato")], [sys.executable, "-m", "ostinato"])


def ostinato_command(*arguments):
    return terminal.ostinato(*arguments, cwd=Path())


def installed(*arguments):
    """What was installed, in the ways that users start it."""
    for program in INSTALLED:
        yield subprocess.run(
            [*program, *arguments], capture_output=True, text=True, timeout=terminal.PATIENCE, check=False
        )


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


def test_a_command_in_a_fork_is_the_command(tmp_path):
    """The tests run most commands in forks (`warm.py`); they end and print as one that is started."""
    arguments, here = ("status", "nowhere.db"), {"cwd": tmp_path, "env": terminal.environment()}
    started = subprocess.run([*terminal.OSTINATO, *arguments], capture_output=True, text=True, check=False, **here)
    forked = terminal.ostinato(*arguments, cwd=tmp_path)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_a_command_in_a_fork_ends_with_whoever_waits_for_it(lab):
    """What it prints is read to its end only when it is gone."""
    program = [*warm.command(), *terminal.OPTIMIZE, "--budget", "2", "--workers", "1"]
    process = subprocess.Popen(program, cwd=lab, env=terminal.environment(HELD_AFTER="0"), stdout=subprocess.PIPE)
    terminal.wait_until(lambda: terminal.lines(lab / "calls") == 1)
    process.kill()
    assert process.communicate(timeout=terminal.PATIENCE)[0] == b""
    (lab / "go").touch()
