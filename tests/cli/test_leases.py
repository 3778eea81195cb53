"""Who has what, and until when: `ostinato leases`, `release` and `renew`."""

import json

import pytest

from terminal import ostinato


@pytest.fixture
def study(lab):
    ostinato("create", "lab.db", "catalogue.csv", "--budget", "6", "--seed", "0", cwd=lab)
    ostinato("ask", "lab.db", "--slots", "4", "--worker", "robot-3", "--lease", "600", cwd=lab)
    return lab


def listed(study):
    return json.loads(ostinato("leases", "lab.db", "--json", cwd=study).stdout)


def test_leases_are_listed_prolonged_and_freed(study):
    (own,) = map(json.loads, ostinato("ask", "lab.db", "--limit", "1", cwd=study).stdout.splitlines())
    assert own["worker"] == "command line"
    before = listed(study)
    assert sum(each["repeats"] for each in before) == 5
    assert {each["worker"] for each in before} == {"robot-3", "command line"}
    assert {each["state"] for each in before} == {"held"}
    assert before[-1] | {"batch": own["batch"], "row": own["row"], "candidate": own["candidate"]} == before[-1]
    table = ostinato("leases", "lab.db", cwd=study).stdout
    assert all(each in table for each in ("robot-3", "command line", "temp", "held"))

    done = ostinato("renew", "lab.db", "--worker", "robot-3", "--lease", "5000", cwd=study)
    assert "renewed 4 measurements of robot-3" in done.stderr
    longer = {each["batch"]: each["until"] for each in listed(study)}
    assert longer[before[0]["batch"]] > before[0]["until"] + 4_000

    assert "freed 4 measurements" in ostinato("release", "lab.db", "--worker", "robot-3", cwd=study).stderr
    assert {each["worker"] for each in listed(study)} == {"command line"}
    assert "robot-3 holds nothing" in ostinato("renew", "lab.db", "--worker", "robot-3", cwd=study).stderr
    assert "freed 1 measurement" in ostinato("release", "lab.db", cwd=study).stderr
    assert "nothing is assigned to a worker" in ostinato("leases", "lab.db", cwd=study).stderr


def test_a_table_that_was_lost_is_printed_again(study):
    plate = ("ask", "lab.db", "--csv", "--worker", "Ana")
    lost = ostinato(*plate, "--slots", "2", "--distinct", cwd=study).stdout
    ostinato("release", "lab.db", "--worker", "Ana", cwd=study)
    assert ostinato(*plate, "--slots", "2", cwd=study).stdout == lost


def test_a_run_gets_what_was_freed(study):
    ostinato("ask", "lab.db", cwd=study)  # all of the budget is assigned now
    ostinato("release", "lab.db", cwd=study)
    run = ("optimize", "catalogue.csv", "--storage", "lab.db", "--name", "catalogue", "--command", "echo 1")
    done = ostinato(*run, "--lease", "30", "--json", cwd=study)
    assert json.loads(done.stdout)["measurements"] == 6, done.stderr
