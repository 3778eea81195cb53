"""An adaptive scheme with a guarantee, where neither length-scale nor norm is known.

After Berkenkamp, Schoellig and Krause, *No-Regret Bayesian Optimization with Unknown Hyperparameters* (2019).

A function of norm F under length-scale ℓ₀ has at most the norm g^{d/2} F under ℓ₀/g (its spectrum is divided by a
density that is at least g^{−d} times the first). So let the length-scale shrink and the norm bound grow, slowly, for
ever: from some measurement on they are right whatever the truth is, and if they move slowly enough the regret stays
sublinear.

    g(t)^d = b(t) = 1 + log(1 + t/t₀)      length-scale ℓ₀/g(t)      norm F_t = b(t) g(t)^{d/2} F₀

g moves in steps of a tenth, so that the model is made anew rarely; and B is mini-META's, which holds whatever the
kernel is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import floor, log, log1p, sqrt

from ostinato.checks import fraction, positive
from ostinato.confidence import Progress
from ostinato.policies.algorithms import RepeatsByMiniMeta
from ostinato.policies.scored import Score
from ostinato.policies.ucb import UCB

STEP = 1.1  # by which the length-scale shrinks at a time


@dataclass(frozen=True)
class AdaptiveUCB(RepeatsByMiniMeta):
    """Upper confidence bounds under an ever shorter length-scale and an ever larger norm bound.

    norm_bound: F₀, a first guess of the function's norm under the kernel that was given. patience: t₀, measurements
    until the guesses are first doubted. scale: a factor on β; 1 is what is proved, and 0.1 what works in practice.
    """

    norm_bound: float = 1.0
    patience: float = 10.0
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("norm_bound", "patience", "scale"):
            positive(name, getattr(self, name))
        fraction("delta", self.delta)

    @cached_property
    def score(self) -> Score:
        return UCB(self.confidence)

    @property
    def shrinking(self) -> Callable[[int, int], float]:
        return self.shrinkage

    def norm_growth(self, steps: int) -> float:
        """b(t)."""
        return 1 + log1p(steps / self.patience)

    def shrinkage(self, steps: int, columns: int) -> float:
        """g(t), a power of the step: by how much the length-scale is shorter than at first."""
        return STEP ** floor(log(self.norm_growth(steps)) / columns / log(STEP) + 1e-12)

    def confidence(self, progress: Progress) -> float:
        """β = F_t + √(log_det + 2 log(1/δ)), for the kernel that is in force."""
        g = self.shrinkage(progress.steps, progress.columns)
        norm = self.norm_bound * self.norm_growth(progress.steps) * sqrt(g) ** progress.columns
        return self.scale * (norm + sqrt(progress.log_det + 2 * log(1 / self.delta)))
