"""Numbers for every candidate, in blocks: whatever the blocks are, the same answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.kernels import RBF
from ostinato.posterior import BlockedVector
from ostinato.posterior.blocks import Blocks


@st.composite
def blocked(draw):
    values = np.array(draw(st.lists(st.floats(-9, 9), min_size=1, max_size=12)))
    cuts = sorted(draw(st.sets(st.integers(1, len(values) - 1)))) if len(values) > 1 else []
    return values, BlockedVector([part.copy() for part in np.split(values, cuts)], [0, *cuts])


@given(blocked(), st.data())
def test_blocks_answer_as_one_array_does(pair, data):
    values, vector = pair
    some = np.array(data.draw(st.lists(st.integers(0, len(values) - 1), max_size=8)), dtype=np.int64)
    bar = data.draw(st.floats(-9, 9))
    assert vector.flat().tolist() == values.tolist()
    assert vector.at(some).tolist() == values[some].tolist()
    assert [vector[int(each)] for each in some] == values[some].tolist()
    assert (vector.highest, vector.span) == (values.max(), (values.min(), values.max()))
    assert vector.above(bar).tolist() == np.flatnonzero(values >= bar).tolist()
    assert vector.near_highest(abs(bar)).tolist() == np.flatnonzero(values >= values.max() - abs(bar)).tolist()
    assert vector.map(np.subtract, vector.like(2 * values)).flat().tolist() == (-values).tolist()


@given(blocked(), st.data())
def test_leaving_candidates_out_leaves_the_original_alone(pair, data):
    values, vector = pair
    gone = data.draw(st.sets(st.integers(0, len(values) - 1)))
    left = vector.without(gone)
    assert vector.flat().tolist() == values.tolist()
    assert set(np.flatnonzero(left.flat() == -np.inf)) == gone
    kept = [i for i in range(len(values)) if i not in gone]
    assert left.flat()[kept].tolist() == values[kept].tolist()


@pytest.mark.parametrize("size", [1, 4, 100, None])
def test_a_fork_goes_its_own_way_with_the_same_covariances(size):
    X = np.random.default_rng(0).random((9, 2))
    blocks = Blocks.of(np, RBF(0.5), X, 1.0, size)
    blocks.add(X[[3]])
    other = blocks.fork()
    other.condition(np.array([0.5]), 2.0, 8, 0.25)
    assert other.variances[8] == 0.25
    assert blocks.means.flat() == pytest.approx(1.0)
    assert other.means.flat() == pytest.approx(1.0 + RBF(0.5)(X[[3]], X)[0])
    assert other.columns(np.array([7, 2])) == pytest.approx(RBF(0.5)(X[[3]], X[[7, 2]]))


@pytest.mark.parametrize("size", [1, 4, None])
def test_one_candidate_is_read_as_several_are(size):
    X = np.random.default_rng(0).random((9, 2))
    kernel = RBF(0.5, std=2.0) * RBF(3.0).on(0)
    blocks = Blocks.of(np, kernel, X, 1.0, size)
    blocks.add(X[[3, 5]])
    for candidate in range(9):
        k_x, k = blocks.column(candidate)
        assert k_x.tolist() == blocks.columns(np.array([candidate]))[:, 0].tolist()
        assert k == blocks.prior_variances[candidate] == pytest.approx(4.0)


def test_numpy_sees_all_blocks_as_one_array():
    vector = BlockedVector([np.array([1.0, 3.0]), np.array([2.0, 5.0, 4.0])], [0, 2])
    assert np.argmax(vector) == 3
    assert np.asarray(vector, dtype=np.float32).tolist() == [1, 3, 2, 5, 4]
