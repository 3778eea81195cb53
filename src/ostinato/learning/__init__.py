"""What the user did not say, learned: noise, kernel, prior mean, set-up error."""

from ostinato.learning.fit_state import FitState
from ostinato.learning.learner import Learner, LearningSettings
from ostinato.learning.prior import Prior
from ostinato.learning.shrinking import ShrinkingLengthscale

__all__ = ["FitState", "Learner", "LearningSettings", "Prior", "ShrinkingLengthscale"]
