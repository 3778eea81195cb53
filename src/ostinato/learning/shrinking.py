"""A length-scale that shrinks as measurements come, as an adaptive policy says (`policies/adaptive.py`)."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace

from ostinato.arrays import Vector
from ostinato.errors import InvalidSetting
from ostinato.kernels import Constant, Kernel, ProductMatern52, Stationary, Sum
from ostinato.learning.fit_state import FitState
from ostinato.learning.prior import Prior
from ostinato.measurements.tally import Tally


class ShrinkingLengthscale:
    """The prior that was given, with its kernel's length-scales over g(t)."""

    def __init__(self, prior: Prior, shrinkage: Callable[[int], float]) -> None:
        self._prior, self._shrinkage = prior, shrinkage
        self._at, self._now = 0, 1.0
        shrunk(prior.kernel, 2.0)

    def with_candidates(self, noise: Vector) -> "ShrinkingLengthscale":
        """The same, for more candidates."""
        other = copy(self)
        other._prior = replace(self._prior, noise=noise)
        return other

    def due(self, tally: Tally) -> bool:
        return self._shrinkage(int(tally.steps)) > self._now

    def first(self) -> Prior:
        return self._prior

    def learn(self, tally: Tally) -> Prior:
        self._at, self._now = int(tally.steps), self._shrinkage(int(tally.steps))
        return self.peek(tally)

    @property
    def fit_state(self) -> FitState | None:
        """When the length-scale shrank last, as a fact."""
        return None if self._at == 0 else FitState((0, self._at))

    def recall(self, fit_state: FitState) -> Prior:
        """The prior as it was then."""
        self._at, self._now = int(fit_state.at[1]), self._shrinkage(int(fit_state.at[1]))
        return replace(self._prior, kernel=shrunk(self._prior.kernel, self._now))

    def peek(self, tally: Tally) -> Prior:
        """What `learn` would say now."""
        return replace(self._prior, kernel=shrunk(self._prior.kernel, self._shrinkage(int(tally.steps))))


def shrunk(kernel: Kernel, g: float) -> Kernel:
    """The same kernel with length-scales g times shorter."""
    if isinstance(kernel, Sum) and isinstance(kernel.second, Constant):
        return shrunk(kernel.first, g) + kernel.second
    if not isinstance(kernel, Stationary | ProductMatern52):
        raise InvalidSetting(
            f"AdaptiveUCB shrinks the length-scale of a stationary kernel, and {kernel!r} is none: give RBF(…) or "
            "Matern52(…)."
        )
    return replace(kernel, lengthscale=tuple(scale / g for scale in kernel.scales))
