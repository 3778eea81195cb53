"""Generated requests to every route: no 5xx, and no answer that is not described."""

import pytest
from benchmarks.reliability.schema import fuzz

pytestmark = pytest.mark.filterwarnings("ignore")
CASES = 1_000  # 30 s of processor time; `python -m benchmarks.reliability schema` sends 20,000


def test_whatever_is_sent_is_answered_as_described(tmp_path):
    assert fuzz(tmp_path / "lab.db", CASES) >= CASES / 2
