"""The same decisions as were recorded, in random histories. Where a change is meant to change some, record anew.

Histories take policies and settings in turn: the ordinary tests have three of each in memory, and one in a study.
"""

import json

import pytest

from recorded.histories import FILE, HISTORIES, POLICIES, STORED, STUDIES, decided, names
from sizes import size

RECORDED = json.loads(FILE.read_text())
PARTS = 5
TRIED = names(size(3 * len(POLICIES), HISTORIES), size(len(STORED), STUDIES))


@pytest.mark.parametrize("part", range(PARTS))
def test_the_same_is_decided_as_ever(part):
    differ = [name for name in TRIED[part::PARTS] if decided(name) != RECORDED[name]]
    assert not differ
