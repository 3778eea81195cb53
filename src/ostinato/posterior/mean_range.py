"""The lowest and the highest mean of very many candidates, by a screen of them."""

import numpy as np

from ostinato.posterior.exact import Posterior
from ostinato.posterior.screen import Screen


def range_of_means(model: Posterior, screen: Screen) -> tuple[float, float]:
    """The lowest as it is in low precision; the highest exactly."""
    lowest = model.prior_mean + float(np.sqrt(model.kappa2)) * screen.lowest
    if not screen.settles:
        return lowest, float(np.max(model.at_each(screen.may_be_highest())[0]))
    measured = np.sort(model.measured[model.measured < len(model.features)])
    others = model.prior_mean + screen.highest_mean(measured)
    return lowest, max(others, float(np.max(model.at_each(measured)[0], initial=-np.inf)))
