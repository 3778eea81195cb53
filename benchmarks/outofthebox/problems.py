"""The problems: none of them was used to choose a default (those were chosen on the `TRAINING` ones)."""

import numpy as np

from ostinato.arrays import Matrix
from ostinato.candidates import Candidates, read_candidates

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
TRAINING = (
    "hpobench-blood-transfusion",
    "hpobench-car",
    "hpobench-credit-g",
    "hpobench-kc1",
    "hpobench-segment",
    "nas201-cifar100",
    "hpolib-parkinsons-telemonitoring",
    "hpolib-protein-structure",
    "hpolib-slice-localization",
)


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


__all__ = ["PROBLEMS", "TRAINING", "grid_index", "levels", "read_candidates", "unit_cube"]
