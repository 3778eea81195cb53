"""Programs in any language: what they are given, what they print, and how they fail."""

import math
import sys
import time
from math import isnan
from pathlib import Path

import pytest

from ostinato.errors import Failed, ImpossibleValue, InvalidSetting
from ostinato.measurements.outcomes import outcome_of
from ostinato.running.objectives import Command, function, value_of

PYTHON = sys.executable
CANDIDATE = {"temp": 20.5, "layers": 3, "solvent": "a; touch pwned $(id) 'x' \"y\"", "hot": True}
COLUMNS = tuple(CANDIDATE)


def test_values_arrive_as_they_are(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = Command(
        f"{PYTHON} -c 'import sys; print(sys.argv[1:]); print(1)' {{temp}} n={{layers}} {{solvent}} {{hot}}", COLUMNS
    )
    assert command.arguments(CANDIDATE)[3:] == ["20.5", "n=3", CANDIDATE["solvent"], "true"]
    assert command(CANDIDATE) == 1.0


@pytest.mark.parametrize("shell", ["sh -c", "bash -ec"])
def test_within_a_shell_they_are_quoted(tmp_path, monkeypatch, shell):
    monkeypatch.chdir(tmp_path)
    command = Command(shell + " 'printf %s {solvent} > told; echo {temp}'", COLUMNS)
    assert command(CANDIDATE) == 20.5
    assert (tmp_path / "told").read_text() == CANDIDATE["solvent"]
    assert not (tmp_path / "pwned").exists()


def test_the_whole_candidate_is_in_the_environment():
    code = 'import json, os; print(json.loads(os.environ["OSTINATO_CANDIDATE"])["layers"])'
    assert Command(f"{PYTHON} -c '{code}'", COLUMNS)(CANDIDATE) == 3


@pytest.mark.parametrize(
    ("printed", "value"),
    [("1.5\n", 1.5), ("hello\n\n -2e3 \n\n", -2000), ('{"value": 4, "took": 3}', 4), ("7", 7)],
)
def test_the_last_line_is_the_value(printed, value):
    assert value_of(printed) == value


@pytest.mark.parametrize(
    "printed", ["", "\n", "hello", "nan", "inf", "1e999", "null", "true", '{"other": 1}', "1_000", "[1]", "1 2"]
)
def test_what_is_no_number_is_a_failure(printed):
    with pytest.raises(Failed):
        value_of(printed)


@pytest.mark.parametrize(("outcome", "fine", "wrong"), [("count", 3, -1), ("count", 0, 2.5), ("binary", 1, 2)])
def test_a_number_that_the_outcome_does_not_have_is_a_failure_which_is_said_once(outcome, fine, wrong):
    command = Command("echo {x}", ("x",), outcome=outcome_of(outcome))
    words = f"printed {wrong}, which is not a measurement of outcome='{outcome}'"
    with pytest.warns(ImpossibleValue, match=words) as said:
        assert isnan(command({"x": wrong}))
    assert len(said) == 1
    assert isnan(command({"x": wrong}))  # where warnings are errors
    assert command.failures.count == 2
    assert words in command.failures.last
    assert command({"x": fine}) == fine
    assert command.failures.count == 2


def test_failures_are_counted_and_tried_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = "echo x >> tries; test $(wc -l < tries) -ge 4 && echo 5 || {{ echo broken >&2; exit 3; }}"
    command = Command("sh -c '" + script + "'", COLUMNS, retries=1)
    assert isnan(command(CANDIDATE))  # two tries
    assert command.failures.count == 1
    assert "code 3" in command.failures.last
    assert "broken" in command.failures.last
    assert command(CANDIDATE) == 5  # and two more
    assert command.failures.count == 1


def test_a_program_that_takes_too_long_is_stopped_with_all_it_started(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = Command("sh -c '(while true; do echo x >> beats; sleep 0.02; done) & wait'", COLUMNS, timeout=1.0)
    assert isnan(command(CANDIDATE))
    assert "more than 1 seconds" in command.failures.last
    beats = Path("beats").stat().st_size
    time.sleep(0.5)
    assert 0 < beats == Path("beats").stat().st_size


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("./nowhere {temp}", "no program './nowhere'"),
        ("echo {tmp}", "names {tmp}.*temp, layers"),
        ("echo 'unfinished", "check its quotes"),
        ("", "is empty"),
        ("echo {temp", "cannot be read"),
        ("sh -c \"echo '{temp}'\"", "between quotes"),
        ("bash -c 'echo \"a {temp}\"'", "between quotes"),
    ],
)
def test_bad_commands_are_refused_before_anything_runs(template, words):
    with pytest.raises(InvalidSetting, match=words):
        Command(template, COLUMNS)


def test_functions_by_name():
    assert function("math:sqrt")(4) == 2
    for name in ("math", "math:", "nowhere:f", "math:nothing", "math:pi"):
        with pytest.raises(InvalidSetting, match="--function"):
            function(name)


def test_what_a_program_leaves_behind_does_not_hold_it_up():
    command = Command("sh -c 'sleep 100 & echo 3'", ("temp",), timeout=200)
    start = time.monotonic()
    assert command({"temp": 1}) == 3.0
    assert time.monotonic() - start < 90


def test_within_a_shell_values_are_quoted_and_quotes_beside_them_are_fine(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command = Command("sh -c 'echo \"x\" >&2; echo {temp}'", ("temp",))
    assert math.isnan(command({"temp": "$(touch bad); touch worse"}))
    assert list(tmp_path.iterdir()) == []
    assert command({"temp": 5}) == 5.0


@pytest.mark.parametrize("operator", ["|", ">", ">>", "2>", "2>&1", "&&", ";", "<"])
def test_what_only_a_shell_understands_is_refused_unless_it_is_quoted(operator):
    with pytest.raises(InvalidSetting, match="sh -c"):
        Command(f"echo {{temp}} {operator} cat", ("temp",))
    assert Command(f"echo '{operator}' {{temp}}", ("temp",)).program.name.startswith("echo")


@pytest.mark.parametrize(
    ("arguments", "left_out"),
    [
        ("{temp}", ("layers", "solvent", "hot")),
        ("{temp} {layers} {solvent} {hot}", ()),
        ("", ()),  # it may read all of them from its environment
        ("{temp} -c 'import os; os.environ[\"OSTINATO_CANDIDATE\"]'", ()),
    ],
)
def test_columns_that_are_left_out_are_known(arguments, left_out):
    assert Command(f"{PYTHON} {arguments}", COLUMNS).left_out == left_out
