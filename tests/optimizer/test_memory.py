"""memory_limit: read, stored in studies, and said before a run."""

import numpy as np
import pytest

from ostinato import Optimizer, Study
from ostinato.errors import InvalidSetting
from ostinato.optimizer.memory import forecast, forecast_on_card, free_memory
from ostinato.posterior.device import Device

X = np.arange(10.0)[:, None]


@pytest.mark.parametrize(
    ("given", "read"),
    [("4GB", 4e9), ("1.5 gib", 1.5 * 2**30), ("500MB", 5e8), (1234567, 1234567), ("7777777", 7777777)],
)
def test_amounts(given, read):
    assert Optimizer(X, memory_limit=given).memory_limit == read


@pytest.mark.parametrize("given", ["much", "4 apples", "0GB", 0, -1, 1.5, True, "-4GB"])
def test_what_is_no_amount_is_refused(given):
    with pytest.raises(InvalidSetting, match=r"memory_limit=.*is not an amount of memory"):
        Optimizer(X, memory_limit=given)


@pytest.mark.parametrize("given", [3, "3", "16", 1000, "500 kB"])
def test_what_is_too_little_is_refused(given):
    with pytest.raises(InvalidSetting, match=r"memory_limit=.* is .* give 1 MB or more, with its unit"):
        Optimizer(X, memory_limit=given)


def test_by_default_half_of_what_is_free():
    free, limit = free_memory(), Optimizer(X).memory_limit
    assert 0.3 * free < limit < 0.7 * free


def test_free_memory_is_that_of_the_container(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 8000 kB\nMemAvailable:    4000 kB\n")
    assert free_memory(tmp_path / "meminfo", tmp_path) == 4000 * 1024
    (tmp_path / "memory.max").write_text("3000000\n")
    (tmp_path / "memory.current").write_text("1000000\n")
    assert free_memory(tmp_path / "meminfo", tmp_path) == 2_000_000
    (tmp_path / "memory.stat").write_text("anon 500000\ninactive_file 300000\n")
    assert free_memory(tmp_path / "meminfo", tmp_path) == 2_300_000  # files that were read give way
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory(tmp_path / "meminfo", tmp_path) == 4000 * 1024


def test_what_a_run_will_need_is_said_where_it_is_much():
    assert forecast(1_000, 10_000, 10**9) == ""
    assert forecast(10**6, None, 10**9) == ""
    assert "about 2.02 GB, for the covariances of 1,000,000 candidates" in forecast(10**6, 1_000, 4 * 10**9)
    assert "beyond the limit of 500 MB" in forecast(10**6, 1_000, 5 * 10**8)
    assert "beyond the limit of 700 bytes" in forecast(10, 100, 700)
    assert "on the card: about 20 GB, for 1,000,000,000 candidates" in forecast_on_card(10**9, 3, Device("cuda"))
    assert forecast_on_card(10**6, 3, Device("cuda", double=True)) == ""


def test_a_study_keeps_it_and_another_machine_may_have_another(tmp_path):
    Study("lab", tmp_path / "lab.db", X, budget=3, seed=0, memory_limit="1GB")
    assert Study("lab", tmp_path / "lab.db").optimizer.memory_limit == 10**9
    study = Study("lab", tmp_path / "lab.db", memory_limit="2GB")
    assert study.optimizer.memory_limit == 2 * 10**9
    assert study.run(lambda row: row[0], progress=False).steps == 3
    assert Study("lab", tmp_path / "lab.db").optimizer.memory_limit == 2 * 10**9
    with pytest.raises(InvalidSetting, match="memory_limit='much'"):
        Study("lab", tmp_path / "lab.db", memory_limit="much")
