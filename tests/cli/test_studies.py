"""`ostinato optimize` and its sisters, as they are typed: real programs, real crashes."""

import csv
import json
import signal
import subprocess
import sys

import pytest

from ostinato.candidates import read_file
from ostinato.study import Study
from terminal import OPTIMIZE, PATIENCE, lines, ostinato, start, wait_until


def test_a_program_is_optimised_and_the_study_answers(lab):
    done = ostinato(*OPTIMIZE, "--budget", "40", "--workers", "2", cwd=lab)
    assert done.returncode == 0, done.stderr
    assert "of 40 measurements" in done.stdout
    assert "best" in done.stdout
    assert "failed." in done.stderr
    assert "the reactor leaked" in done.stderr
    status = json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)
    assert status["finished"]
    assert status["measurements"] + status["failures"] == 40 == len((lab / "calls").read_text().split())
    best = json.loads(ostinato("best", "catalogue.db", "--json", cwd=lab).stdout)
    assert best["candidate"].keys() == {"temp", "ph"}
    assert len(json.loads(ostinato("top", "catalogue.db", "-k", "3", "--json", cwd=lab).stdout)) == 3
    history = json.loads(ostinato("history", "catalogue.db", "--json", cwd=lab).stdout)
    assert sum(batch["repeats"] for batch in history) == 40
    for command, word in (
        ("status", "switches"),
        ("best", "interval"),
        ("top", "below the best"),
        ("history", "average"),
    ):
        shown = ostinato(command, "catalogue.db", cwd=lab)
        assert shown.returncode == 0
        assert word in shown.stdout
    assert "measured" in ostinato("explain", "catalogue.db", "8", cwd=lab).stdout
    last = json.loads(ostinato("history", "catalogue.db", "--json", cwd=lab).stdout)[-1]["batch"]
    explained = ostinato("explain", "catalogue.db", cwd=lab).stdout
    assert explained == ostinato("explain", "catalogue.db", last, cwd=lab).stdout != ""
    checked = ostinato("verify", "catalogue.db", cwd=lab)
    assert (checked.returncode, checked.stdout.split()) == (0, ["well", "catalogue"])


def test_it_goes_on_where_it_was(lab):
    assert ostinato(*OPTIMIZE, "--budget", "12", cwd=lab).returncode == 0
    assert ostinato(*OPTIMIZE, "--budget", "20", cwd=lab).returncode == 0
    assert len((lab / "calls").read_text().split()) == 20
    again = ostinato(*OPTIMIZE, "--budget", "20", cwd=lab)
    assert again.returncode == 0  # nothing left to do
    assert len((lab / "calls").read_text().split()) == 20
    fresh = ostinato(*OPTIMIZE, "--budget", "20", "--fresh", cwd=lab)
    assert fresh.returncode == 2
    assert "exists" in fresh.stderr


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_interrupted_and_killed_runs_lose_nothing(lab, how):
    process = start(
        *OPTIMIZE, "--budget", "60", "--workers", "2",
        cwd=lab, stdout=subprocess.PIPE, stderr=subprocess.PIPE, HELD_AFTER="20",
    )  # fmt: skip
    wait_until(lambda: lines(lab / "calls") > 20, process)
    process.send_signal(how)
    (lab / "go").touch()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == (130 if how == signal.SIGINT else -9)
    status = json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)
    assert status["measurements"] + status["failures"] >= 5
    assert ostinato("verify", "catalogue.db", cwd=lab).returncode == 0
    done = ostinato(*OPTIMIZE, "--budget", "60", cwd=lab)
    assert done.returncode == 0, done.stderr
    status = json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)
    assert status["measurements"] + status["failures"] == 60
    assert ostinato("verify", "catalogue.db", cwd=lab).returncode == 0


def test_by_hand(lab):
    first = ostinato("optimize", "catalogue.csv", "--manual", "--seed", "0", cwd=lab, typed="1.5\nmuch\n2.5\nnan\nq\n")
    assert first.returncode == 0
    assert "measure temp" in first.stderr
    assert "type it again" in first.stderr
    status = json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)
    assert (status["measurements"], status["failures"]) == (2, 1)
    second = ostinato("optimize", "catalogue.csv", "--manual", cwd=lab, typed="3.5\n")
    assert second.returncode == 130
    status = json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)
    assert status["measurements"] == 3


def test_a_python_function(lab):
    (lab / "mylab.py").write_text("def measure(candidate):\n    return candidate['temp'] / 10\n")
    done = ostinato("optimize", "catalogue.csv", "--function", "mylab:measure", "--budget", "20", cwd=lab)
    assert done.returncode == 0, done.stderr
    assert "'temp': 80" in done.stdout


