"""What a model must know besides the measurements, and what the measurements then are worth to it."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, sqrt

from ostinato.arrays import Vector, least_of, times
from ostinato.kernels import Column, Kernel, ProductMatern52, Stationary
from ostinato.kernels.base import without_constant
from ostinato.measurements.tally import Statistics, Tally
from ostinato.records import Learned


@dataclass(frozen=True, eq=False)
class Prior:
    """Kernel, noise λ(x) of every candidate, prior mean, variance τ² of set-ups; and a floor for hopeless outcomes.

    Outcomes below the floor count as the floor: how bad the bad ones are should not rule what is believed of good ones.
    """

    kernel: Kernel
    noise: Vector
    mean: float = 0.0
    setup: float = 0.0
    floor: float = -inf

    def evidence(self, tally: Tally) -> Tally:
        """Each candidate as one measurement, of a mean and of a number of repeats that may be a fraction."""
        if self.floor == -inf and tally.plain and self.setup == 0:
            return tally
        worth = Tally()
        for candidate, _ in tally:
            merged = self._merged(tally, candidate)
            worth.add(candidate, Statistics(merged.n, max(merged.mean, self.floor)))
        return worth

    def additions(
        self, tally: Tally, feedback: Mapping[int, Statistics], setup: Hashable
    ) -> Mapping[int, Statistics] | None:
        """What new feedback adds to the evidence; None where it is not mere addition, and all is to be built anew."""
        added: dict[int, Statistics] = {}
        for candidate, each in feedback.items():
            floored = self.floor > -inf and candidate in tally
            if floored and min(self._merged(tally, candidate).mean, each.mean) < self.floor:
                return None
            if self.setup > 0 and tally.has(candidate, setup):
                return None
            added[candidate] = Statistics(self.worth(candidate, each), max(each.mean, self.floor))
        return added

    def worth(self, candidate: int, group: Statistics) -> float:
        """How many independent measurements a group counts for: λ/v, with v = τ² + λ/n the variance of its mean."""
        noise = float(self.noise[candidate])
        if self.setup == 0 and not group.known:
            return group.n
        return noise / (self.setup + (group.known or noise / group.n))

    def told(self, columns: Sequence[Column], sign: int, what: tuple[str, ...], fits: int) -> Learned:
        """In words for the user."""
        kernel, _ = without_constant(self.kernel)
        known = isinstance(kernel, Stationary | ProductMatern52)
        names = [column.name for column in columns]
        return Learned(
            mean=sign * self.mean,
            std=kernel.std if known else None,
            lengthscales=dict(zip(names, kernel.scale_of_each(len(names)), strict=True)) if known else None,
            units={column.name: column.unit for column in columns if column.unit},
            noise_std=(sqrt(least_of(self.noise)), sqrt(-least_of(times(-1.0, self.noise)))),
            setup_std=sqrt(self.setup),
            what=what,
            fits=fits,
        )

    def _merged(self, tally: Tally, candidate: int) -> Statistics:
        """All that was measured of a candidate, each group weighing what it is worth."""
        total = Statistics()
        for group in tally.groups(candidate):
            total += Statistics(self.worth(candidate, group), group.mean)
        return total
