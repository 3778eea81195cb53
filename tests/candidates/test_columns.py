"""Columns that spread over decades are told from those that do not."""

import numpy as np
import pytest

from ostinato.candidates import read_candidates
from ostinato.candidates.columns import Logs, on_log_scale
from ostinato.errors import InvalidCandidates


@pytest.mark.parametrize(
    ("values", "decades"),
    [
        (10.0 ** np.arange(-6, 1), True),
        (2 ** np.arange(4, 11), True),
        (10 ** np.random.default_rng(0).uniform(-5, 0, 200), True),
        (np.arange(1, 101), False),
        (np.random.default_rng(0).uniform(0.001, 1, 200), False),
        ([1, 2, 4, 8], False),  # less than a decade
        ([0, 1, 10, 100], True),  # 0 has no logarithm, and lies a step below the others
        ([0, 1, 2, 3], False),
        ([-10, -1, 1, 10], False),
        ([1, 1000], False),  # two levels have no spacing
        ([5.0], False),
    ],
)
def test_which_columns_are_logarithmic(values, decades):
    assert (on_log_scale("x", np.asarray(values, dtype=float)) is not None) == decades


def test_a_zero_lies_a_step_below_the_others():
    logs = on_log_scale("dose", np.array([0.0, 0.01, 0.1, 1.0, 10.0]))
    assert logs.encode([0, 0.01, 10]) == pytest.approx([-3, -2, 1])


def test_only_a_learned_kernel_sees_logarithms_of_a_table():
    table = np.column_stack([10.0 ** np.arange(6), np.arange(6)])
    assert read_candidates(table).features[:, 0].tolist() == (10.0 ** np.arange(6)).tolist()
    logs = read_candidates(table, logs=True)
    assert logs.features[:, 0].tolist() == pytest.approx(list(range(6)))
    assert logs.encode([[1000.0, 2.0]]).tolist() == [[3.0, 2.0]]
    assert logs[3].tolist() == [1000.0, 3.0]
    assert [column.unit for column in logs.columns] == [" decades", ""]


def test_what_has_no_logarithm_is_refused():
    with pytest.raises(InvalidCandidates, match="above 0"):
        Logs("lr").encode([1.0, 0.0])


def test_what_has_no_logarithm_is_named_with_a_remedy():
    with pytest.raises(InvalidCandidates, match=r"holds -1\.0: .*\. Give numbers above 0"):
        Logs("dose").encode([1.0, -1.0])
