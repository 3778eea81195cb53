"""The command line, as a person types it."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import ostinato
import terminal
import warm
from ostinato.cli.commands import COMMANDS, function_of

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
    done = ostinato_command("demo", "--budget", "1000", "--policy", policy)
    assert done.returncode == 0, done.stderr
    for word in ("recommended", "true optimum", "switches", "certificate", "1,000"):
        assert word in done.stdout
    assert done.stderr == ""


def test_the_demo_is_reproducible():
    first, second = (done.stdout for done in installed("demo", "--budget", "200", "--seed", "5"))
    assert first == second
    assert first != ostinato_command("demo", "--budget", "200", "--seed", "6").stdout


def test_help_teaches():
    for arguments in ([], ["--help"], ["demo", "--help"]):
        shown = ostinato_command(*arguments)
        assert "candidates" in shown.stdout
    assert "Example" in ostinato_command("demo", "-h").stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_help_lists_every_command_with_the_first_of_its_own_words(name):
    first = inspect.cleandoc(function_of(name).__doc__).split("\n\n")[0]
    assert COMMANDS[name].line == " ".join(first.split())
    plain = re.sub(r"\[/?bold\]", "", COMMANDS[name].line)
    shown = ostinato_command("--help").stdout
    assert f"│ {name} " in shown
    assert plain in re.sub(r"[│\s]+", " ", shown)


def test_a_command_that_is_misspelt():
    done = ostinato_command("bset", "lab.db")
    assert done.returncode == 2
    assert "Did you mean" in done.stderr


def imported_by(*arguments, cwd):
    """The packages, and modules of our own, that a command imports in a process of its own."""
    code = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
from ostinato.cli import main
main()
"""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=terminal.PATIENCE, check=True)
    modules = done.stderr.split()
    return {each.partition(".")[0] for each in modules} | {each for each in modules if each.startswith("ostinato.")}


def test_commands_import_what_they_need_and_no_more(tmp_path):
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"temp": rng.random(20_000), "solvent": rng.choice(["water", "none"], 20_000)})
    study = ostinato.Study("lab", tmp_path / "lab.db", table, budget=3, seed=0, noise_std=0.1)
    study.run(lambda candidate: candidate["temp"], progress=False)
    for command in ("best", "status"):  # their answer is stored
        found = imported_by(command, "lab.db", cwd=tmp_path)
        assert not found & {"scipy", "narwhals", "alembic", "pandas", "polars", "pyarrow"}
        assert not found & {"ostinato.optimizer.optimizer", "ostinato.posterior", "ostinato.policies"}
    for command in ("--help", "--version"):
        assert not imported_by(command, cwd=tmp_path) & {"numpy", "sqlalchemy", "scipy", "ostinato.study"}
    assert "scipy" in imported_by("top", "lab.db", cwd=tmp_path)  # which takes a model: it would be seen


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


def test_where_the_study_is_missing_those_of_the_folder_are_named(tmp_path):
    assert "Give the file of the study: there is no *.db here." in terminal.ostinato("best", cwd=tmp_path).stderr
    (tmp_path / "reaction.db").touch()
    missing = terminal.ostinato("best", cwd=tmp_path).stderr
    assert "Missing argument 'STUDY'. Give the file of the study: here is reaction.db." in missing
    (tmp_path / "more.db").touch()
    assert "here are more.db, reaction.db." in terminal.ostinato("tell", cwd=tmp_path).stderr
