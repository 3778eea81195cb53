"""`ostinato optimize` while the program cannot measure: it waits, goes on, or gives up, and says so."""

import json
import signal
import subprocess

import pytest

from ostinato.study import Study
from terminal import OPTIMIZE, PATIENCE, lines, ostinato, start, wait_until

RETRY = ("--retry-every", "0.01s")
MEASURE = """#!/bin/sh
echo x >> calls
if [ -e off ]; then echo "the pump is off" >&2; exit 1; fi
if [ "$(wc -l < calls)" -eq 30 ]; then AT_30; fi
awk -v temp="$1" -v seed=$$ 'BEGIN { srand(seed); rand(); print 70 - (temp - 55) ^ 2 / 20 + 2 * rand() }'
"""


def programmed(lab, at_30):
    """The laboratory, where something happens at the 30th measurement."""
    (lab / "measure").write_text(MEASURE.replace("AT_30", at_30))
    return lab


@pytest.mark.parametrize(
    ("at_30", "word"),
    [("mv measure gone", "could not be started"), ("touch off", "the pump is off")],
    ids=["gone", "off"],
)
def test_a_program_that_comes_back(lab, at_30, word):
    programmed(lab, at_30)
    process = start(
        *OPTIMIZE, "--budget", "60", *RETRY, "--give-up-after", "never",
        cwd=lab, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_until(lambda: "next try at" in ostinato("status", "catalogue.db", cwd=lab).stdout, process)
    status = ostinato("status", "catalogue.db", cwd=lab).stdout
    assert word in status
    assert "failed" not in status.split("paused")[0]
    (lab / "gone").rename(lab / "measure") if "gone" in at_30 else (lab / "off").unlink()
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    assert "Nothing can be measured" in errors
    assert "measuring again" in errors
    status = json.loads(ostinato("status", "catalogue.db", "--json", cwd=lab).stdout)
    assert (status["measurements"], status["failures"], status["paused"]) == (60, 0, [])
    assert ostinato("verify", "catalogue.db", cwd=lab).returncode == 0


def test_giving_up_has_an_exit_code_of_its_own_and_keeps_everything(lab):
    programmed(lab, "touch off")
    done = ostinato(*OPTIMIZE, "--budget", "60", *RETRY, "--give-up-after", "0.05", cwd=lab)
    assert done.returncode == 75, done.stderr
    assert "Given up" in done.stderr
    assert "the run has given up" in done.stdout
    study = Study("catalogue", lab / "catalogue.db")
    assert (study.status().measurements, study.status().failures) == (30, 0)
    (lab / "off").unlink()
    done = ostinato(*OPTIMIZE, "--budget", "60", cwd=lab)
    assert done.returncode == 0, done.stderr
    assert "paused" not in done.stdout
    assert (study.status().measurements, study.status().failures) == (60, 0)


def test_every_failure_counts_or_the_first_one_ends_it(lab):
    programmed(lab, "touch off")
    stopped = ostinato(*OPTIMIZE, "--budget", "60", "--on-failure", "stop", cwd=lab)
    assert stopped.returncode == 1
    assert "stopped at a measurement that failed" in stopped.stderr
    assert lines(lab / "calls") == 31
    counted = ostinato(*OPTIMIZE, "--budget", "60", "--on-failure", "count", cwd=lab)
    assert counted.returncode == 0
    assert "30 of them failed" in counted.stdout
    assert lines(lab / "calls") == 60


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--give-up-after", "soon"), "--give-up-after soon is not a time: write 90s, 5min, 12h or 3d"),
        (("--retry-every", "0s"), "--retry-every 0.0 is out of range"),
        (("--on-failure", "ignore"), "ignore"),
    ],
)
def test_bad_options_are_named(lab, options, words):
    done = ostinato(*OPTIMIZE, "--budget", "60", *options, cwd=lab)
    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    by_hand = ostinato("optimize", "catalogue.csv", "--manual", "--on-failure", "stop", cwd=lab)
    assert by_hand.returncode == 2
    assert "--on-failure" in by_hand.stderr


HELD = """if [ -e held ]; then touch trying; fi
while [ -e held ]; do sleep 0.05; done
if [ -e off ];"""


def test_ctrl_c_while_it_tries_again_waits_for_the_measurement_and_keeps_it(lab):
    """One Ctrl-C is one Ctrl-C: neither is the program killed, nor its value lost."""
    programmed(lab, "touch off")
    program = (lab / "measure").read_text()
    (lab / "measure").write_text(program.replace("if [ -e off ];", HELD))
    process = start(
        *OPTIMIZE, "--budget", "60", *RETRY, "--give-up-after", "never",
        cwd=lab, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_until(lambda: "next try at" in ostinato("status", "catalogue.db", cwd=lab).stdout, process)
    (lab / "held").touch()
    wait_until((lab / "trying").exists, process)
    (lab / "off").unlink()
    process.send_signal(signal.SIGINT)
    assert any("waiting for the measurement under way" in line for line in process.stderr)
    (lab / "held").unlink()
    _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, errors
    study = Study("catalogue", lab / "catalogue.db")
    assert (study.status().measurements, study.status().failures) == (31, 0)
