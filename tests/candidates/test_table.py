"""Candidates come in as the user has them, and go out the same way."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ostinato import Study
from ostinato.candidates import read_candidates
from ostinato.candidates.extending import extended
from ostinato.errors import DuplicateCandidates, InvalidCandidates, UnknownCandidate

DATA = {"temp": [20.0, 30.0, 40.0], "cycles": [1, 2, 3], "solvent": ["water", "oil", "water"]}
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("frame", FRAMES)
def test_data_frames_come_back_as_dicts_in_their_own_types(frame):
    candidates = read_candidates(frame(DATA))
    row = candidates[1]
    assert row == {"temp": 30.0, "cycles": 2, "solvent": "oil"}
    assert isinstance(row["solvent"], str)
    assert [column.kind for column in candidates.columns] == ["number", "number", "category"]
    assert candidates.features.tolist() == [[20, 1, 1], [30, 2, 0], [40, 3, 1]]


@pytest.mark.parametrize("frame", FRAMES)
def test_points_may_be_rows_dicts_or_frames_with_columns_in_any_order(frame):
    candidates = read_candidates(frame(DATA))
    expected = [[35.0, 2.0, 0.0]]
    assert candidates.encode({"solvent": "oil", "temp": 35.0, "cycles": 2}).tolist() == expected
    assert candidates.encode([{"solvent": "oil", "temp": 35.0, "cycles": 2}]).tolist() == expected
    assert candidates.encode(frame({"solvent": ["oil"], "cycles": [2], "temp": [35.0]})).tolist() == expected
    assert candidates.named_by({"temp": 40.0, "cycles": 3, "solvent": "water"}) == 2


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_arrays_come_back_as_rows_of_their_own_type(dtype):
    table = np.array([[0, 1], [1, 0], [1, 1]], dtype=dtype)
    candidates = read_candidates(table)
    assert candidates[2].dtype == dtype
    assert candidates[2].tolist() == table[2].tolist()
    assert candidates.features.dtype == np.float64
    assert candidates.named_by(table[1]) == 1
    assert candidates.named_by(np.int64(1)) == 1


def test_a_returned_row_is_the_users_to_change():
    table = np.zeros((2, 2))
    table[1] = 1
    candidates = read_candidates(table)
    candidates[0][:] = 9
    table[1] = 9
    assert candidates[0].tolist() == [0, 0]
    assert candidates[1].tolist() == [1, 1]


def test_one_column_may_be_flat():
    candidates = read_candidates([0.0, 0.5, 1.0])
    assert candidates.features.shape == (3, 1)
    assert candidates.named_by([0.5]) == 1
    assert candidates.encode([0.1, 0.2]).shape == (2, 1)


def test_duplicates_merge_with_a_notice():
    table = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [-0.0, 0.0], [3.0, 3.0]])
    with pytest.warns(DuplicateCandidates, match="2 of the 5 candidate rows"):
        candidates = read_candidates(table)
    assert len(candidates) == 3
    assert candidates.numbers.tolist() == [0, 1, 0, 1, 2]
    assert [candidates.index_of(number) for number in range(3)] == [0, 1, 4]
    assert candidates.named_by(3) == candidates.named_by([0.0, 0.0]) == 1


def test_ordered_categories_of_a_frame_are_ranks():
    grade = pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True)
    for frame in (
        pd.DataFrame({"grade": grade}),
        pl.DataFrame({"grade": ["low", "high"]}, schema={"grade": pl.Enum(["low", "mid", "high"])}),
    ):
        candidates = read_candidates(frame)
        assert candidates.columns[0].kind == "number"
        assert candidates.features.tolist() == [[0], [2]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.zeros((0, 2)), "at least one row"),
        (np.zeros((2, 0)), "one column"),
        (np.zeros((2, 2, 2)), "no table"),
        ("water", "no table"),
        (np.array([[1.0, np.nan]]), "Column 1 holds nan in row 0"),
        (np.array([[1.0], [np.inf]]), "holds inf in row 1"),
        (np.array([["a", "b"]]), "not a plain number"),
        (np.array([[1 + 2j]]), "not a plain number"),
        (np.ma.masked_array([[1.0], [2.0]], [[True], [False]]), "not a plain number"),
        (np.array([["2026-01-01"]], dtype="datetime64[D]"), "not a plain number"),
        ([[1.0], [2.0, 3.0]], "no table"),
        (pd.DataFrame({"x": [1.0, None]}), "Column 'x' has no value in row 1"),
        (pl.DataFrame({"x": ["a", None]}), "Column 'x' has no value in row 1"),
        (pd.DataFrame({"x": [1.0, np.inf]}), "holds inf in row 1"),
        (pd.DataFrame({"day": pd.to_datetime(["2026-01-01"])}), "no meaning as a feature"),
        (pd.DataFrame(), "at least one row"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(table, message):
    with pytest.raises(InvalidCandidates, match=message):
        read_candidates(table)


def test_what_is_not_a_candidate_is_named():
    candidates = read_candidates(pd.DataFrame(DATA))
    for where, message in [
        (3, "Index 3 is not in the table"),
        (-1, "Index -1"),
        ({"temp": 20.0}, "are needed"),
        ({"temp": 21.0, "cycles": 1, "solvent": "water"}, "not among the 3 candidates"),
        ([20.0, 1.0, 0.0], "no column names"),
    ]:
        with pytest.raises(UnknownCandidate, match=message):
            candidates.named_by(where)
    with pytest.raises(UnknownCandidate, match="has shape"):
        read_candidates(np.eye(3)).named_by([1.0, 0.0])


def test_what_names_one_candidate_and_what_names_several():
    named = read_candidates(pd.DataFrame({"a": [5, 6, 7, 8], "b": [1.0, 2.0, 3.0, 4.0]}))
    assert named.named_by([1, 2]) == [1, 2]  # columns have names, so flat numbers are indices
    assert named.named_by(np.array(3)) == 3
    assert named.named_by(pd.Series({"a": 6, "b": 2.0})) == 1
    assert named.named_by(pd.DataFrame({"a": [8, 5], "b": [4.0, 1.0]})) == [3, 0]
    whole = read_candidates(np.array([[0, 3], [1, 2], [2, 1], [3, 0]]))
    assert whole.named_by(np.array([1, 2])) == 1  # an array as long as a row is a row
    assert whole.named_by([0, 1, 3]) == [0, 1, 3]  # another length: indices
    assert whole.named_by([[1, 2], [3, 0]]) == [1, 3]
    with pytest.raises(UnknownCandidate, match="may be a row or 2 indices"):
        whole.named_by([1, 2])
    assert whole.named_by([0, 1]) == [0, 1]  # there is no such row
    one_column = read_candidates(np.array([[3], [2], [1], [0]]))
    assert one_column.named_by(one_column[1]) == 1  # what ask gives can be observed
    assert one_column.named_by([1, 2, 3]) == [1, 2, 3]
    assert read_candidates([0.0, 0.5, 1.0]).named_by([0.5, 1.0]) == [1, 2]


def test_a_data_frame_that_changes_later_changes_nothing():
    frame = pd.DataFrame(DATA)
    candidates = read_candidates(frame)
    frame["result"] = 0.0
    frame.loc[1, "temp"] = 99.0
    assert candidates[1] == {"temp": 30.0, "cycles": 2, "solvent": "oil"}


def test_rows_that_are_off_by_rounding_are_found_and_others_name_the_nearest():
    candidates = read_candidates(pd.DataFrame({"ph": [0.1, 0.2, 0.3], "solvent": ["oil", "oil", "water"]}))
    assert candidates.named_by({"ph": 0.1 + 0.2, "solvent": "water"}) == 2
    assert candidates.named_by({"ph": np.float64(0.30000000004), "solvent": "water"}) == 2
    with pytest.raises(UnknownCandidate, match=r"nearest is index 2, .*'water'"):
        candidates.named_by({"ph": 0.31, "solvent": "water"})


def test_frames_whose_columns_are_numbers():
    candidates = read_candidates(pd.DataFrame(np.array([[1.0, 2.0], [3.0, 4.0]])))
    assert candidates[1] == {0: 3.0, 1: 4.0}
    assert candidates.named_by({0: 3.0, 1: 4.0}) == 1
    with pytest.raises(InvalidCandidates, match="not all different"):
        read_candidates(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))


def list_of_dicts(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("made", [dict, list_of_dicts])
def test_columns_and_rows_by_name_are_tables_too(made, tmp_path):
    candidates = read_candidates(made(DATA))
    assert [candidates[row] for row in range(3)] == list_of_dicts(DATA)
    assert [column.kind for column in candidates.columns] == ["number", "number", "category"]
    study = Study("s", tmp_path / "s.db", made(DATA))
    study.observe({"temp": 40.0, "cycles": 3, "solvent": "water"}, 1.5)
    assert Study("s", tmp_path / "s.db", made(DATA)).status().measurements == 1


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([{"a": 1}, {"b": 1}], "do not all have the same columns"),
        ([{"a": 1}, {"a": "x"}], "Column 'a' holds 1 in row 0, and texts elsewhere"),
        ([{"a": 1}, {"a": None}], "Column 'a' holds nan in row 1"),
        ({"a": [1, 2], "b": [1]}, r"different numbers of rows \(a 2, b 1\)"),
        ([{"a": 1}, 2], "no table"),
        (pd.DataFrame({"a": [1e308, -1e308]}), "Column 'a' goes from -1e[+]308 to 1e[+]308, which is too wide"),
        (np.array([[1e308], [-1e308]]), "Column 0 goes from"),
    ],
)
def test_tables_that_one_cannot_compute_with_are_named(table, message):
    with pytest.raises(InvalidCandidates, match=message):
        read_candidates(table)


def test_a_wide_column_that_is_seen_on_a_logarithmic_scale_is_no_trouble():
    assert read_candidates(pl.DataFrame({"a": [1.0, 1e100, 1e200]}), logs=True).columns[0].log


def test_added_whole_numbers_are_written_as_the_others():
    table = extended(read_candidates({"a": [1.5, 2.5], "n": [1, 2]}), [{"a": 60, "n": 60}])
    assert [(repr(value), repr(n)) for value, n in [tuple(table[2].values())]] == [("60.0", "60")]
