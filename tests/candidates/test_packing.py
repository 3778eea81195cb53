"""Candidates survive being stored, with the values and types that the user gave."""

from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ostinato import Category, Float, Integer, Space
from ostinato.candidates import head_of, packed, read_candidates, row_of, unpacked
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


LONG = 70_000  # rows: more than a block holds
LONG_FRAME = {
    "temp": np.linspace(20, 80, LONG),
    "rate": np.random.default_rng(0).random(LONG).astype(np.float32),
    "ph": np.round(np.random.default_rng(1).uniform(2, 12, LONG), 1),
    "layers": np.arange(LONG) - 7,
    "solvent": np.random.default_rng(2).choice(["water", "none", "ethanol"], LONG),
    "hot": np.arange(LONG) % 3 == 0,
}
LARGE = {
    "array": np.random.default_rng(0).random((LONG, 3)),
    "floats of 4 bytes": np.random.default_rng(0).random((LONG, 3)).astype(np.float32),
    "big-endian": np.arange(2.0 * LONG).reshape(LONG, 2).astype(">f8"),
    "integers": np.arange(2 * LONG).reshape(LONG, 2),
    "signed zeros": np.column_stack([np.where(np.arange(LONG) % 2, 0.0, -0.0), np.arange(LONG)]),
    "pandas": pd.DataFrame(LONG_FRAME),
    "pandas, nullable": pd.DataFrame(LONG_FRAME).convert_dtypes(),
    "polars": pl.DataFrame(LONG_FRAME),
    "ordered": pl.DataFrame({"size": pl.Series(["small", "big"] * LONG, dtype=pl.Enum(["small", "big"]))}),
    "space": Space(x=Float(0.1, 1, count=200, log=True), n=Integer(1, 400), kind=Category(1, "b")),
    "conditional": Space(kind=Category("a", "b"), n=Integer(1, 23_000), m=Integer(1, 2).when(kind="a")),
    "numbers of two types": pd.DataFrame({"share": [1, 0.5] * LONG, "n": range(2 * LONG)}, dtype=object),
}


def restored(table):
    """As it is read from a storage."""
    pack = packed(table)
    return unpacked(head_of(pack.head), pack.blocks())


@pytest.mark.filterwarnings("ignore::ostinato.errors.DuplicateCandidates")
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_they_come_back_as_they_were(source):
    table = read_candidates(source)
    again = restored(table)
    assert packed(again).digest == packed(table).digest
    assert np.array_equal(again.features, table.features)
    assert again.columns == table.columns
    for index in range(table.rows):
        assert repr(again[index]) == repr(table[index])


def test_what_cannot_be_stored_is_said():
    with pytest.raises(InvalidCandidates, match="cannot be stored"):
        packed(read_candidates(pd.DataFrame({"share": [Fraction(1, 3), Fraction(1, 2)]}, dtype=object)))


@pytest.mark.filterwarnings("ignore::ostinato.errors.DuplicateCandidates")
@pytest.mark.filterwarnings("ignore::ostinato.errors.NumbersAsTexts")
@pytest.mark.parametrize("source", LARGE.values(), ids=LARGE)
def test_large_tables_come_back_as_they_were(source):
    table = read_candidates(source)
    again = restored(table)
    assert packed(again).digest == packed(table).digest
    assert np.array_equal(again.features, table.features)
    assert np.array_equal(again.numbers, table.numbers)
    assert again.columns == table.columns
    pack = packed(table)
    head, blocks = head_of(pack.head), pack.blocks()
    for index in (0, 1, 9_999, 65_535, 65_536, table.rows - 1):
        assert repr(again[index]) == repr(table[index])
        if blocks:
            assert repr(row_of(head, index, blocks.__getitem__)) == repr(table[index])


@pytest.mark.filterwarnings("ignore::ostinato.errors.DuplicateCandidates")
def test_large_tables_are_stored_in_little_more_room_than_their_numbers_need():
    random, rounded = (np.random.default_rng(0).random((LONG, 2)) for _ in range(2))
    assert sum(map(len, packed(read_candidates(random)).blocks())) < 1.02 * random.nbytes
    assert sum(map(len, packed(read_candidates(rounded.round(2))).blocks())) < 0.13 * rounded.nbytes
