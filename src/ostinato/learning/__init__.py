"""What the user did not say, learned: noise, kernel, prior mean, set-up error."""

from ostinato.learning.fit_state import FitState
from ostinato.learning.learner import Learner, Wanted
from ostinato.learning.prior import Prior
from ostinato.learning.shrinking import Shrinking

__all__ = ["FitState", "Learner", "Prior", "Shrinking", "Wanted"]
