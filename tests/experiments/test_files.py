"""Runs as rows of a spreadsheet."""

import csv

import pytest

from experiment_runs import MINI, UNIFORM, run
from ostinato.experiments.files import write_csv


def test_the_csv_has_a_row_a_checkpoint(tmp_path):
    own = run("ε-greedy", 3, simple=0.25, settings={"C": 1.1, "lengthscale": 2.0}, problem="hill, steep")
    write_csv([*UNIFORM, *MINI, own], tmp_path / "results.csv")
    with (tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    columns = "stage problem algorithm settings seed t regret normalised simple unique rounds switches seconds"
    assert list(rows[0]) == columns.split()
    assert float(rows[5]["normalised"]) == pytest.approx(0.1)
    last = rows[-1]
    assert (last["algorithm"], last["problem"], last["settings"]) == ("ε-greedy", "hill, steep", "C=1.1 lengthscale=2")
    assert (last["t"], last["regret"], last["normalised"], last["simple"]) == ("100", "2.0", "", "0.25")
    assert {row["simple"] for row in rows[:-1]} == {""}
