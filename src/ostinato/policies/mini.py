"""mini-META (Algorithm 2 of the paper): measure the best-scoring candidate as often as it bears.

    repeat:
        x* = argmax over the candidates of the acquisition u
        B  = max(1, floor((C² − 1) λ(x*)/σ²(x*)))
        measure x* B times, and update

Noisy or well-known candidates are repeated, others measured once. After the batch no standard deviation anywhere has
shrunk by more than the factor C, so a decision taken before it is still a good one within it; and every full
batch adds at least log((C² + 1)/2) to the log-determinant, so there can only be few. (The paper's Algorithm 2
divides by σ² without λ, and its floor can be 0: the rule above is the one its proof uses.)

Beyond the paper (`repeat_value.py`): where repeats share the error of a set-up, B ends where they teach nothing; and
where a switch has a cost, B is at least the number that learns most for it.
"""

from dataclasses import dataclass
from math import floor, log

from ostinato.policies.base import above_one
from ostinato.policies.repeat_value import ENDLESS, RepeatValue
from ostinato.policies.scored import RepeatRule


@dataclass(frozen=True)
class MiniMeta(RepeatRule):
    """The mini-META rule of repeats.

    C: how stale the model may get within a batch, above 1. Larger means longer batches and fewer switches.
    """

    C: float = 1.2

    def __post_init__(self) -> None:
        above_one(self.C)

    def __call__(self, repeat_value: RepeatValue) -> int:
        """B = max(1, floor((C² − 1) λ/(σ² − (C² − 1) τ²))); more where going there costs so much that more pay."""
        worth = (self.C**2 - 1) * repeat_value.noise
        unknown = repeat_value.variance - (self.C**2 - 1) * repeat_value.setup
        endless = unknown <= 0 or worth >= ENDLESS * unknown
        within = ENDLESS if endless else max(1, floor(worth / unknown))
        if repeat_value.setup > 0:
            within = repeat_value.limited(within)
        return max(within, repeat_value.paying()) if repeat_value.switch > 0 else within

    @property
    def keeps_within(self) -> float:
        return self.C

    @property
    def gain_of_full_batch(self) -> float:
        """log((C² + 1)/2)."""
        return log((self.C**2 + 1) / 2)
