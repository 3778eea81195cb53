"""Means and variances computed from a fresh factorisation, and not from running updates."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ostinato.arrays import Array, Matrix, Vector, from_numpy, namespace_of, to_numpy
from ostinato.kernels import Kernel
from ostinato.posterior.cache import Indices
from ostinato.posterior.device import Device
from ostinato.posterior.factor import Factor

AT_ONCE = 512  # candidates that are computed at a time: their covariances then stay in the processor's cache
REMEMBERED_UP_TO = 256  # candidates, of which means and variances are kept one by one
ON_DEVICE = 16_384  # the same on other devices, to bound memory


class FreshPredictions:
    """Predicts from a factorisation. At measured candidates where `precise`, by forms that lose no digits."""

    def __init__(
        self,
        features: Matrix,
        kernel: Kernel,
        mean: float,
        measured: Indices,
        factor: Factor,
        precise: NDArray[np.bool_],
        device: Device | None = None,
    ) -> None:
        """device: where many candidates are computed."""
        self._device = device
        self._features, self._kernel, self._mean, self._factor = features, kernel, mean, factor
        self._order = np.argsort(measured)
        self._sorted, self._measured, self._precise = measured[self._order], measured, precise
        self._known: dict[int, tuple[float, float]] = {}  # of few candidates, at which one is likely to look again

    @cached_property
    def everywhere(self) -> tuple[Vector, Vector]:
        """At all candidates."""
        return self.at(np.arange(len(self._features)))

    def at(self, candidates: Indices) -> tuple[Vector, Vector]:
        if len(candidates) == 1 and (known := self._known.get(int(candidates[0]))):
            return np.array(known[:1]), np.array(known[1:])
        step = AT_ONCE if namespace_of(self._factor.alpha) is np else ON_DEVICE
        if len(candidates) <= step or self._device:
            return self._at(candidates)
        parts = [self._at(part) for part in np.split(candidates, range(step, len(candidates), step))]
        means, variances = zip(*parts, strict=True)
        return np.concatenate(means), np.concatenate(variances)

    def _at(self, candidates: Indices) -> tuple[Vector, Vector]:
        slots = self._slots(candidates)
        new = slots < 0
        if new.all():
            return self._elsewhere(candidates)
        mean, variance = self._at_measured[0][slots], self._at_measured[1][slots]
        if new.any():
            mean[new], variance[new] = self._elsewhere(candidates[new])
        return mean, variance

    def _slots(self, candidates: Indices) -> Indices:
        """Places among those measured, where these have a precise form; −1 for all others."""
        if not len(self._sorted):
            return np.full(len(candidates), -1)
        places = np.minimum(np.searchsorted(self._sorted, candidates), len(self._sorted) - 1)
        slots = self._order[places]
        return np.where((self._sorted[places] == candidates) & self._precise[slots], slots, -1)

    @cached_property
    def _at_measured(self) -> tuple[Vector, Vector]:
        mean, variance = to_numpy(self._factor.mean_at_measured), to_numpy(self._factor.variance_at_measured)
        return mean + self._mean, np.maximum(variance, 0.0)

    def _elsewhere(self, candidates: Indices) -> tuple[Vector, Vector]:
        if self._device and len(candidates) > AT_ONCE:
            return self._on_device(self._features[candidates], self._device)
        X = from_numpy(namespace_of(self._X), self._features[candidates])
        k_x = self._kernel(self._X, X)
        mean = to_numpy(self._factor.mean(k_x)) + self._mean
        variance = np.maximum(to_numpy(self._factor.variance_of_many(k_x, self._kernel.diag(X))), 0.0)
        if len(candidates) <= REMEMBERED_UP_TO:
            self._known |= zip(candidates.tolist(), zip(mean.tolist(), variance.tolist(), strict=True), strict=True)
        return mean, variance

    def _on_device(self, points: Matrix, device: Device) -> tuple[Vector, Vector]:
        from ostinato.posterior.card_exact import means_and_variances

        mean, variance = means_and_variances(self._kernel, self._X, points, self._factor, device)
        return mean + self._mean, np.maximum(variance, 0.0)

    @cached_property
    def _X(self) -> Array:
        return from_numpy(namespace_of(self._factor.alpha), self._features[self._measured])
