"""The lowest and the highest mean of very many candidates, by a screen of them."""

import numpy as np

from ostinato.posterior.cache import Indices
from ostinato.posterior.exact import Posterior
from ostinato.posterior.screen import Screen

NONE: Indices = np.zeros(0, dtype=np.int64)


def range_of_means(model: Posterior, screen: Screen) -> tuple[float, float]:
    """The lowest as it is in low precision; the highest exactly."""
    return model.prior_mean + float(np.sqrt(model.kappa2)) * screen.lowest, highest_mean(model, screen)


def highest_mean(model: Posterior, screen: Screen, out: Indices = NONE) -> float:
    """The highest, of all candidates but some (in increasing order); minus infinity where none is left."""
    if len(out) == len(model.features):
        return -np.inf
    if not screen.settles:
        return float(np.max(model.at_each(screen.may_be_highest(out))[0]))
    measured = np.setdiff1d(model.measured[model.measured < len(model.features)], out)
    others = model.prior_mean + screen.highest_mean(measured, out)
    return max(others, float(np.max(model.at_each(measured)[0], initial=-np.inf)))
