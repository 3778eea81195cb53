"""Finished runs on disk: nothing lost, nothing made twice."""

import msgspec
import pytest

from ostinato.errors import InvalidInput
from ostinato.experiments.records import Run
from ostinato.experiments.store import Store


def run_of(seed):
    return Run(
        "report",
        "p",
        "a",
        {"C": 1.1},
        seed,
        2,
        t=[1, 2],
        regret=[0.1, 0.3],
        unique=[1, 2],
        rounds=[1, 2],
        switches=[0, 1],
        seconds=[0.0, 0.1],
    )


def test_what_was_added_is_there_again(tmp_path):
    path = tmp_path / "new" / "runs.jsonl"
    store = Store(path)
    for seed in range(3):
        store.add(run_of(seed))
    assert Store(path).runs == store.runs == {run_of(seed).key: run_of(seed) for seed in range(3)}


def test_runs_without_simple_regret_are_read(tmp_path):
    path = tmp_path / "runs.jsonl"
    Store(path).add(run_of(0))
    line = path.read_bytes()
    assert b',"simple":null' in line
    path.write_bytes(line.replace(b',"simple":null', b""))
    assert list(Store(path).runs.values()) == [run_of(0)]


@pytest.mark.parametrize("cut", [1, 10, 80])
def test_a_line_cut_short_is_dropped_and_the_rest_goes_on(tmp_path, cut):
    path = tmp_path / "runs.jsonl"
    store = Store(path)
    store.add(run_of(0)), store.add(run_of(1))
    path.write_bytes(path.read_bytes()[:-cut])
    store = Store(path)
    assert [run.seed for run in store.runs.values()] == [0]
    store.add(run_of(2))
    assert [run.seed for run in Store(path).runs.values()] == [0, 2]


def test_a_damaged_line_is_refused_by_number(tmp_path):
    path = tmp_path / "runs.jsonl"
    Store(path).add(run_of(0))
    path.write_bytes(path.read_bytes() + b'{"stage": 7}\n' + msgspec.json.encode(run_of(1)) + b"\n")
    with pytest.raises(InvalidInput, match="Line 2"):
        Store(path)
