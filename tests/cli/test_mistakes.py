"""Mistakes that people make at the terminal: said in words, with nothing lost."""

import contextlib
import csv
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ostinato.candidates import read_file
from ostinato.cli.importing import read_csv
from ostinato.errors import InvalidFeedback
from ostinato.study import Study
from terminal import OPTIMIZE, PATIENCE, lines, ostinato, start, wait_until


def said(done):
    return " ".join(done.stderr.split())


def test_a_decimal_comma_is_one_value_wherever_it_is_typed(lab):
    typed = "3,5\n1,234\n1,2,3\nfailed\nundo\n4,25\nq\n"
    done = ostinato("optimize", "catalogue.csv", "--manual", "--seed", "0", cwd=lab, typed=typed)
    assert "read 3,5 as 3.5" in said(done)
    assert "read 4,25 as 4.25" in said(done)
    assert "1,234 may be 1234 or 1.234: write one of these." in said(done)
    assert "'1,2,3' is not a number. Put spaces between values." in said(done)
    assert "measurement 1 is 74.12 now" in said(ostinato("correct", "catalogue.db", "1", "74,12", cwd=lab))
    (task,) = map(json.loads, ostinato("ask", "catalogue.db", "--limit", "1", cwd=lab).stdout.splitlines())
    done = ostinato("tell", "catalogue.db", task["batch"], "71,5", cwd=lab)
    assert "read 71,5 as 71.5 took in 1 measurement" in said(done)
    history = json.loads(ostinato("history", "catalogue.db", "--values", "--json", cwd=lab).stdout)
    assert [row["value"] for row in history] == [74.12, 4.25, 71.5]


@pytest.mark.parametrize("folder", [".", "..", "tables"])
def test_a_folder_in_place_of_candidates(lab, folder):
    (lab / "tables").mkdir()
    for command in (("create", "x.db", folder), ("optimize", folder, "--command", "echo 1")):
        done = ostinato(*command, cwd=lab)
        assert (done.returncode, f"error: {folder} is a folder: give a table" in said(done)) == (2, True)


def test_a_limit_of_some_bytes_is_refused(lab):
    done = ostinato("create", "x.db", "catalogue.csv", "--memory-limit", "3", cwd=lab)
    assert done.returncode == 2
    assert "--memory-limit '3' is 3 bytes" in said(done)
    assert "give 1 MB or more, with its unit" in said(done)
    assert not (lab / "x.db").exists()


def test_a_column_that_is_too_wide_is_named(lab):
    (lab / "wide.csv").write_text("a,b\n1,1e308\n2,-1e308\n3,0\n")
    done = ostinato("create", "x.db", "wide.csv", cwd=lab)
    assert done.returncode == 2
    assert said(done).startswith("error: Column 'b' goes from -1e+308 to 1e+308, which is too wide to compute with")


def test_columns_with_the_names_of_our_own(lab):
    (lab / "odd.csv").write_text("x,value,row\n0.1,100,3\n0.2,101,0\n0.3,102,1\n")
    (lab / "echo").write_text(f"#!{sys.executable}\nimport sys; print(float(sys.argv[1]) * 10)\n")
    (lab / "echo").chmod(0o755)
    assert ostinato("optimize", "odd.csv", "--command", "./echo {x}", "--budget", "8", cwd=lab).returncode == 0
    assert ostinato("export", "odd.db", "-o", "all.csv", cwd=lab).returncode == 0
    assert ostinato("import", "odd.db", "all.csv", cwd=lab).returncode == 0
    rows = list(csv.DictReader(ostinato("export", "odd.db", cwd=lab).stdout.splitlines()))
    assert len(rows) == 16
    assert all(float(row["study's value"]) == pytest.approx(10 * float(row["x"])) for row in rows)
    (lab / "twice.csv").write_text("x,x,value\n")
    assert "two columns 'x'" in said(ostinato("import", "odd.db", "twice.csv", cwd=lab))


def test_every_measurement_failed(lab):
    command = ("optimize", "catalogue.csv", "--command", "sh -c 'echo sensor unplugged >&2; exit 3'")
    done = ostinato(*command, "--seed", "0", "--budget", "3", cwd=lab)
    assert done.returncode == 1
    assert "sensor unplugged" in done.stderr
    assert "larger --budget" in done.stderr
    assert "3 of 3 measurements, 3 of them failed" in done.stdout
    assert ostinato(*OPTIMIZE, "--budget", "20", cwd=lab).returncode == 0


