"""What `verify` takes for the same: sums of the same values, which processors round differently."""

import numpy as np
import pytest

from ostinato.measurements.tally import Statistics
from ostinato.study.verifying import _same

VALUES = np.random.default_rng(0).normal(40.0, 0.3, 25)


@pytest.mark.parametrize("values", [VALUES, 1e6 + VALUES[:2], 1e-9 * VALUES, np.zeros(3)], ids=str)
def test_the_order_of_summing_does_not_count(values):
    one = Statistics.of_values(values)
    other = Statistics()
    for value in values[::-1]:
        other += Statistics(1, float(value))
    assert _same(one, other)


@pytest.mark.parametrize("changed", [{"n": 24}, {"mean": 40.001}, {"squares": 2.3}, {"known": 0.1}], ids=str)
def test_another_value_does(changed):
    one = Statistics.of_values(VALUES)
    assert not _same(one, Statistics(**{"n": one.n, "mean": one.mean, "squares": one.squares} | changed))
