"""Tables on a Dask cluster, read by real workers."""

import numpy as np
import pandas as pd
import pytest

from clusters import written
from ostinato import Optimizer, ShardedTable
from ostinato.candidates import extended, read_candidates
from ostinato.errors import DuplicateCandidates, InvalidCandidates, InvalidSetting, UnknownCandidate

pytestmark = pytest.mark.filterwarnings("default")  # Dask has some of its own
ROWS = 300


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "temp": rng.integers(20, 80, ROWS),
            "rate": 10 ** rng.uniform(-4, 0, ROWS),
            "solvent": rng.choice(["water", "ethanol", "none"], ROWS),
            "stirred": rng.random(ROWS) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def table(frame, two_workers, tmp_path_factory):
    return ShardedTable(two_workers, written(frame, tmp_path_factory.mktemp("table"), 3))


def test_rows_and_columns_are_those_of_the_same_table_in_memory(frame, table):
    inside = read_candidates(frame)
    assert len(table) == len(inside)
    assert [table[row] for row in range(0, ROWS, 37)] == [inside[row] for row in range(0, ROWS, 37)]
    assert table.columns == inside.columns
    assert table.features[np.arange(ROWS)].tolist() == inside.features.tolist()
    assert [each.tolist() for each in table.span] == [each.tolist() for each in inside.span]
    assert type(table[0]["temp"]) is int


def test_columns_over_decades_are_seen_on_a_logarithmic_scale(frame, table):
    inside, outside = read_candidates(frame).on_logs(), table.on_logs()
    assert [column.log for column in outside.columns] == [column.log for column in inside.columns]
    assert any(column.log for column in outside.columns)
    assert np.allclose(outside.features[np.arange(ROWS)], inside.features, rtol=1e-14)
    assert outside.find(inside.features[[7, 299]]) == [7, 299]


def test_a_row_is_found_wherever_it_is(frame, table):
    row = table[211]
    assert table.named_by(row) == 211
    with pytest.raises(UnknownCandidate, match="not among the 300 candidates"):
        table.named_by({**row, "temp": 19})
    with pytest.raises(UnknownCandidate, match="0 to 299"):
        table.number_of(300)


def test_rows_that_repeat_others_are_one_candidate(frame, two_workers, tmp_path):
    twice = pd.concat([frame, frame[5:105:10], frame[:1]])
    with pytest.warns(DuplicateCandidates, match="11 of the 311"):
        inside = read_candidates(twice)
    with pytest.warns(DuplicateCandidates, match="11 of the 311"):
        table = ShardedTable(two_workers, written(twice, tmp_path, 4))
    rows = range(0, 311, 3)
    assert [table.number_of(row) for row in rows] == [inside.number_of(row) for row in rows]
    assert [table.index_of(number) for number in range(300)] == [inside.index_of(number) for number in range(300)]


def test_added_rows_come_after_all_others(frame, table):
    more = [table[3], {"temp": 81, "rate": 0.5, "solvent": "acetone", "stirred": True}]
    inside, outside = extended(read_candidates(frame), more), extended(table, more)
    assert (outside.rows, outside.grown) == (inside.rows, inside.grown) == (301, [300, 301])
    assert outside[300] == more[1]
    assert outside.named_by(more[1]) == 300
    assert outside.base.rows == 300
    again = extended(table, more, again=True)
    assert [again.number_of(row) for row in (299, 300, 301)] == [299, 3, 300]
    assert table.rows == 300


def test_files_that_cannot_be_candidates_are_refused(frame, two_workers, tmp_path):
    with pytest.raises(InvalidCandidates, match="no file at"):
        ShardedTable(two_workers, tmp_path / "*.parquet")
    holes = frame.assign(temp=[None if row == 250 else 1.0 for row in range(ROWS)])
    with pytest.raises(InvalidCandidates, match="'temp' has no value in row 250"):
        ShardedTable(two_workers, written(holes, tmp_path / "holes", 3))
    mixed = written(frame, tmp_path / "mixed", 1)
    frame[["temp"]].to_parquet(tmp_path / "mixed" / "9.parquet")
    with pytest.raises(InvalidCandidates, match="same columns"):
        ShardedTable(two_workers, mixed)
    with pytest.raises(InvalidCandidates, match=r"2\^53"):
        ShardedTable(two_workers, written(pd.DataFrame({"id": [2**60, 1]}), tmp_path / "ids", 1))
    with pytest.raises(InvalidSetting, match="not a Dask client"):
        ShardedTable("tcp://nowhere", tmp_path / "*.parquet")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"goal": "earn"}, "does not work with a ShardedTable"),
        ({"noise_std": "varying"}, "give one number"),
        ({"switch_cost": {"temp": 3}}, "give one number"),
        ({"memory_limit": "1GB"}, "workers"),
    ],
)
def test_what_needs_all_candidates_at_once_is_refused(table, settings, words):
    with pytest.raises(InvalidSetting, match=words):
        Optimizer(table, **settings)


def test_numbers_for_every_candidate_are_refused(table):
    optimizer = Optimizer(table, seed=0)
    optimizer.observe(3, [1.0, 2.0])
    with pytest.raises(InvalidSetting, match="all candidates at once"):
        optimizer.predict()
    assert optimizer.predict([table[3]]).mean.shape == (1,)


def test_a_library_that_is_missing_is_named(two_workers):
    """As that for Google's storage is; s3://… is tested where its library is installed."""
    with pytest.raises(InvalidSetting, match=r"gs://lab/\*\.parquet cannot be read: .*gcsfs.*all workers.*\[s3\]"):
        ShardedTable(two_workers, "gs://lab/*.parquet")
    with pytest.raises(InvalidSetting, match="Protocol not known: nowhere"):
        ShardedTable(two_workers, "nowhere://lab/*.parquet")
