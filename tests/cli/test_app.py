"""The command line, as a person types it."""

import subprocess
import sys

import pytest

import ostinato


def ostinato_command(*arguments):
    code = "from ostinato.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


@pytest.mark.parametrize("policy", ["ucb", "ei", "ts"])
def test_the_demo_prints_the_answer_beside_the_truth(policy):
    done = ostinato_command("demo", "--budget", "2000", "--policy", policy)
    assert done.returncode == 0, done.stderr
    for word in ("recommended", "true optimum", "switches", "certificate", "2,000"):
        assert word in done.stdout
    assert done.stderr == ""


def test_the_demo_is_reproducible():
    first, second = (ostinato_command("demo", "--budget", "1000", "--seed", "5").stdout for _ in range(2))
    assert first == second
    assert first != ostinato_command("demo", "--budget", "1000", "--seed", "6").stdout


def test_help_teaches():
    for arguments in ([], ["--help"], ["demo", "--help"]):
        shown = ostinato_command(*arguments)
        assert "candidates" in shown.stdout
    assert "Example" in ostinato_command("demo", "-h").stdout


def test_version():
    assert ostinato_command("--version").stdout.strip() == f"ostinato {ostinato.__version__}"


def test_mistakes_are_told_without_a_traceback():
    done = ostinato_command("demo", "--policy", "best")
    assert done.returncode == 2
    assert "'best' is not one of" in done.stderr
    assert "Traceback" not in done.stderr
    assert ostinato_command("demo", "--budget", "0").returncode == 2
