"""Tables that stay in files."""

import numpy as np
import pandas as pd
import pytest

from clusters import written
from ostinato import Optimizer
from ostinato.candidates import read_candidates
from ostinato.errors import InvalidCandidates

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "temp": rng.integers(20, 80, 200),
        "rate": rng.random(200),
        "solvent": rng.choice(["water", "ethanol", "acetone"], 200),
        "stirred": rng.random(200) < 0.5,
    }
)


def test_parquet_is_the_same_table_as_a_data_frame(tmp_path):
    inside, outside = read_candidates(FRAME), read_candidates(written(FRAME, tmp_path / "files", 3))
    assert np.array_equal(inside.features, outside.features)
    assert [inside[row] for row in (0, 77, 199)] == [outside[row] for row in (0, 77, 199)]
    assert inside.columns == outside.columns
    assert outside.named_by(outside[33]) == 33


def test_choices_are_those_of_the_same_rows_in_memory(tmp_path):
    where = str(written(FRAME, tmp_path / "files", 2))
    runs = []
    for table in (FRAME, where):
        opt = Optimizer(table, seed=1, budget=20)
        for _ in range(8):
            batch = opt.ask()
            opt.tell(batch, [batch.candidate["rate"]] * batch.repeats)
        runs.append((opt.best().index, opt.best().mean))
    assert runs[0] == runs[1]


def test_a_mapped_array_is_not_copied(tmp_path):
    np.save(tmp_path / "table.npy", rng.random((500, 3)))
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r")
    table = read_candidates(mapped)
    assert np.shares_memory(table.features, mapped)
    assert np.array_equal(table[7], mapped[7])
    assert table.named_by(mapped[9]) == 9


@pytest.mark.parametrize("odd", [-0.0, "writable"])
def test_one_that_would_change_is(tmp_path, odd):
    array = rng.random((50, 2))
    array[3, 1] = -0.0 if odd == -0.0 else 1.0
    np.save(tmp_path / "table.npy", array)
    mapped = np.load(tmp_path / "table.npy", mmap_mode="r" if odd == -0.0 else "r+")
    assert not np.shares_memory(read_candidates(mapped).features, mapped)


def test_what_is_no_candidate_is_refused(tmp_path):
    array = rng.random((50, 2))
    array[31, 1] = np.nan
    np.save(tmp_path / "table.npy", array)
    with pytest.raises(InvalidCandidates, match="Column 1 holds nan in row 31"):
        read_candidates(np.load(tmp_path / "table.npy", mmap_mode="r"))
    with pytest.raises(InvalidCandidates, match="no file at"):
        read_candidates(tmp_path / "nothing-*.parquet")


def test_a_folder_and_a_path_without_files_are_refused_with_the_remedy(tmp_path):
    with pytest.raises(InvalidCandidates, match=r"is a folder: give its files, such as .*/\*\.parquet"):
        Optimizer(tmp_path)
    with pytest.raises(InvalidCandidates, match="no file at"):
        Optimizer(tmp_path / "none.parquet")