def test_export_and_import(lab):
    assert ostinato(*OPTIMIZE, "--budget", "15", cwd=lab).returncode == 0
    assert ostinato("export", "catalogue.db", "-o", "all.csv", cwd=lab).returncode == 0
    with (lab / "all.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 15
    good = [row for row in rows if row["value"] != "nan"]
    with (lab / "good.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["temp", "ph", "value"], extrasaction="ignore")
        writer.writeheader()
        writer.writerows(good)
    assert ostinato("optimize", "catalogue.csv", "--manual", "--storage", "new.db", cwd=lab, typed="").returncode == 130
    taken = ostinato("import", "new.db", "good.csv", cwd=lab)
    assert taken.returncode == 0, taken.stderr
    status = json.loads(ostinato("status", "new.db", "--json", cwd=lab).stdout)
    assert status["measurements"] == len(good)
    (lab / "bad.csv").write_text("temp,ph,value\n20,5,1.5\n21,5,2.5\n")
    refused = ostinato("import", "new.db", "bad.csv", cwd=lab)
    assert refused.returncode == 2
    assert json.loads(ostinato("status", "new.db", "--json", cwd=lab).stdout)["measurements"] == len(good)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("optimize", "none.csv", "--command", "true", "--budget", "5"), "There is no file none.csv"),
        (("optimize", "catalogue.csv", "--budget", "5"), "--command, --function and --manual"),
        (("optimize", "catalogue.csv", "--command", "./measure {temp} {ph}"), "--budget"),
        (("optimize", "catalogue.csv", "--command", "./none {temp}", "--budget", "5"), "no program './none'"),
        (("status", "none.db"), "There is no file"),
        (("best", "catalogue.csv"), "a table of candidates"),
        (("optimize", "catalogue.csv", "--command", "true", "--budget", "0"), "--budget"),
    ],
)
def test_bad_input_is_explained(lab, arguments, words):
    done = ostinato(*arguments, cwd=lab)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_a_catalogue_that_changed_under_the_study(lab):
    assert ostinato(*OPTIMIZE, "--budget", "6", cwd=lab).returncode == 0
    text = (lab / "catalogue.csv").read_text()
    (lab / "catalogue.csv").write_text(text.replace("20,5", "25,5"))
    changed = ostinato(*OPTIMIZE, "--budget", "12", cwd=lab)
    assert changed.returncode == 2
    assert "other candidates: row 0" in " ".join(changed.stderr.split())
    assert json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)["measurements"] <= 6


def test_damage_is_told(lab):
    assert ostinato(*OPTIMIZE, "--budget", "6", cwd=lab).returncode == 0
    import sqlite3

    with sqlite3.connect(lab / "catalogue.db") as connection:
        connection.execute("UPDATE batches SET mean = mean + 1 WHERE id = 2")
    connection.close()
    damaged = ostinato("verify", "catalogue.db", cwd=lab)
    assert damaged.returncode == 1
    assert "batch 2 does not fit its checksum" in " ".join(damaged.stdout.split())
    assert ostinato("best", "catalogue.db", cwd=lab).returncode == 2


def test_clicks_by_a_program_and_by_hand(lab):
    (lab / "click.py").write_text("import sys\nprint('true' if float(sys.argv[1]) > 50 else 'false')\n")
    command = f"{sys.executable} click.py {{temp}}"
    where = ("--storage", "clicks.db")
    done = ostinato(
        "optimize", "catalogue.csv", "--command", command, "--budget", "12", "--outcome", "binary", *where, cwd=lab
    )
    assert done.returncode == 0, done.stderr
    status = json.loads(ostinato("status", "clicks.db", "--json", cwd=lab).stdout)
    assert (status["measurements"], status["failures"]) == (12, 0)
    low, high = status["best"]["interval"]
    assert 0 <= low <= high <= 1
    more = ostinato("optimize", "catalogue.csv", "--command", command, "--budget", "14", *where, cwd=lab)
    assert more.returncode == 0, more.stderr  # the kind is the study's own
    (lab / "more.csv").write_text("row,successes,trials\n1,3,20\n2,0,5\n")
    assert "took in 25" in ostinato("import", "clicks.db", "more.csv", cwd=lab).stderr
    (lab / "both.csv").write_text("row,value,successes,trials\n1,1,3,20\n")
    assert "both value and successes" in ostinato("import", "clicks.db", "both.csv", cwd=lab).stderr
    typed = ostinato("optimize", "catalogue.csv", "--manual", "--budget", "45", *where, cwd=lab, typed="0/1\n2/1\nq\n")
    assert "3/20 for 3 yes of 20" in typed.stderr.replace("\n", "")
    assert "'2/1' has more successes than trials" in typed.stderr


