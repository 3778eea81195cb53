"""A screen with imagined measurements: of very many candidates, which may be chosen next in a plan.

Imagined measurements take something off variances and leave means alone. So the bounds of a screen that knows nothing
of them hold, and so do those from earlier in a plan: what is known of the few candidates that were computed exactly
settles most picks. Once too many others may be chosen too, the measurements are taken up for all candidates.
"""

from typing import cast

import numpy as np

from ostinato.arrays import Vector
from ostinato.posterior.cache import Indices
from ostinato.posterior.ghost import ExactGhost
from ostinato.posterior.pending_pointwise import PendingPointwise
from ostinato.posterior.screen import Screen
from ostinato.posterior.screen_block import Terms


class PendingScreen(Screen):
    """Variances are at most as kept, as ever; of candidates that are known exactly, as when they were looked at."""

    def __init__(self, screen: Screen, few: PendingPointwise) -> None:
        self.__dict__.update(vars(screen.fork()))
        self._few, self._taken_up = few, 0
        self._known = np.zeros(few.size, dtype=bool)

    def set_variances(self, candidates: Indices, variances: Vector) -> None:
        super().set_variances(candidates, variances)
        self._known[candidates] = True

    def tighten(self) -> bool:
        """Take up what was imagined since the last time; False where that was nothing, or it cannot be done."""
        imagined, posterior = self._few.imagined, self._few.posterior
        own = cast("ExactGhost", imagined.ghost).measured[self.filled :]  # only imagined, so that they come last
        if self._taken_up == len(imagined) or self.needs_repair or not posterior.fits(self.filled + len(own)):
            return False
        self.refine(np.arange(self._few.size))
        self.add(posterior.features[own])
        self.condition([(p, 0.0) for p in imagined.terms[self._taken_up :]])
        self._taken_up = len(imagined)
        known = np.flatnonzero(self._known)
        super().set_variances(known, self._few.at_each(known)[1])  # what they had seen was taken off again
        return not self.needs_repair

    @property
    def terms(self) -> Terms:
        imagined, posterior = self._few.imagined, self._few.posterior
        X = posterior.features[cast("ExactGhost", imagined.ghost).measured]
        return Terms(X, posterior.factor, imagined.coefficients() if len(imagined) else None)

    def bounds(self) -> tuple[Vector, Vector] | None:
        """The least and the most that the variance of each candidate may be, κ² = 1; None where that is not known."""
        self.refine(np.arange(self._few.size))
        self.tighten()
        if self._taken_up < len(self._few.imagined) or self.needs_repair:
            return None
        variances = self.variances
        return variances - self.variance_error, variances + self.variance_error
