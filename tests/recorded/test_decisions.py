"""The same decisions as were recorded, in 200 random histories. Where a change is meant to change some, record anew."""

import json

import pytest

from recorded.histories import FILE, decided, names

RECORDED = json.loads(FILE.read_text())
PARTS = 10


@pytest.mark.parametrize("part", range(PARTS))
def test_the_same_is_decided_as_ever(part):
    differ = [name for name in names()[part::PARTS] if decided(name) != RECORDED[name]]
    assert not differ
