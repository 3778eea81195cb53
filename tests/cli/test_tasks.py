"""Work handed out and brought back as JSON lines: any language can do that."""

import json
import re
import shutil
import subprocess

import pytest

import warm
from ostinato.cli.manual import in_words
from terminal import environment, ostinato

BEGIN = ("optimize", "catalogue.csv", "--manual", "--seed", "0", "--budget", "60")


@pytest.fixture
def study(lab):
    ostinato(*BEGIN, cwd=lab, typed="q\n")
    return lab


def asked(lab, *options):
    done = ostinato("ask", "catalogue.db", *options, cwd=lab)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_plate_is_asked_for_and_told(study):
    tasks = asked(study, "--slots", "24")
    assert sum(task["repeats"] for task in tasks) == 24
    assert tasks[0]["candidate"].keys() == {"temp", "ph"}
    lines = [json.dumps(task | {"values": [task["candidate"]["temp"] / 10] * task["repeats"]}) for task in tasks]
    for new in (24, 0):  # the same again counts once
        done = ostinato("tell", "catalogue.db", cwd=study, typed="\n".join(lines) + "\n")
        assert f"took in {new} measurements" in done.stderr
    (study / "more.jsonl").write_text(json.dumps({"batch": tasks[0]["batch"], "start": 0, "values": [99]}) + "\n")
    refused = " ".join(ostinato("tell", "catalogue.db", "more.jsonl", cwd=study).stderr.split())
    (number,) = re.findall(r"\(measurement (\d+)\) has the value [\d.]+, and 99.0 was told: the first is kept", refused)
    assert f"`ostinato correct STUDY {number} VALUE`" in refused
    assert "or `ostinato import`" in refused
    assert json.loads(ostinato("status", "catalogue.db", "--json", cwd=study).stdout)["measurements"] == 24


def test_where_there_is_nothing_to_measure_it_says_why(study):
    planned = ostinato("ask", "catalogue.db", "--slots", "99", cwd=study)
    assert sum(json.loads(line)["repeats"] for line in planned.stdout.splitlines()) == 60
    assert "60 of 99 slots are filled: the budget leaves no more" in planned.stderr
    done = ostinato("ask", "catalogue.db", cwd=study)
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing to measure at the moment: what is left is assigned to other workers" in done.stderr.replace(
        "\n", " "
    )


def test_a_spent_budget_says_what_was_reached_and_how_to_go_on(lab):
    command = ("optimize", "catalogue.csv", "--command", "sh -c 'echo 3'", "--seed", "0")
    assert ostinato(*command, "--budget", "6", cwd=lab).returncode == 0
    again = ostinato(*command, "--budget", "6", cwd=lab)
    assert again.returncode == 0
    spent = "nothing to measure: the budget of 6 measurements is spent"
    assert f"{spent}; to go on, allow more in all: --budget 12" in again.stderr.replace("\n", " ")
    done = ostinato("ask", "catalogue.db", cwd=lab)
    assert (done.returncode, done.stdout) == (0, "")
    words = done.stderr.splitlines()
    assert words[0] == spent
    assert words[1].startswith("best        {'temp': ")
    assert words[2] == "to go on, allow more measurements in all: `ostinato budget catalogue.db 12`"
    assert ostinato("budget", "catalogue.db", "12", cwd=lab).returncode == 0
    assert asked(lab)


def test_plates_that_share_a_temperature_and_differ_otherwise(study):
    tasks = asked(study, "--slots", "4", "--distinct", "--shared", "temp")
    assert len({task["row"] for task in tasks}) == len(tasks) == 4
    assert len({task["candidate"]["temp"] for task in tasks}) == 1


