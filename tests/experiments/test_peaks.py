"""The benchmark of a narrow peak: what is said holds where the higher peak is broad, and not where it is hidden."""

import pytest
from benchmarks.peaks import holds


@pytest.mark.parametrize(("width", "held"), [(0.2, True), (0.05, False)])
def test_a_peak_that_nothing_came_near_is_not_counted(width, held):
    assert holds(width, 60, seed=3) is held
