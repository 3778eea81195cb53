"""`ostinato optimize` while the program cannot measure: it waits, goes on, or gives up, and says so."""

import json
import subprocess
import sys

import pytest

from ostinato.study import Study
from terminal import OPTIMIZE, OSTINATO, PATIENCE, environment, lines, ostinato, wait_until

RETRY = ("--retry-every", "0.01s")
MEASURE = """#!{python}
import os, sys
with open("calls", "a") as file:
    file.write("x\\n")
if os.path.exists("off"):
    sys.exit("the pump is off")
if len(open("calls").readlines()) == 30:
    {at_30}
print(70 - (float(sys.argv[1]) - 55) ** 2 / 20 + hash(os.urandom(4)) % 1000 / 500)
"""


def programmed(lab, at_30):
    """The laboratory, where something happens at the 30th measurement."""
    (lab / "measure").write_text(MEASURE.format(python=sys.executable, at_30=at_30))
    return lab


@pytest.mark.parametrize(
    ("at_30", "word"),
    [("os.rename('measure', 'gone')", "could not be started"), ("open('off', 'w')", "the pump is off")],
    ids=["gone", "off"],
)
def test_a_program_that_comes_back(lab, at_30, word):
    programmed(lab, at_30)
    process = subprocess.Popen(
        [*OSTINATO, *OPTIMIZE, "--budget", "60", *RETRY, "--give-up-after", "never"], cwd=lab, env=environment(),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: "next try at" in ostinato("status", "catalogue.db", cwd=lab).stdout)
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
    programmed(lab, "open('off', 'w')")
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
    programmed(lab, "open('off', 'w')")
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
