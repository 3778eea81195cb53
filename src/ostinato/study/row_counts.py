"""Of every row of a study's table: how often it was measured, and whether it is retired. Conditions may name both."""

import msgspec
import numpy as np
from numpy.typing import NDArray

from ostinato.candidates.filtering import Mask, Own
from ostinato.study.view import StudyView


class RowCounts(msgspec.Struct, frozen=True, eq=False):
    """Of every row of the table how often it was measured, and whether it is retired."""

    measured: NDArray[np.int64]
    retired: Mask

    @property
    def own(self) -> Own:
        """As conditions name them."""
        return {"measured": self.measured.astype(np.float64), "retired": self.retired.astype(np.float64)}


def counts_of(study: StudyView) -> RowCounts:
    """By row of the table."""
    rows, counts = study.table.rows, study.counts()
    measured, retired = np.zeros(rows, dtype=np.int64), np.zeros(rows, dtype=np.bool_)
    measured[list(counts)], retired[study.retired] = list(counts.values()), True
    return RowCounts(measured, retired)
