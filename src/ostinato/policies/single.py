"""One measurement a step (Algorithm 1 of the paper): the usual Gaussian-process optimiser.

The posterior is still the exact one on unique candidates, so returning to a candidate costs no new row.
"""

from dataclasses import dataclass

from ostinato.policies.repeat_value import RepeatValue
from ostinato.policies.scored import RepeatRule


@dataclass(frozen=True)
class Once(RepeatRule):
    """Measure once, then think again."""

    def __call__(self, repeat_value: RepeatValue) -> int:
        return 1
