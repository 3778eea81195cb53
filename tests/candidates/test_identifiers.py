"""Columns that only name rows: said, and left out where the user wants that."""

import warnings

import pandas as pd
import polars as pl
import pytest

from ostinato import Optimizer, Study
from ostinato.candidates import read_file
from ostinato.errors import DateColumn, IdentifierColumn, InvalidCandidates, InvalidSetting, NumbersAsTexts

TEMPERATURES = list(range(20, 80, 5))  # twelve


def columns(**named):
    return {"temp": TEMPERATURES, "ph": [5, 6, 7] * 4} | named


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("anything", [f"x{n}" for n in range(12)]),
        ("sample", list(range(1, 13))),
        ("Sample ID", [1000 + n * n for n in range(12)]),
        ("product_no", list(range(12))),
        ("Unnamed: 0", list(range(12))),
        ("wellId", [f"A{n}" for n in range(1, 13)]),
    ],
)
@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_a_column_that_names_rows_is_said(name, cells, library):
    with pytest.warns(IdentifierColumn, match=f"Column '{name}' is different in every row, and taken as a setting"):
        Optimizer(library(columns(**{name: cells})))


@pytest.mark.parametrize(
    ("name", "cells"),
    [
        ("sample_volume", [10 + n * n for n in range(12)]),  # a setting, though all are different
        ("index", [0.5 * n for n in range(12)]),
        ("sample", [1, 2, 3] * 4),
        ("solvent", ["water", "ethanol", "none"] * 4),
    ],
)
def test_settings_are_settings(name, cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Optimizer(pd.DataFrame(columns(**{name: cells})))


def test_the_only_column_and_a_few_texts_are_settings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Optimizer(pd.DataFrame({"item": [f"x{n}" for n in range(12)]}))
        Optimizer(pd.DataFrame({"solvent": ["water", "ethanol", "none"], "temp": [20, 30, 40]}))


def test_columns_of_files_are_left_out(tmp_path):
    frame = pl.DataFrame(columns(sample=list(range(12))))
    frame.write_parquet(tmp_path / "lab.parquet")
    frame.write_csv(tmp_path / "lab.csv")
    for file in ("lab.csv", "lab.parquet"):
        table = read_file(tmp_path / file, ignore=["sample"])
        assert table[1] == {"temp": 25, "ph": 6}
        with pytest.warns(IdentifierColumn, match="--ignore sample"):
            read_file(tmp_path / file)
        with pytest.raises(InvalidSetting, match="has no column 'smaple' to leave out: its columns are temp, ph"):
            read_file(tmp_path / file, ignore=["smaple"])
        with pytest.raises(InvalidSetting, match="leave some of them in"):
            read_file(tmp_path / file, ignore=["temp", "ph", "sample"])


def test_what_is_left_out_need_not_be_filled(tmp_path):
    (tmp_path / "lab.csv").write_text("temp,remark\n20,\n30,broken\n")
    with pytest.raises(
        InvalidCandidates,
        match=r"line 2: remark is empty\. Fill it, or leave out .* \(on the command line: --ignore remark\)",
    ):
        read_file(tmp_path / "lab.csv")
    assert len(read_file(tmp_path / "lab.csv", ignore=["remark"])) == 2


def test_a_stored_study_says_it_once(tmp_path):
    with pytest.warns(IdentifierColumn):
        Study("lab", tmp_path / "lab.db", pd.DataFrame(columns(sample=list(range(12)))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Study("lab", tmp_path / "lab.db").ask()


@pytest.mark.parametrize("first", ["2026-01-03", "3.1.2026", "1/3/26", "2026-01-03T08:30:00"])
def test_dates_are_said_to_have_no_order(tmp_path, first):
    days = [first, first.replace("2026", "2025").replace("26", "25"), first.replace("3", "4")]
    (tmp_path / "lab.csv").write_text("temp,day\n" + "".join(f"{n},{day}\n" for n, day in enumerate(days)))
    with pytest.warns(DateColumn, match=r"Column 'day' holds dates .* days since the first.* --ignore day"):
        read_file(tmp_path / "lab.csv")
    with pytest.warns(DateColumn, match="Column 'day'"):
        Optimizer(pd.DataFrame({"day": days}))
    read_file(tmp_path / "lab.csv", ignore=["day"])


def test_of_dates_that_are_different_in_every_row_one_thing_is_said():
    with pytest.warns(DateColumn) as said:
        Optimizer(pl.DataFrame({"temp": TEMPERATURES, "day": [f"2026-01-{n:02}" for n in range(1, 13)]}))
    assert len(said) == 1


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (["1", "2", "3", "NA"], "'1' and 'NA'"),  # as polars reads a column with NA
        ([1, 2, 3, "NA"], "1 and 'NA'"),
        (["1,5", "2,5", "3", "4"], "'1,5'"),
        (pd.Series([1, 2, 3, 4], dtype=object), "1"),  # as of a frame that was turned over
    ],
    ids=str,
)
def test_numbers_that_are_no_numbers_to_a_data_frame(values, shown):
    with pytest.warns(NumbersAsTexts, match=rf"Column 'ph' .* \({shown}\), and is taken as a category.*to_numeric"):
        Optimizer(pd.DataFrame({"temp": [1.0, 2.0, 3.0, 4.0], "ph": values}))


@pytest.mark.parametrize(
    "values",
    [["1", "2", "3"], ["007", "008", "NA8"], ["1a", "2a", "3"], ["a", "b", "1"], pd.Categorical([1, 2, 3])],
    ids=str,
)
def test_names_that_look_like_numbers_are_names(values):
    Optimizer(pd.DataFrame({"temp": [1.0, 2.0, 3.0], "plate": values}))