def test_an_absurd_value_is_a_failed_measurement(lab):
    command = ("optimize", "catalogue.csv", "--command", "sh -c 'echo 1e150'")
    done = ostinato(*command, "--budget", "3", cwd=lab)
    assert done.returncode == 1
    assert "1e150" in done.stderr


def test_one_impossible_value_does_not_end_a_run(lab):
    """It is a measurement that failed, of the program that printed it; a note says so."""
    (lab / "count").write_text(
        "#!/bin/sh\necho x >> tries\nif test $(wc -l < tries) -eq 6; then echo -1; else echo 4; fi\n"
    )
    (lab / "count").chmod(0o755)
    options = ("--command", "./count", "--outcome", "count", "--seed", "0", "--budget", "12")
    done = ostinato("optimize", "catalogue.csv", *options, cwd=lab)
    assert done.returncode == 0, done.stderr
    assert "note: The program printed -1, which is not a measurement of --outcome 'count' (whole" in said(done)
    assert "1 try failed. The last: it printed -1" in said(done)
    assert "12 of 12 measurements, 1 of them failed" in done.stdout


def test_messages_name_no_arguments_of_python(lab):
    ostinato("create", "yes.db", "catalogue.csv", "--outcome", "binary", "--seed", "0", cwd=lab)
    ostinato("ask", "yes.db", "--limit", "1", cwd=lab)
    done = ostinato("tell", "yes.db", "0", "7", cwd=lab)
    assert "give 0 or 1, True or False, or successes and trials." in said(done)


def test_columns_that_the_program_is_not_given_are_noted_once(lab):
    done = ostinato("optimize", "catalogue.csv", "--command", "echo {temp}", "--budget", "5", "--seed", "0", cwd=lab)
    note = "note: ph is not in --command. (The program may read it from the environment variable OSTINATO_CANDIDATE.)"
    assert (done.returncode, said(done).count(note)) == (0, 1)
    done = ostinato(
        "optimize", "catalogue.csv", "--command", "echo {temp} {ph}", "--name", "all", "--budget", "2", cwd=lab
    )
    assert "note" not in done.stderr


def test_columns_of_any_name(lab):
    (lab / "odd.csv").write_text("a.b,c[0],it's x\n1,007,x y\n2,008,$(touch bad)\n")
    (lab / "show").write_text(
        f'#!{sys.executable}\nimport sys; print(sys.argv[1:], file=open("seen", "a")); print(1)\n'
    )
    (lab / "show").chmod(0o755)
    command = './show {a.b} {c[0]} "{it\'s x}" {{a}}'
    done = ostinato("optimize", "odd.csv", "--command", command, "--budget", "4", cwd=lab)
    assert done.returncode == 0, done.stderr
    seen = set((lab / "seen").read_text().splitlines())
    assert seen == {"['1', '007', 'x y', '{a}']", "['2', '008', '$(touch bad)', '{a}']"}
    assert not (lab / "bad").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("temp,ph,value\n20,5,abc\n", "line 2: value is 'abc', which is not a number"),
        ("temp,ph,value\n20,5,1.5\n20,5,\n", "line 3: there is no value"),
        ("temp,ph,value\n20,5,1.5\n21,5,1\n", "line 3: temp 21, ph 5 is none of the study's candidates"),
        ("row,value\n3.5,1\n", "row 3.5 is none of the rows 0 to 34"),
        ("temp,value\n20,1\n", "there is no ph"),
        ("temp,ph,value\n20,5,1e308\n", "line 2"),
        ("temp,ph,value,stderr\n20,5,1,-1\n", "line 2"),
    ],
)
def test_imports_that_cannot_be_read_name_the_line(lab, text, words):
    study = Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"))
    (lab / "mine.csv").write_text(text)
    with pytest.raises(InvalidFeedback, match=re.escape(words)):
        list(read_csv(lab / "mine.csv", study))


def test_an_import_is_taken_in_whole_or_not_at_all(lab):
    Study("lab", lab / "lab.db", read_file(lab / "catalogue.csv"))
    (lab / "mine.csv").write_text("temp,ph,value\n20,5,1.5\n21,5,1\n")
    done = ostinato("import", "lab.db", "mine.csv", cwd=lab)
    assert done.returncode == 2
    assert "line 3" in said(done)
    assert Study("lab", lab / "lab.db").status().measurements == 0
    (lab / "empty.csv").write_text("temp,ph,value\n")
    assert "holds no measurements" in said(ostinato("import", "lab.db", "empty.csv", cwd=lab))