def test_a_value_that_does_not_fit_is_named_on_the_command_line(lab):
    (lab / "typed.py").write_text(
        "calls = 0\n\n\ndef measure(c):\n    global calls\n    calls += 1\n"
        "    value = 12 + c['temp'] / 40 + calls % 3 / 10\n    return 10 * value if calls == 15 else value\n"
    )
    where = ("--storage", "typed.db")
    done = ostinato(
        "optimize", "catalogue.csv", "--function", "typed:measure", "--budget", "40", "--seed", "0", *where, cwd=lab
    )
    assert done.returncode == 0, done.stderr
    assert "Measurement 15: 1" in done.stderr
    assert "outlier     measurement 15: 1" in done.stdout
    (outlier,) = json.loads(ostinato("status", "typed.db", "--json", cwd=lab).stdout)["outliers"]
    assert outlier["number"] == 15
    assert "`ostinato correct STUDY 15 VALUE` changes it" in done.stdout
    for command in ("status", "diagnose"):
        answer = ostinato(command, "typed.db", cwd=lab).stdout
        assert "measurement 15: 1" in answer
        assert "If a value is wrong, `ostinato correct STUDY 15 VALUE` changes it." in answer
    assert json.loads(ostinato("diagnose", "typed.db", "--json", cwd=lab).stdout)["outliers"][0]["number"] == 15


def test_a_half_life_is_kept_with_the_study(lab):
    fast = ("--function", "typed:measure", "--storage", "fades.db")
    (lab / "typed.py").write_text("def measure(c):\n    return c['temp'] / 40\n")
    assert ostinato("optimize", "catalogue.csv", *fast, "--budget", "12", "--half-life", "9", cwd=lab).returncode == 0
    other = ostinato("optimize", "catalogue.csv", *fast, "--budget", "12", "--half-life", "8", cwd=lab)
    assert other.returncode == 2
    assert "--half-life 9, and now --half-life 8" in other.stderr.replace("\n", "")


def test_what_the_command_line_sets_the_study_keeps(lab):
    (lab / "steady.py").write_text("def measure(c):\n    return c['temp'] / 10 + c['ph'] % 1\n")
    settings = ("--max-repeats", "3", "--noise-std", "0.2", "--setup-std", "0.1", "--direction", "minimize")
    run = ("optimize", "catalogue.csv", "--function", "steady:measure", "--storage", "set.db")
    done = ostinato(*run, *settings, "--stop", "no-improvement=20", "--budget", "500", "--seed", "0", cwd=lab)
    assert done.returncode == 0, done.stderr
    made = json.loads(ostinato("status", "set.db", "--json", cwd=lab).stdout)["measurements"]
    assert 20 < made < 200
    assert max(batch["repeats"] for batch in json.loads(ostinato("history", "set.db", "--json", cwd=lab).stdout)) <= 3
    assert "above the best by at most" in ostinato("top", "set.db", cwd=lab).stdout
    again = ostinato(*run, cwd=lab)  # with the same settings, none of them repeated
    assert again.returncode == 0, again.stderr
    assert json.loads(ostinato("status", "set.db", "--json", cwd=lab).stdout)["measurements"] > made
    other = ostinato(*run, "--direction", "maximize", cwd=lab)
    assert "--direction 'minimize', and now --direction 'maximize'" in other.stderr.replace("\n", " ")
    assert "not a rule to stop by" in ostinato(*run, "--stop", "soon", cwd=lab).stderr


def test_a_study_with_code_of_ones_own_is_looked_at_and_corrected(lab):
    def way(start, end):
        return abs(start["temp"] - end["temp"])

    table = read_file(lab / "catalogue.csv")
    study = Study("catalogue", lab / "catalogue.db", table, budget=20, seed=0, switch_cost=way)
    study.observe([3, 4, 5, 6], [1.0, 2.0, 3.0, 4.0])
    study.tell(study.ask(1), [7.0])
    for words in (
        "status", "history", "history --values --json", "export", "correct 2 2.5", "retract 3", "candidates",
        "candidates retire 3 4", "candidates restore 4", "budget 30", "explain 0", "verify", "tell 0 7.0",
    ):  # fmt: skip
        command, *options = words.split()
        done = ostinato(command, "catalogue.db", *options, cwd=lab)
        told_again = command == "tell"
        assert done.returncode == 2 * told_again, (words, done.stderr)
        assert "Traceback" not in done.stderr
    status = json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)
    assert (status["measurements"], status["budget"], status["retired"]) == (4, 30, 1)
    assert (status["best"], status["missing"]) == (None, ["switch_cost"])
    assert "not known here: it takes the switch_cost" in ostinato("status", "catalogue.db", cwd=lab).stdout
    optimize = ("optimize", "catalogue.csv", "--command", "./measure {temp} {ph}", "--budget", "50")
    for words in (("ask", "catalogue.db"), ("best", "catalogue.db"), ("top", "catalogue.db"), optimize):
        done = ostinato(*words, cwd=lab)
        assert done.returncode == 2, words
        assert "made with a switch_cost of your own Python code, which is not stored" in " ".join(done.stderr.split())
    assert study.status().budget == 30  # what cannot go on changes nothing
