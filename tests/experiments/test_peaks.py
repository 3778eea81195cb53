"""The benchmark of a narrow peak: what is said holds mostly, but not where the higher peak is hidden."""

from benchmarks.peaks import holds


def test_a_peak_that_nothing_came_near_is_not_counted():
    assert not any(holds(0.05, 60, seed) for seed in range(3))
    assert sum(holds(0.2, 60, seed) for seed in range(5)) >= 3
