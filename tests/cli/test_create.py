"""A study made, and its budget changed, without anything being measured."""

import json

from terminal import OPTIMIZE, ostinato


def status(lab):
    return json.loads(ostinato("status", "lab.db", "--json", cwd=lab).stdout)


def test_a_study_is_made_for_others_to_work_on(lab):
    done = ostinato("create", "lab.db", "catalogue.csv", "--budget", "3", "--direction", "minimize", cwd=lab)
    assert done.returncode == 0, done.stderr
    assert "0 of 3 measurements" in done.stdout
    (task,) = map(json.loads, ostinato("ask", "lab.db", cwd=lab).stdout.splitlines())
    task["values"] = [7] * task["repeats"]
    ostinato("tell", "lab.db", cwd=lab, typed=json.dumps(task) + "\n")
    assert "the budget is 9 measurements now" in ostinato("budget", "lab.db", "9", cwd=lab).stderr
    assert (status(lab)["budget"], status(lab)["measurements"]) == (9, task["repeats"])
    more = ostinato("optimize", "catalogue.csv", "--manual", "--storage", "lab.db", cwd=lab, typed="8\nq\n")
    assert more.returncode == 0  # the same study, with the settings that it was made with
    assert status(lab)["measurements"] == task["repeats"] + 1


def test_what_is_there_is_not_made_again_nor_cut_short(lab):
    ostinato("create", "lab.db", "catalogue.csv", "--budget", "3", cwd=lab)
    again = ostinato("create", "lab.db", "catalogue.csv", "--budget", "5", cwd=lab)
    assert (again.returncode, "ostinato budget" in again.stderr) == (2, True)
    (lab / "two.csv").write_text("row,value\n0,1\n1,2\n")
    ostinato("import", "lab.db", "two.csv", cwd=lab)
    less = ostinato("budget", "lab.db", "1", cwd=lab)
    assert (less.returncode, "below the 2 measurements" in less.stderr) == (2, True)
    assert status(lab)["budget"] == 3


def test_an_empty_file_is_no_study(lab):
    (lab / "catalogue.db").touch()
    for command in (("status", "catalogue.db"), ("history", "catalogue.db"), (*OPTIMIZE, "--budget", "3")):
        done = ostinato(*command, cwd=lab)
        assert done.returncode == 2
        assert "catalogue.db is empty (0 bytes)" in " ".join(done.stderr.split())
    assert (lab / "catalogue.db").read_bytes() == b""
    assert not (lab / "calls").exists()


def test_another_command_on_the_same_study_is_remarked_on(lab):
    assert "note:" not in ostinato(*OPTIMIZE, "--budget", "2", cwd=lab).stderr
    assert "note:" not in ostinato(*OPTIMIZE, "--budget", "3", cwd=lab).stderr
    other = ("optimize", "catalogue.csv", "--command", "./measure {ph} {temp}", "--budget", "4")
    done = ostinato(*other, cwd=lab)
    assert done.returncode == 0
    words = " ".join(done.stderr.split())
    assert "was measured with ./measure {temp} {ph} before, and now with ./measure {ph} {temp}" in words


def test_ask_stops_where_the_study_does(lab):
    ostinato("create", "lab.db", "catalogue.csv", "--stop", "spent=2", "--seed", "0", cwd=lab)
    for value in (1, 2):
        (task,) = map(json.loads, ostinato("ask", "lab.db", "--limit", "1", cwd=lab).stdout.splitlines())
        ostinato("tell", "lab.db", cwd=lab, typed=json.dumps(task | {"values": [value]}) + "\n")
    done = ostinato("ask", "lab.db", cwd=lab)
    assert (done.returncode, done.stdout) == (0, "")
    assert "stopped by Spent(cost=2.0); give --beyond to go on" in " ".join(done.stderr.split())
    assert ostinato("ask", "lab.db", "--beyond", cwd=lab).stdout != ""
    by_hand = ("optimize", "catalogue.csv", "--manual", "--storage", "lab.db", "--name", "catalogue")
    ended = ostinato(*by_hand, cwd=lab, typed="5\nq\n")
    assert (ended.returncode, "stopped by Spent" in ended.stderr) == (0, True)


def test_top_says_why_its_intervals_are_wider_than_that_of_best(lab):
    ostinato("create", "lab.db", "catalogue.csv", "--seed", "0", cwd=lab)
    (lab / "some.csv").write_text(
        "row,value\n" + "".join(f"{row},{row % 5}\n{row},{row % 5 + 0.3}\n" for row in range(9))
    )
    ostinato("import", "lab.db", "some.csv", cwd=lab)
    best = json.loads(ostinato("best", "lab.db", "--json", cwd=lab).stdout)
    first, *_ = json.loads(ostinato("top", "lab.db", "--json", cwd=lab).stdout)
    (alone,) = json.loads(ostinato("top", "lab.db", "-k", "1", "--json", cwd=lab).stdout)
    assert best["interval"] == alone["interval"]
    assert first["interval"][0] < best["interval"][0] < best["interval"][1] < first["interval"][1]
    assert "All 5 intervals hold at once with 95% probability" in " ".join(
        ostinato("top", "lab.db", cwd=lab).stdout.split()
    )


def test_what_is_assigned_counts_as_spent(lab):
    ostinato("create", "lab.db", "catalogue.csv", "--budget", "60", "--stop", "spent=5", "--seed", "0", cwd=lab)
    first = ostinato("ask", "lab.db", "--slots", "3", cwd=lab)
    second = ostinato("ask", "lab.db", "--slots", "9", cwd=lab)
    repeats = [sum(json.loads(line)["repeats"] for line in done.stdout.splitlines()) for done in (first, second)]
    assert repeats == [3, 2]
    third = ostinato("ask", "lab.db", cwd=lab)
    assert (third.stdout, "leaves nothing beyond what is assigned" in third.stderr.replace("\n", " ")) == ("", True)
    assert ostinato("ask", "lab.db", "--beyond", cwd=lab).stdout
