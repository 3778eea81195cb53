"""The cells are those of NAS-Bench-101's rule, checked by a slow method that shares nothing with the fast one."""

from itertools import combinations, permutations

import numpy as np
import pytest

from ostinato.problems.cells import CELLS, canonical, cells, number

PAIRS = list(combinations(range(6), 2))


def read(row):
    edges = {pair for pair, bit in zip(PAIRS, row[:15], strict=True) if bit}
    return edges, {vertex: int(op) for vertex, op in zip(range(1, 5), row[15:], strict=True)}


def reachable(start, edges):
    seen, todo = {start}, [start]
    while todo:
        here = todo.pop()
        for a, b in edges:
            if a == here and b not in seen:
                seen.add(b)
                todo.append(b)
    return seen


def follows_the_rule(edges):
    backwards = {(b, a) for a, b in edges}
    return len(edges) <= 9 and len(reachable(0, edges)) == 6 and len(reachable(5, backwards)) == 6


def labellings(edges, ops):
    """Every code of the same cell whose edges go upwards."""
    for inner in permutations(range(1, 5)):
        new = dict(zip((0, *inner, 5), range(6), strict=True))
        moved = {(new[a], new[b]) for a, b in edges}
        if all(a < b for a, b in moved):
            placed = {new[vertex]: op for vertex, op in ops.items()}
            yield tuple(int(pair in moved) for pair in PAIRS) + tuple(placed[vertex] for vertex in range(1, 5))


def test_there_are_12416_different_cells_of_19_bits():
    rows = cells()
    assert rows.shape == (12_416, 19) == (CELLS, 19)
    assert len(np.unique(rows, axis=0)) == 12_416
    assert set(np.unique(rows)) == {0, 1}
    assert np.all(np.diff(number(rows)) > 0)


def test_every_cell_follows_the_rule_and_is_its_lowest_labelling():
    rows = cells()
    for index in np.random.default_rng(0).choice(len(rows), 300, replace=False):
        edges, ops = read(rows[index])
        assert follows_the_rule(edges)
        assert min(labellings(edges, ops)) == tuple(rows[index].tolist())


def test_every_graph_that_follows_the_rule_is_one_of_the_cells():
    known = {tuple(row) for row in cells().tolist()}
    rng, found = np.random.default_rng(1), 0
    while found < 100:
        row = rng.integers(0, 2, 19)
        edges, ops = read(row)
        inside = follows_the_rule(edges)
        assert (min(labellings(edges, ops)) in known) == inside
        found += inside


def test_the_number_of_labellings_adds_up():
    """All labellings of all cells are all codes that follow the rule: none is lost, none counted twice."""
    graphs = {tuple(row) for row in cells()[:, :15].tolist()}
    labelled = {code[:15] for graph in graphs for code in labellings(*read((*graph, 0, 0, 0, 0)))}
    assert len(labelled) == 1_545


def test_a_relabelled_graph_is_the_same_cell():
    rng = np.random.default_rng(2)
    for row in cells()[rng.choice(CELLS, 50, replace=False)]:
        adjacency = np.zeros((1, 6, 6), dtype=np.int8)
        adjacency[0][np.triu_indices(6, 1)] = row[:15]
        inner = rng.permutation(4)
        order = [0, *(inner + 1), 5]
        relabelled = adjacency[:, order][:, :, order]  # edges may now go downwards too
        assert canonical(relabelled, row[None, 15:][:, inner])[0] == number(row[None])[0]


def test_cells_are_shared_and_cannot_be_changed():
    assert cells() is cells()
    with pytest.raises(ValueError, match="read-only"):
        cells()[0, 0] = 1
