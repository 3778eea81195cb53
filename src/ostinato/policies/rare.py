"""RS-OFUL's rule of rare switching: stay until the determinant has grown by the factor 1 + C.

While one candidate of variance σ² is repeated, det(I + K/λ) grows by 1 + B σ²/λ after B repeats. So the repeat at which
it first exceeds 1 + C is known beforehand:

    B = floor(C λ/σ²) + 1
"""

from dataclasses import dataclass
from math import floor, log1p

from ostinato.checks import positive
from ostinato.policies.repeat_value import ENDLESS, RepeatValue
from ostinato.policies.scored import RepeatRule


@dataclass(frozen=True)
class RareSwitching(RepeatRule):
    """Stay with a candidate until the determinant has grown by the factor 1 + C.

    C: above 0. Larger means longer batches and fewer switches.
    """

    C: float = 0.5

    def __post_init__(self) -> None:
        positive("C", self.C)

    def __call__(self, repeat_value: RepeatValue) -> int:
        worth, variance = self.C * repeat_value.noise, repeat_value.variance
        return repeat_value.limited(floor(worth / variance) + 1 if worth < ENDLESS * variance else ENDLESS)

    @property
    def gain_of_full_batch(self) -> float:
        """log(1 + C)."""
        return log1p(self.C)
