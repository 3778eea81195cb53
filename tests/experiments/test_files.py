"""Runs as rows of a spreadsheet."""

import csv

import narwhals.stable.v2 as nw
import numpy as np
import pytest

from experiment_runs import MINI, UNIFORM, run
from ostinato.experiments.compare import Comparison
from ostinato.experiments.files import COLUMNS, write_csv


def test_the_csv_has_a_row_a_checkpoint(tmp_path):
    own = run("ε-greedy", 3, simple=0.25, settings={"C": 1.1, "lengthscale": 2.0}, problem="hill, steep")
    write_csv([*UNIFORM, *MINI, own], tmp_path / "results.csv")
    with (tmp_path / "results.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    columns = "stage problem algorithm settings seed t regret regret_share simple unique rounds switches seconds"
    assert list(rows[0]) == columns.split()
    assert float(rows[5]["regret_share"]) == pytest.approx(0.1)
    last = rows[-1]
    assert (last["algorithm"], last["problem"], last["settings"]) == ("ε-greedy", "hill, steep", "C=1.1 lengthscale=2")
    assert (last["t"], last["regret"], last["regret_share"], last["simple"]) == ("100", "2.0", "", "0.25")
    assert {row["simple"] for row in rows[:-1]} == {""}


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_comparison_as_a_data_frame_has_a_row_a_fresh_run(library, tmp_path):
    pytest.importorskip(library)
    frame = nw.from_native(Comparison([*UNIFORM, *MINI], tmp_path).to_frame(library))
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == len(UNIFORM) + len(MINI)
    assert frame["regret_share"].to_list()[-1] == pytest.approx(0.1, rel=1)
    empty = nw.from_native(Comparison(MINI, tmp_path).to_frame(library))["regret_share"]
    assert np.isnan(empty.to_numpy()).all()
