"""What the user did not say, learned: noise, kernel, prior mean, set-up error."""

from ostinato.learning.learner import Learner, Wanted
from ostinato.learning.learnt import Learnt
from ostinato.learning.prior import Prior
from ostinato.learning.shrinking import Shrinking

__all__ = ["Learner", "Learnt", "Prior", "Shrinking", "Wanted"]