def test_files_that_are_not_there_or_cannot_be_written(lab):
    assert ostinato(*OPTIMIZE, "--budget", "4", cwd=lab).returncode == 0
    for arguments in (("import", "catalogue.db", "none.csv"), ("export", "catalogue.db", "-o", "no/such/file.csv")):
        done = ostinato(*arguments, cwd=lab)
        assert done.returncode == 2
        assert "No such file" in done.stderr
        assert "Traceback" not in done.stderr
    data = (lab / "catalogue.db").read_bytes()
    (lab / "cut.db").write_bytes(data[:5000])
    done = ostinato("verify", "cut.db", cwd=lab)
    assert done.returncode == 1
    assert "damaged" in done.stdout
    assert "kept in another file, such as catalogue.db" in said(ostinato("status", "catalogue.csv", cwd=lab))
    (lab / "cut.db").write_bytes(b"x" + data[1:])
    done = ostinato("export", "cut.db", "--damaged", cwd=lab)
    assert done.returncode == 1
    assert "Nothing can be rescued" in said(done)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--command", "./measure {Temp}"), "names {Temp}"),
        (("--command", "./nowhere {temp}"), "no program"),
        (("--function", "nowhere:measure"), "cannot be imported"),
        (("--function", "os:getpid", "--timeout", "3"), "--timeout and --retries are for programs"),
    ],
)
def test_nothing_is_made_where_the_command_is_wrong(lab, options, words):
    done = ostinato("optimize", "catalogue.csv", *options, "--budget", "5", cwd=lab)
    assert done.returncode == 2
    assert words in said(done)
    assert not (lab / "catalogue.db").exists()


def test_a_function_that_fails_is_shown_without_our_own_lines(lab):
    (lab / "mylab.py").write_text("def measure(candidate):\n    raise ValueError('no reagent')\n")
    done = ostinato("optimize", "catalogue.csv", "--function", "mylab:measure", "--budget", "5", cwd=lab)
    assert done.returncode == 1
    assert "ValueError: no reagent" in done.stderr
    assert "mylab.py" in done.stderr
    assert "executors.py" not in done.stderr


def test_a_study_is_deleted_when_that_is_meant(lab):
    assert ostinato(*OPTIMIZE, "--budget", "4", cwd=lab).returncode == 0
    assert ostinato("delete", "catalogue.db", cwd=lab, typed="n\n").returncode == 1
    assert ostinato("delete", "catalogue.db", cwd=lab, typed="y\n").returncode == 0
    assert ostinato("status", "catalogue.db", cwd=lab).returncode == 2


def test_quick_values_survive_two_ctrl_c_and_a_kill(lab):
    """A program that is quick, so that many of its values are stored together."""
    (lab / "quick").write_text("#!/bin/sh\necho 7 >> log\necho 7\n")
    (lab / "quick").chmod(0o755)
    command = ("optimize", "catalogue.csv", "--command", "./quick", "--budget", "5000", "--workers", "2")
    for signals in ((signal.SIGINT, signal.SIGINT), (signal.SIGTERM,), (signal.SIGHUP,)):
        before = lines(lab / "log")
        process = start(*command, cwd=lab, stderr=subprocess.DEVNULL)
        wait_until(lambda enough=before + 20: lines(lab / "log") >= enough, process)
        for each in signals:
            process.send_signal(each)
            time.sleep(0.02)
        assert process.wait(PATIENCE) == (130 if len(signals) == 2 else 128 + signals[0])
        made = lines(lab / "log")
        stored = json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)["measurements"]
        assert made - 6 <= stored <= made  # what was going on in two workers, three times


@contextlib.contextmanager
def two_at_work(lab):
    """A command with two programs under way, which end when there is a file "go"; what it says is in "errors"."""
    command = (*OPTIMIZE, "--budget", "50", "--workers", "2")
    with (lab / "errors").open("w") as errors:
        process = start(*command, cwd=lab, stdout=subprocess.PIPE, stderr=errors, HELD_AFTER="0")
    try:
        wait_until(lambda: lines(lab / "calls") == 2, process)
        yield process
    finally:
        (lab / "go").touch()


