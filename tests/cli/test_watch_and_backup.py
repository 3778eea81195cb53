"""Looking after a study from the shell: watching, copies, and news for people and programs."""

import json
from subprocess import PIPE

from ostinato.running.pausing import Pause
from ostinato.study import Study
from ostinato.study.pauses import PauseNote
from terminal import ostinato, start, wait_until

RUN = ("optimize", "catalogue.csv", "--command", "./measure {temp} {ph}", "--budget", "12", "--seed", "0")


def test_what_happens_is_logged_and_people_are_told(lab):
    done = ostinato(
        *RUN,
        "--log",
        "run.jsonl",
        "--notify",
        "sh -c 'echo {event}: {message} >> notes'",
        "--notify-on",
        "stop",
        cwd=lab,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (lab / "run.jsonl").read_text().splitlines()]
    assert sum(len(line["values"]) for line in lines if line["event"] == "tell") == 12
    assert lines[-1]["event"] == "stop"
    assert (lab / "notes").read_text().startswith("stop: ended (budget); best {'temp'")


def test_events_without_a_program_are_refused_before_anything_is_made(lab):
    done = ostinato(*RUN, "--notify-on", "stop", cwd=lab)
    assert done.returncode == 2
    assert "give the program too" in done.stderr
    assert not (lab / "catalogue.db").exists()


def test_watching_a_finished_study_shows_it_and_ends(lab):
    ostinato(*RUN, cwd=lab)
    done = ostinato("watch", "catalogue.db", cwd=lab)
    assert done.returncode == 0
    assert "12/12" in done.stdout
    assert "best {'temp'" in done.stdout


def test_watching_says_the_same_once(lab):
    """A run that pauses renews its note again and again, which is nothing to be told."""
    ostinato(*RUN, cwd=lab)
    study = Study("catalogue", lab / "catalogue.db")
    study.allow(13)
    with PauseNote(study._stored, 0.3) as note:
        note.keep(Pause(1.0, "no power", 1e6))
        process = start("watch", "catalogue.db", "--every", "0.1", cwd=lab, stdout=PIPE)
        lines = [process.stdout.readline()]
        for _ in range(3):
            before = study.moment()
            wait_until(lambda before=before: study.moment() != before)
        note.keep(None)
        study.tell(study.ask(limit=1), [0.5])
        lines += process.communicate()[0].splitlines()
    assert "no power" in lines[0]
    assert sum("no power" in line for line in lines) == 1
    assert "13/13" in lines[-1]


def test_watching_on_a_terminal_shows_the_last_values(lab):
    ostinato(*RUN, cwd=lab)
    done = ostinato("watch", "catalogue.db", cwd=lab, FORCE_COLOR="1", COLUMNS="120")
    assert "Ctrl-C ends watching" in done.stdout
    assert "so far" in done.stdout


def test_a_copy_is_a_study(lab):
    ostinato(*RUN, cwd=lab)
    done = ostinato("backup", "catalogue.db", "copy.db", cwd=lab)
    assert done.returncode == 0, done.stderr
    status = [ostinato("status", each, "--json", cwd=lab).stdout for each in ("catalogue.db", "copy.db")]
    assert status[0] == status[1]
    again = ostinato("backup", "catalogue.db", "copy.db", cwd=lab)
    assert again.returncode == 2
    assert "--replace" in again.stderr
    assert ostinato("backup", "catalogue.db", "copy.db", "--replace", cwd=lab).returncode == 0


def test_a_log_that_cannot_be_written_is_said_once_and_the_run_goes_on(lab):
    done = ostinato(*RUN, "--log", "/dev/full", cwd=lab)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("cannot be written") == 1
    assert "Traceback" not in done.stderr
    refused = ostinato(*RUN, "--log", "catalogue.csv", cwd=lab)
    assert "is no log" in refused.stderr
