"""What repeating one candidate is about: what is unknown of it, what a measurement tells, and what going there costs.

B repeats made with one set-up have a mean of variance τ² + λ/B, so they teach log(1 + σ²/(τ² + λ/B)) of the
log-determinant. Past λ/τ² repeats the set-up's own error is all that is left, and more of them teach next to nothing.
"""

from math import floor, inf, log1p, sqrt

import msgspec

MOST = 10**9  # measurements in one batch; a rule asks for infinitely many where a value is known for sure
ENDLESS = 10**18  # stands for infinitely many, and is always capped


class RepeatValue(msgspec.Struct, frozen=True):
    """A candidate's variance σ², its noise λ, the variance τ² of set-ups; the costs of a switch and a measurement."""

    variance: float
    noise: float
    setup: float = 0.0
    switch: float = 0.0
    cost: float = 1.0

    def gain(self, repeats: float) -> float:
        """log(1 + σ²/(τ² + λ/B)): what a batch adds to the log-determinant."""
        return log1p(self.variance / (self.setup + self.noise / repeats))

    def staleness(self, repeats: float) -> float:
        """√(1 + σ²/(τ² + λ/B)): by how much a batch can shrink any standard deviation."""
        return sqrt(1 + self.variance / (self.setup + self.noise / repeats))

    def limited(self, repeats: int) -> int:
        """No more than teach something: λ/τ²."""
        most = self.noise / self.setup if self.setup > 0 else inf
        return repeats if repeats <= most else max(1, floor(most))

    def paying(self) -> int:
        """The number of repeats that learns most for its cost: argmax of gain(B)/(switch + cost·B)."""
        if self.switch <= 0 or self.variance <= 0:
            return 1

        def rising(B: int) -> bool:
            here, there = (self.gain(b) / (self.switch + self.cost * b) for b in (B, B + 1))
            return there > here

        low, high = 0, 1
        while high < MOST and rising(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if rising(middle) else (low, middle)
        return self.limited(high)
