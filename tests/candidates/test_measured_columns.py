"""A column of the candidates that is called as what is measured: said, with what to do about it."""

import warnings

import pandas as pd
import polars as pl
import pytest

import ostinato
from ostinato import Float, Optimizer, Space, Study
from ostinato.errors import MeasuredColumn

ROWS = {"temp": [20, 30, 40, 50, 60, 70], "yield": [51.0, 55.5, 63.2, 70.1, 66.0, 58.4]}


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize("name", ["yield", "Yield", "yield (%)", "yield [%]"])
def test_a_column_named_as_the_value_is_said(library, name):
    frame = library({"temp": ROWS["temp"], name: ROWS["yield"]})
    with pytest.warns(MeasuredColumn, match="is called as what is measured, and taken as a setting") as found:
        Optimizer(frame, value="yield", unit="%")
    said = str(found[0].message)
    assert repr(name) in said
    assert "`observe`" in said


def test_so_does_a_run_and_a_space():
    space = Space(temp=Float(20, 80, step=5), **{"yield": Float(0, 1)})
    with pytest.warns(MeasuredColumn):
        ostinato.optimize(lambda candidate: candidate["temp"], space, budget=3, value="yield", seed=0)


@pytest.mark.parametrize("value", [None, "purity", "yields"])
def test_other_names_are_settings(value):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Optimizer(pd.DataFrame(ROWS), value=value)
        Optimizer(pd.DataFrame(ROWS).to_numpy(), value="yield")


def test_a_study_says_it_when_it_is_made(tmp_path):
    with pytest.warns(MeasuredColumn) as found:
        Study("lab", tmp_path / "lab.db", pd.DataFrame(ROWS), value="yield")
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Study("lab", tmp_path / "lab.db").ask()
        Study("lab", tmp_path / "lab.db", pd.DataFrame(ROWS), value="yield").ask()


def test_a_study_of_a_continuous_space_says_it_once(tmp_path):
    space = Space(temp=Float(20, 80), dose=Float(0, 1))
    with pytest.warns(MeasuredColumn) as found:
        Study("lab", tmp_path / "lab.db", space, value="dose", seed=0).ask()
    assert len(found) == 1
