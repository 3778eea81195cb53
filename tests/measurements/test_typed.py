"""One value as people type it."""

from math import isnan

import pytest

from ostinato.errors import InvalidFeedback
from ostinato.measurements.typed import one_number


@pytest.mark.parametrize(
    ("word", "value"), [("71,5", 71.5), ("-0,125", -0.125), ("−3", -3), ("1e-3", 0.001), ("1234,567", 1234.567)]
)
def test_points_and_commas(word, value):
    assert one_number(word) == value


@pytest.mark.parametrize("word", ["nan", "failed", "-", "N/A"])
def test_words_for_a_measurement_that_failed(word):
    assert isnan(one_number(word))


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("1,234", "1,234 may be 1234 or 1.234"),
        ("1,2,3", "Put spaces between values"),
        ("1.234,5", "not a number"),
        ("much", "'much' is not a number. Write nan for a measurement that failed"),
        ("inf", "inf is not finite"),
    ],
)
def test_what_is_not_one_number_is_explained(word, why):
    with pytest.raises(InvalidFeedback, match=why):
        one_number(word)
