"""Candidates survive being stored, with the values and types that the user gave."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ostinato import Category, Float, Integer, Space
from ostinato.candidates import packed, read_candidates, unpacked
from ostinato.errors import InvalidCandidates

FRAME = {
    "temp": [20.5, 30.0, 40.25],
    "layers": [1, 2, 3],
    "solvent": ["water", "none", "water"],
    "hot": [True, False, True],
}
SOURCES = {
    "array": np.arange(12.0).reshape(4, 3) / 7,
    "integers": np.arange(12).reshape(4, 3),
    "pandas": pd.DataFrame(FRAME),
    "polars": pl.DataFrame(FRAME),
    "ordered": pl.DataFrame({"size": pl.Series(["small", "big"], dtype=pl.Enum(["small", "big"]))}),
    "space": Space(x=Float(0.1, 1, count=4, log=True), n=Integer(1, 3), kind=Category("a", "b")),
    "duplicates": np.array([[1.0], [2.0], [1.0]]),
}


@pytest.mark.filterwarnings("ignore::ostinato.errors.DuplicateCandidates")
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_they_come_back_as_they_were(source):
    table = read_candidates(source)
    again = unpacked(packed(table))
    assert packed(again) == packed(table)
    assert np.array_equal(again.features, table.features)
    assert again.columns == table.columns
    for index in range(table.rows):
        assert repr(again[index]) == repr(table[index])


def test_what_cannot_be_stored_is_said():
    with pytest.raises(InvalidCandidates, match="cannot be stored"):
        packed(read_candidates(pd.DataFrame({"share": [Fraction(1, 3), Fraction(1, 2)]}, dtype=object)))