def interrupted(lab, process):
    """Ctrl-C, and it has been heard."""
    process.send_signal(signal.SIGINT)
    wait_until(lambda: "waiting for 2 tasks under way" in (lab / "errors").read_text(), process)


def programs(lab):
    """The measuring programs that run in the laboratory."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink() == lab and b"./measure" in (process / "cmdline").read_bytes().split(b"\0"):
                found.append(process.name)
    return found


def test_ctrl_c_waits_for_programs_and_keeps_their_values(lab):
    with two_at_work(lab) as process:
        interrupted(lab, process)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "2 of 50 measurements" in out


def test_a_second_ctrl_c_stops_programs(lab):
    with two_at_work(lab) as process:
        interrupted(lab, process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
        assert programs(lab) == []
    assert process.returncode == 130
    assert "Traceback" not in (lab / "errors").read_text()
    assert "0 of 50 measurements" in out


def test_a_run_that_is_asked_to_end_leaves_no_program_behind(lab):
    with two_at_work(lab) as process:
        assert programs(lab)
        process.terminate()
        process.communicate(timeout=PATIENCE)
        wait_until(lambda: not programs(lab))
    assert process.returncode == 128 + signal.SIGTERM
    status = json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)
    assert (status["in_flight"], status["failures"]) == (0, 0)


def test_progress_on_a_terminal(lab):
    """The line that people look at: how far, how long, the best so far, candidates and switches."""
    leader, follower = pty.openpty()
    process = start(*OPTIMIZE, "--budget", "12", cwd=lab, stdout=subprocess.PIPE, stderr=follower, TERM="xterm")
    os.close(follower)
    shown = b""
    while True:
        try:
            shown += os.read(leader, 4096)
        except OSError:
            break
    process.communicate(timeout=PATIENCE)
    text = shown.decode(errors="replace")
    assert "12/12" in text
    assert "candidates" in text
    assert "switches" in text


MESSAGES = {
    "ask catalogue.db --distinct": "--distinct and --shared are for plans: give --slots or --workers too.",
    "ask catalogue.db --slots 2 --workers 3": "Both --workers and --slots were given",
    "ask catalogue.db --slots 2 --shared heat": "--shared 'heat' is not a column",
    "create other.db catalogue.csv --setup-std -1": "--setup-std -1.0 is out of range",
    "create other.db catalogue.csv --robust --half-life 5": "--robust and --half-life do not go together",
    "ask catalogue.db --slots x": "'x'",
    "budget catalogue.db 2.5": "'2.5'",
    "correct catalogue.db 1 inf": "inf is not finite: write nan for a measurement that failed.",
    "create other.db broken.toml": "broken.toml is not a TOML file",
}


def test_messages_speak_of_what_was_typed(lab):
    ostinato("create", "catalogue.db", "catalogue.csv", "--budget", "9", cwd=lab)
    ostinato(
        "tell", "catalogue.db", cwd=lab, typed=ostinato("ask", "catalogue.db", cwd=lab).stdout[:-2] + ',"value":3}'
    )
    (lab / "broken.toml").write_text("a = [")
    for words, message in MESSAGES.items():
        done = ostinato(*words.split(), cwd=lab)
        assert done.returncode == 2, words
        assert message in said(done), words


def test_ctrl_c_at_the_prompt_keeps_what_was_typed(lab):
    by_hand = ("optimize", "catalogue.csv", "--manual", "--budget", "9", "--seed", "0")
    its, ours = os.pipe()
    with os.fdopen(its), os.fdopen(ours, "w") as person:
        process = start(*by_hand, cwd=lab, stdin=its, stdout=subprocess.PIPE)
        person.write("6.5\n")
        person.flush()
        wait_until(lambda: _measured(lab) == 1, process)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "1 of 9 measurements" in out
    leases = ostinato("leases", "catalogue.db", cwd=lab)
    assert "nothing is assigned to a worker" in leases.stdout + leases.stderr
    again = ostinato(*by_hand, cwd=lab, typed="7.5\nq\n")
    assert "2 of 9 measurements" in again.stdout


def _measured(lab):
    status = ostinato("status", "catalogue.db", "--json", cwd=lab)
    return json.loads(status.stdout)["measurements"] if status.returncode == 0 else 0
