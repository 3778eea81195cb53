"""What every model of f answers, so that policies need not know which one they see."""

from typing import Protocol

import msgspec

from ostinato.arrays import Matrix, Namespace, Vector
from ostinato.kernels import Kernel
from ostinato.measurements.tally import Tally
from ostinato.posterior.blocks import BlockedVector, Blocks
from ostinato.posterior.cache import Indices
from ostinato.posterior.device import Device
from ostinato.posterior.pending import Ghost


class Drawn(msgspec.Struct, frozen=True):
    """An inducing set, as candidates, and the variances under it by which the next one is drawn.

    steps: measurements there were when it was drawn. The next is drawn once there are more.
    """

    inducing: list[int]
    variances: dict[int, float]
    steps: float | None = None


class Model(Protocol):
    """A belief about f at all candidates: `Posterior` (exact), `Nystrom` (sparse) or `NoModel` (the prior)."""

    features: Matrix
    kernel: Kernel
    noise: Vector
    prior_mean: float
    block_size: int | None
    memory: int | None
    device: Device | None
    kappa2: float
    heaviest: float  # the most that measurements of one candidate weigh, n/λ, where they are kept to the last digit
    jitter: float  # that a factorisation needed, so far

    @property
    def xp(self) -> Namespace: ...

    @property
    def blocks(self) -> Blocks:
        """What has the size of the candidate set, up to date."""
        ...

    @property
    def means(self) -> BlockedVector: ...

    @property
    def variances(self) -> BlockedVector: ...

    @property
    def log_det(self) -> float: ...

    def variance(self, candidate: int) -> float:
        """The variance of f at one candidate, to the last digit."""
        ...

    def at_each(self, candidates: Indices) -> tuple[Vector, Vector]:
        """Mean and variance of f at some candidates."""
        ...

    def condition(self, candidate: int, n: float, value: float) -> None:
        """Take in n measurements with mean `value` at one candidate."""
        ...

    def rebuild(self, tally: Tally) -> None:
        """Start again from the facts."""
        ...

    def covariance_with(self, candidate: int) -> Vector:
        """cov(f(x), f(candidate)) at every candidate x."""
        ...

    def ghost(self) -> Ghost:
        """Its variances can go on without it."""
        ...
