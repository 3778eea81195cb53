"""The small cells of NAS-Bench-101, enumerated from its rule: 12,416 candidates of 19 zeros and ones.

A cell is a directed acyclic graph of exactly 6 vertices: vertex 0 is the input, vertex 5 the output, and each of the
four between carries an operation, here a 3×3 convolution (0) or a 3×3 max-pooling (1). As in NAS-Bench-101 it has at
most 9 edges, and every vertex lies on a path from input to output.

Edges go from lower to higher vertices, so a graph is 15 bits, the upper triangle of its adjacency matrix row by row:
(0,1), (0,2), …, (0,5), (1,2), …, (4,5). Four bits of operations follow. Relabelling the inner vertices gives the same
network; of all relabellings whose edges still go upwards, the one with the lowest code (15 + 4 bits, read as a number)
stands for the cell.

Of the 2¹⁵ graphs, 1,545 follow the rule; with the 2⁴ operations they make 24,720 codes, which are 12,416 different
cells. With NAS-Bench-101's third operation, the 1×1 convolution, the same rule makes 62,010 cells.
"""

from functools import cache
from itertools import permutations, product

import numpy as np
from numpy.typing import NDArray

VERTICES, INNER, MOST_EDGES = 6, 4, 9
CELLS = 12_416
OPERATIONS = ("conv3x3-bn-relu", "maxpool3x3")
FROM, TO = np.triu_indices(VERTICES, 1)
EDGES = len(FROM)
NO_CODE = np.int64(1 << (EDGES + INNER))  # above every code

Bits = NDArray[np.int8]


@cache
def cells() -> Bits:
    """All cells, a row each: 15 bits of adjacency, 4 bits of operations. In the order of their codes."""
    graphs = _bits(np.arange(1 << EDGES), EDGES)
    graphs = graphs[graphs.sum(axis=1) <= MOST_EDGES]
    adjacency = _unfolded(graphs)
    adjacency = adjacency[connected(adjacency)]
    operations = np.asarray(list(product((0, 1), repeat=INNER)), dtype=np.int8)
    codes = canonical(
        np.repeat(adjacency, len(operations), axis=0),
        np.tile(operations, (len(adjacency), 1)),
    )
    rows = _bits(np.unique(codes), EDGES + INNER)
    rows.setflags(write=False)
    return rows


def canonical(adjacency: Bits, operations: Bits) -> NDArray[np.int64]:
    """The code of the cell that each graph (n, 6, 6) with its operations (n, 4) is a labelling of."""
    best = np.full(len(adjacency), NO_CODE)
    for inner in permutations(range(INNER)):
        order = np.asarray([0, *(vertex + 1 for vertex in inner), VERTICES - 1])
        relabelled = adjacency[:, order][:, :, order]
        upwards = ~np.any(np.tril(relabelled), axis=(1, 2))
        code = number(np.concatenate([relabelled[:, FROM, TO], operations[:, list(inner)]], axis=1))
        best = np.minimum(best, np.where(upwards, code, NO_CODE))
    return best


def connected(adjacency: Bits) -> NDArray[np.bool_]:
    """Whether every vertex lies on a path from input to output."""
    reach = adjacency.astype(np.int64) + np.eye(VERTICES, dtype=np.int64)
    for _ in range(3):  # squared three times: paths of up to 8 edges
        reach = np.minimum(reach @ reach, 1)
    return np.all((reach[:, 0, :] > 0) & (reach[:, :, -1] > 0), axis=1)


def _unfolded(graphs: Bits) -> Bits:
    """Adjacency matrices (n, 6, 6) from their upper triangles."""
    adjacency = np.zeros((len(graphs), VERTICES, VERTICES), dtype=np.int8)
    adjacency[:, FROM, TO] = graphs
    return adjacency


def _bits(numbers: NDArray[np.int64], width: int) -> Bits:
    return ((numbers[:, None] >> np.arange(width - 1, -1, -1)) & 1).astype(np.int8)


def number(bits: Bits) -> NDArray[np.int64]:
    """Rows of bits read as binary numbers, the first bit the highest."""
    return bits @ (1 << np.arange(bits.shape[1] - 1, -1, -1, dtype=np.int64))
