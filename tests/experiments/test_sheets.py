"""The tables of a report, as text."""

import numpy as np
import pytest

from ostinato.experiments.sheets import from_to
from ostinato.experiments.summary import Estimate


@pytest.mark.parametrize(
    ("estimate", "shown"),
    [
        ((0.5, 0.4, 0.6), "0.50 (0.40–0.60)"),
        ((0.0042, 0.0031, 0.0056), "0.004 (0.003–0.006)"),
        ((12.34, 9.99, 15.2), "12.3 (9.99–15.2)"),
        ((1.0, np.nan, np.nan), "1.00"),
        ((np.nan, np.nan, np.nan), "–"),
        ((1234.5, 1000.0, 1500.0), "1,234 (1,000–1,500)"),
    ],
)
def test_ratios_as_text(estimate, shown):
    assert from_to(Estimate(*estimate)) == shown
