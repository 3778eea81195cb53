"""BKB: GP-UCB on a Nyström posterior, whose inducing set is drawn anew after every step.

Each past step enters it with probability min(1, q̄ σ̃²(x_s)/λ): see `posterior/nystrom.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from ostinato.checks import positive
from ostinato.policies.algorithms import GPUCB
from ostinato.policies.base import BasePolicy
from ostinato.posterior import Model, Nystrom


@dataclass(frozen=True)
class OnNystrom(BasePolicy):
    """A policy that sees the Nyström posterior.

    oversampling: q̄, above 0. Larger means more inducing candidates: more exact, and slower. About 5 is needed.
    """

    oversampling: float = field(default=5.0, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("oversampling", self.oversampling)

    @property
    def model(self) -> Callable[..., Model]:
        return partial(Nystrom, oversampling=self.oversampling)


@dataclass(frozen=True)
class BKB(OnNystrom, GPUCB):
    """BKB: one measurement a step, by upper confidence bounds of a Nyström posterior."""
