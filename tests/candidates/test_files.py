"""Candidates from files."""

import polars as pl
import pytest

from ostinato.candidates import read_file
from ostinato.errors import InvalidCandidates, InvalidSetting


def test_csv_with_the_types_of_its_columns(tmp_path):
    path = tmp_path / "catalogue.csv"
    path.write_text("temp,layers,solvent,hot\n20.5,1,water,true\n30,2,none,False\n", encoding="utf-8-sig")
    table = read_file(path)
    assert table[0] == {"temp": 20.5, "layers": 1, "solvent": "water", "hot": True}
    assert table[1] == {"temp": 30.0, "layers": 2, "solvent": "none", "hot": False}
    assert [column.kind for column in table.columns] == ["number", "number", "category", "number"]
    (tmp_path / "tabs.tsv").write_text("a\tb\n1\t2\n")
    assert read_file(tmp_path / "tabs.tsv")[0] == {"a": 1, "b": 2}


def test_parquet(tmp_path):
    frame = pl.DataFrame({"temp": [20.5, 30.0], "solvent": ["water", "none"]})
    frame.write_parquet(tmp_path / "catalogue.parquet")
    assert read_file(tmp_path / "catalogue.parquet")[1] == {"temp": 30.0, "solvent": "none"}


def test_a_space_in_toml(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text(
        "[temp]\nlow = 20\nhigh = 80\nstep = 30\n[rate]\nlow = 0.01\nhigh = 1\ncount = 3\nlog = true\n"
        '[layers]\nlow = 1\nhigh = 2\ninteger = true\n[size]\nlevels = ["small", "big"]\nordered = true\n'
        '[solvent]\nlevels = ["water", "none"]\n'
    )
    table = read_file(path)
    assert len(table) == 3 * 3 * 2 * 2 * 2
    assert table[0] == {"temp": 20.0, "rate": 0.01, "layers": 1, "size": "small", "solvent": "water"}
    path.write_text('["catalyst load"]\nlow = 1\nhigh = 24\ncount = 5\nlog = true\ndigits = 1\n')
    assert [row["catalyst load"] for row in map(read_file(path).__getitem__, range(5))] == [1.0, 2.2, 4.9, 10.8, 24.0]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.csv", "", "holds no candidates"),
        ("a.csv", "temp,ph\n", "holds no candidates"),
        ("a.csv", "temp,temp\n1,2\n", "a name of its own"),
        ("a.csv", "temp,ph\n1,2\n3\n", "line 3: 2 values wanted"),
        ("a.csv", "temp,ph\n1,2\n3,6,5\n", "line 3: '5' is beyond the last column, ph. Write decimals with a point"),
        ("a.csv", "temp;ph\n1;2\n3;6,5;good\n", "line 3: 'good' is beyond the last column, ph. If it is not part"),
        ("a.csv", "temp,ph\n1,\n", "line 2"),
        ("a.csv", "temp\n1\nnan\n", "a number elsewhere"),
        ("a.csv", "temp\n60\n7O\n80\n", "line 3: temp is .7O., and a number in most other lines"),
        ("a.csv", 'temp\n"1\n', "cannot be read"),
        ("a.csv", "a;b\n1,5;1\nn.d.;2\n2,5;3\n", "line 3: a is 'n.d.', and a number elsewhere"),
        ("a.csv", "a;b\n1,5;1\n6,,8;2\n2,5;3\n", "line 3: a is '6,,8', and a number in most other lines"),
        ("a.csv", "a;b\n1,5;1\n< 5;2\n2,5;3\n", "line 3: a is '< 5', and a number in most other lines"),
        ("a.csv", "a,b\n1,1\n,\n2,2\n", "line 3: a is empty"),
        ("a.csv", "a\n-1e308\n1e308\n", "Column 'a' goes from .* too wide"),
        ("a.toml", "temp = [", "is not a TOML file"),
        ("a.toml", "[ph]\nlow = 1\nhigh = 2\n[catalyst load]\nlow = 1\n", r'name in quotes.*: \["catalyst load"\]'),
        ("a.toml", "[temp (°C)] # warm\nlow = 1\n", r'name in quotes.*: \["temp \(°C\)"\]'),
        (
            "a.toml",
            "[load]\nlow = 1\nhigh = 2\ncount = 20\nlog = true\ndigits = 1\n",
            r"\[load\] is .* are both 1.0 once",
        ),
        ("a.toml", "", "describes no columns"),
        ("a.toml", "[temp]\nlow = 1\n", r"\[temp\] is"),
        (
            "a.toml",
            '[temp]\nlow = 1\nhigh = 9\nlog = "no"\n',
            r"a.toml: \[temp\] has `log = 'no'`, which is neither true nor false",
        ),
        ("a.toml", "[temp]\nlow = 1\nhigh = 9\ninteger = 1\n", r"\[temp\] .* `integer = 1`, which is neither"),
        ("a.toml", '[temp]\nlevels = ["a"]\nordered = "no"\n', r"\[temp\] .* `ordered = 'no'`, which is neither"),
        ("a.toml", '[temp]\nlow = 1\nhigh = 9\nwhen = { s = "a" }\n', "a.toml: 'temp', .* depends on 's': name"),
        ("a.parquet", "no", "cannot be read as Parquet"),
        ("a.xls", "no", "unknown kind"),
    ],
)
def test_files_that_cannot_be_read_are_explained(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises((InvalidCandidates, InvalidSetting), match=words):
        read_file(tmp_path / name)


def test_a_missing_file(tmp_path):
    with pytest.raises(InvalidCandidates, match="There is no file"):
        read_file(tmp_path / "none.csv")


@pytest.mark.parametrize("cell", ["1.000", "1.234,5", "2.5"])
def test_points_beside_decimal_commas_are_refused(tmp_path, cell):
    file = tmp_path / "table.csv"
    file.write_text(f"a;b\n1,5;1\n{cell};2\n2,5;3\n")
    with pytest.raises(InvalidCandidates, match=f"line 3: a is '{cell}', and decimals have commas in other lines"):
        read_file(file)


def test_a_folder_is_not_a_table(tmp_path):
    with pytest.raises(InvalidCandidates, match="is a folder: give a table of candidates"):
        read_file(tmp_path)


@pytest.mark.parametrize("rest", [",\n", " , \n\n,\n"])
def test_empty_rows_at_the_end_are_left_out(tmp_path, rest):
    (tmp_path / "a.csv").write_text(f"a,b\n1,2\n3,4\n{rest}")
    assert len(read_file(tmp_path / "a.csv")) == 2


def test_tabs_separate_columns_whatever_the_file_is_called(tmp_path):
    (tmp_path / "copied.csv").write_text("temp\tpH, at 20 °C\tstirred\n1\t2\t0\n3\t4\t1\n")
    table = read_file(tmp_path / "copied.csv")
    assert table[1] == {"temp": 3, "pH, at 20 °C": 4, "stirred": 1}
