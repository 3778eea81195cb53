"""`ostinato plot` and `ostinato report`, as they are typed."""

import json

import numpy as np
import pytest

import scenarios
from ostinato import Study
from terminal import ostinato


@pytest.fixture
def lab(tmp_path):
    study, rng = Study("first try", tmp_path / "lab.db", scenarios.grid(), budget=20, seed=1), np.random.default_rng(0)
    while (task := study.ask()) is not None:
        study.tell(task, scenarios.hill(task.candidate) + rng.standard_normal(task.repeats))
    return tmp_path


def test_figures_are_listed_and_drawn(lab):
    listed = ostinato("plot", "lab.db", cwd=lab)
    assert listed.returncode == 0
    assert "calibration" in listed.stdout
    head, _, *lines = [line for line in listed.stdout.splitlines() if line.strip()]
    at = head.index("what it shows")
    assert all(line[0] == " " != line[1] and line[at - 1] == " " != line[at] for line in lines)
    done = ostinato("plot", "lab.db", "progress", cwd=lab)
    assert (done.returncode, done.stderr.strip()) == (0, "wrote first-try-progress.svg")
    assert "<svg" in (lab / "first-try-progress.svg").read_text()
    done = ostinato("plot", "lab.db", "posterior", "--column", "temp", "--column", "ph", "-o", "map.png", cwd=lab)
    assert done.returncode == 0, done.stderr
    assert (lab / "map.png").read_bytes()[:4] == b"\x89PNG"


def test_the_data_of_a_figure_for_scripts(lab):
    series = json.loads(ostinato("plot", "lab.db", "batches", "--json", cwd=lab).stdout)
    assert sum(bar["length"] for bar in series["bars"]) == 20
    assert not list(lab.glob("*.svg"))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("progres",), "'progres' is not a figure: give one of measurements"),
        (("posterior", "--column", "tmp"), "is not a column of the candidates"),
        (("noise", "--column", "temp"), "goes with the figure 'posterior'"),
        (("noise", "-o", "noise.gif"), "end its name in .svg, .png or .pdf"),
    ],
)
def test_mistakes(lab, typed, said):
    done = ostinato("plot", "lab.db", *typed, cwd=lab)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
    assert not list(lab.glob("*.gif"))


def test_a_report(lab):
    done = ostinato("report", "lab.db", cwd=lab)
    assert (done.returncode, done.stderr.strip()) == (0, "wrote first-try-report.html")
    page = (lab / "first-try-report.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>")
    assert page.rstrip().endswith("</html>")
    assert ostinato("report", "lab.db", "-o", "there.html", cwd=lab).returncode == 0
    assert "first try" in (lab / "there.html").read_text(encoding="utf-8")