def test_a_task_is_not_handed_out_twice_though_the_command_has_ended(study):
    (one,), (two,) = asked(study, "--limit", "1"), asked(study, "--limit", "1", "--worker", "robot-3")
    assert (one["batch"], one["start"]) != (two["batch"], two["start"])
    assert "took in 1 measurement" in ostinato("tell", "catalogue.db", str(one["batch"]), "12.5", cwd=study).stderr


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_shell_script_runs_a_study(study):
    (study / "loop").write_text(
        """\
for n in 1 2 3 4 5; do
    line=$("$@" ask catalogue.db --limit 1)
    echo "${line%?}, \\"values\\": [$n]}" | "$@" tell catalogue.db || exit 1
done
"""
    )
    done = subprocess.run(
        ["bash", "loop", *warm.command()], cwd=study, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(ostinato("status", "catalogue.db", "--json", cwd=study).stdout)["measurements"] == 5


def test_what_cannot_be_told_is_refused_and_nothing_is_taken_in(study):
    (task,) = asked(study)
    for typed, words in (
        ("not json\n", "Line 1 is not an answer"),
        ('{"batch": 77, "values": [1]}\n', "Batch 77 is none that was asked for"),
        (json.dumps({"batch": task["batch"], "values": [1] * 99}) + "\n", "were told"),
        (json.dumps({"batch": task["batch"]}) + "\n", "came without values"),
        (json.dumps({"batch": task["batch"], "values": [float("nan")]}), "(NaN is not JSON; write null for a"),
        (json.dumps({"batch": task["batch"], "values": [float("-inf")]}), "(-Infinity is not JSON; write null for a"),
        (json.dumps(task | {"row": task["row"] + 1, "values": [1]}), f"and the line says row {task['row'] + 1}:"),
        (
            json.dumps(task | {"candidate": task["candidate"] | {"temp": 99}, "values": [1]}),
            f"is of row {task['row']}, {in_words(task['candidate'])}, and the line says temp 99, ph ",
        ),
    ):
        done = ostinato("tell", "catalogue.db", cwd=study, typed=typed)
        assert done.returncode == 2
        assert words in done.stderr.replace("\n", " ")
    assert json.loads(ostinato("status", "catalogue.db", "--json", cwd=study).stdout)["measurements"] == 0


def test_values_typed_that_are_not_finite_are_refused(study):
    (task,) = asked(study)
    assert "inf is not finite" in ostinato("tell", "catalogue.db", task["batch"], "inf", cwd=study).stderr
    assert "took in 1" in ostinato("tell", "catalogue.db", task["batch"], "nan", cwd=study).stderr


def test_a_candidate_as_another_program_writes_it_is_the_same(study):
    (task,) = asked(study)
    line = task | {"candidate": {"temp": task["candidate"]["temp"] * (1 + 1e-9)}, "values": [1] * task["repeats"]}
    assert "took in" in ostinato("tell", "catalogue.db", cwd=study, typed=json.dumps(line)).stderr


def test_several_lines_are_told_all_or_none(lab):
    ostinato("create", "lab.db", "catalogue.csv", "--budget", "9", cwd=lab)
    (task,) = map(json.loads, ostinato("ask", "lab.db", cwd=lab).stdout.splitlines())
    lines = "".join(json.dumps({"batch": number, "start": 0, "values": [7]}) + "\n" for number in (task["batch"], 99))
    assert ostinato("tell", "lab.db", cwd=lab, typed=lines).returncode == 2
    assert json.loads(ostinato("status", "lab.db", "--json", cwd=lab).stdout)["measurements"] == 0


def test_a_retired_candidate_is_not_handed_to_another_worker(lab):
    ostinato("create", "lab.db", "catalogue.csv", "--budget", "9", cwd=lab)
    (task,) = map(json.loads, ostinato("ask", "lab.db", "--lease", "0.001", cwd=lab).stdout.splitlines())
    ostinato("candidates", "lab.db", "retire", str(task["row"]), cwd=lab)
    (other,) = map(json.loads, ostinato("ask", "lab.db", cwd=lab).stdout.splitlines())
    assert other["row"] != task["row"]


def test_another_rule_to_stop_by_is_kept(lab):
    run = ("create", "lab.db", "catalogue.csv", "--budget", "90", "--stop", "spent=50")
    assert ostinato(*run, cwd=lab).returncode == 0
    manual = ("optimize", "catalogue.csv", "--manual", "--storage", "lab.db", "--stop", "spent=1")
    ostinato(*manual, cwd=lab, typed="7\nq\n")
    assert "stopped by Spent" in ostinato("ask", "lab.db", cwd=lab).stderr


def test_a_value_that_others_told_first_does_not_cost_the_rest(study):
    tasks = asked(study, "--slots", "3", "--distinct")
    first = json.dumps(tasks[0] | {"values": [5.5]})
    ostinato("tell", "catalogue.db", cwd=study, typed=first + "\n")
    lines = "\n".join(json.dumps(task | {"values": [7.0]}) for task in tasks)
    done = ostinato("tell", "catalogue.db", cwd=study, typed=lines + "\n")
    assert done.returncode == 2
    assert "took in 2 measurements" in done.stderr
    assert "has the value 5.5" in done.stderr
