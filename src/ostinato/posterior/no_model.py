"""No model at all, for policies that need none: the prior, whatever is measured."""

import numpy as np

from ostinato.arrays import Array, Matrix, Namespace, Vector, namespace_of
from ostinato.kernels import Kernel
from ostinato.measurements.tally import Tally
from ostinato.posterior.blocks import Blocks
from ostinato.posterior.cache import Indices
from ostinato.posterior.device import Device
from ostinato.posterior.pending import Ghost


class NoModel:
    """The prior's mean and variance at every candidate; its own ghost, since nothing changes it."""

    device: Device | None = None  # computed on the processor, wherever candidates are

    log_det = heaviest = jitter = 0.0

    def __init__(
        self,
        features: Matrix,
        kernel: Kernel,
        noise: Vector,
        *,
        mean: float = 0.0,
        xp: Namespace = np,
        block_size: int | None = None,
        memory: int | None = None,
    ) -> None:
        self.features, self.kernel, self.noise, self.prior_mean = features, kernel, noise, mean
        self.block_size, self.memory = block_size, memory
        self.blocks = Blocks.of(xp, kernel, features, mean, len(features))
        self.means, self.variances = self.blocks.means, self.blocks.variances
        self.kappa2 = self.variances.highest

    @property
    def xp(self) -> Namespace:
        return namespace_of(self.means.parts[0])

    def at_each(self, candidates: Indices) -> tuple[Vector, Vector]:
        """Mean and variance of f at some candidates."""
        return self.means.at(candidates), self.variances.at(candidates)

    def condition(self, candidate: int, n: float, value: float) -> None:
        """Learn nothing."""

    def rebuild(self, tally: Tally) -> None:
        """Learn nothing."""

    def covariance_with(self, candidate: int) -> Vector:
        return self.kernel(self.features[candidate : candidate + 1], self.features)[0]

    def ghost(self) -> Ghost:
        return self

    def add(self, candidate: int, n: float) -> tuple[Array, float]:
        return np.zeros(0), self.variance(candidate)

    def variance(self, candidate: int) -> float:
        return self.variances[candidate]

    def columns(self, candidates: Indices) -> Matrix:
        return np.zeros((0, len(candidates)))

    def spread(self, P: Matrix) -> Matrix:
        return np.zeros((len(P), len(self.features)))
