"""Values that lie evenly, or by a factor, rounded to what an instrument can set; listed from the lowest."""

from functools import cached_property
from itertools import pairwise

import numpy as np

from ostinato.arrays import Vector
from ostinato.candidates.columns import Codec

LISTED = 100_000  # values, at most


class RoundedValues:
    """Values rounded to so many decimals; the nearest is that by features, as the codec makes them."""

    def __init__(self, values: tuple[float, ...], digits: int, codec: Codec) -> None:
        self.values = tuple(round(value, digits) + 0.0 for value in values)
        self._codec = codec

    @property
    def twice(self) -> float | None:
        """A value that two have become; None where all are different."""
        return next((one for one, two in pairwise(self.values) if one == two), None)

    @cached_property
    def _between(self) -> Vector:
        """The features half-way between neighbours."""
        features = self._codec.encode(self.values)
        return (features[1:] + features[:-1]) / 2

    def nearest(self, feature: float) -> float:
        return self.values[int(np.searchsorted(self._between, feature))]
