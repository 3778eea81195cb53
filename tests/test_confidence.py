"""Confidence widths follow their formulas, scale, and can be replaced."""

from math import log, pi, sqrt

import pytest

from ostinato.confidence import Bayesian, Fixed, Frequentist, Improvement, Progress, Scaled, as_schedule
from ostinato.errors import InvalidSetting

PROGRESS = Progress(steps=99, log_det=12.0, candidates=1000)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        (Fixed(2.0), 2.0),
        (Frequentist(norm_bound=3.0, delta=0.05), 3 + sqrt(12 + 2 * log(20))),
        (Frequentist(norm_bound=3.0, delta=0.05, noise_ratio=2.0), 3 + 2 * sqrt(12 + 2 * log(20))),
        (Bayesian(delta=0.1), sqrt(2 * log(1000 * 100**2 * pi**2 / 0.6))),
        (Improvement(delta=0.1), sqrt(12 + sqrt(12 * log(1000)) + log(1000))),
        (0.1 * Fixed(3.0), 0.3),
        (Bayesian(0.1) * 2, 2 * sqrt(2 * log(1000 * 100**2 * pi**2 / 0.6))),
    ],
)
def test_formulas(schedule, expected):
    assert schedule(PROGRESS) == pytest.approx(expected, rel=1e-12)


def test_numbers_and_callables_are_schedules():
    assert as_schedule(3) == Fixed(3.0)
    own = lambda progress: progress.t / 10  # noqa: E731
    assert as_schedule(own) is own
    assert Scaled(own, 2.0)(PROGRESS) == 20


@pytest.mark.parametrize(
    "make",
    [
        lambda: Fixed(-1.0),
        lambda: Fixed(float("nan")),
        lambda: Bayesian(0.0),
        lambda: Improvement(1.0),
        lambda: Frequentist(-1.0),
        lambda: -1 * Fixed(1.0),
    ],
)
def test_out_of_range_is_refused(make):
    with pytest.raises(InvalidSetting):
        make()
