"""The problems on which optimisers are compared, and the others by which our defaults were chosen."""

from typing import Any

import numpy as np

from ostinato.arrays import Matrix
from ostinato.candidates import Candidates, read_candidates
from ostinato.problems import Problem, load, synthetic

PROBLEMS = (
    "rosenbrock",
    "ellipsoid",
    "schaffer",
    "rastrigin",
    "rosenbrock-uneven",
    "schaffer-setups",
    "hpobench-australian",
    "hpobench-vehicle",
    "nas201-cifar10",
)
TABLES = ("hpobench-car", "hpobench-credit-g", "hpobench-segment", "nas201-cifar100", "hpolib-protein-structure")
FUNCTIONS: dict[str, dict[str, Any]] = {
    "rastrigin": {"dimension": 4, "side": 10, "instance": 3, "std": 0.3},
    "schaffer": {"dimension": 2, "side": 60, "instance": 2, "std": 0.5},
    "ellipsoid": {"dimension": 5, "side": 6, "instance": 5, "std": 1.0},
    "rosenbrock": {"dimension": 4, "side": 10, "instance": 4, "std": 0.5},
}


def training() -> list[Problem]:
    """The problems by which defaults were chosen."""
    return [load(name) for name in TABLES] + [synthetic(name, **options) for name, options in FUNCTIONS.items()]


def levels(table: Candidates) -> list[tuple[str, bool, int]]:
    """Name, whether it is a category, and number of levels of every column; all problems are full grids."""
    return [
        (str(column.name), column.kind == "category", len(np.unique(values)))
        for column, values in zip(table.columns, table.features.T, strict=True)
    ]


def unit_cube(table: Candidates) -> Matrix:
    """Numbers scaled to [0, 1], categories one-hot: what users of other libraries would make by hand."""
    parts: list[Matrix] = []
    for (_, category, count), values in zip(levels(table), table.features.T, strict=True):
        if category:
            parts.append((values[:, None] == np.arange(count)).astype(float))
        else:
            parts.append(((values - values.min()) / (values.max() - values.min()))[:, None])
    return np.concatenate(parts, axis=1)


def grid_index(table: Candidates) -> dict[tuple[int, ...], int]:
    """From the digits of a candidate's levels to its row."""
    digits = np.stack([np.unique(values, return_inverse=True)[1] for values in table.features.T], axis=1)
    return {tuple(int(digit) for digit in row): index for index, row in enumerate(digits)}


__all__ = ["PROBLEMS", "grid_index", "levels", "read_candidates", "training", "unit_cube"]
