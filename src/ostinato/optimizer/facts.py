"""What happens to an optimiser, as facts: batches are asked for, told of, closed. And what decisions rest on besides.

They are small: a batch of a million repeats is one line with a count, a mean and squared deviations. What storage keeps
is these and the log of values, never a matrix.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec.structs import replace

from ostinato.learning import FitState
from ostinato.measurements.batches import BatchFacts
from ostinato.measurements.feedback import Feedback
from ostinato.measurements.robust import Limits
from ostinato.policies import Proposal
from ostinato.posterior import Drawn
from ostinato.records import Batch


class OutlierReview(msgspec.Struct, frozen=True):
    """The single values that were checked for outliers, by their numbers.

    outliers: those that are set aside, each with its candidate. cleared: those that fit after all. until: how many
    measurements were checked.
    """

    outliers: dict[int, int] = msgspec.field(default_factory=dict[int, int], name="aside")  # as stored
    cleared: frozenset[int] = frozenset()
    until: int = 0


class DecisionState(msgspec.Struct, frozen=True):
    """What the next decision rests on besides measurements: randomness, a round that is not handed out yet, how many
    rounds there were, the last fit, which values were judged, how many measurements came before the first decision, and
    the inducing set of a sparse model.
    """

    random: dict[str, Any]
    round: list[Proposal] = []
    fit_state: FitState | None = msgspec.field(default=None, name="learnt")  # as older studies have it
    outlier_review: OutlierReview = msgspec.field(default=OutlierReview(), name="looked")  # as stored
    began: int | None = None
    drawn: Drawn | None = None

    def renumbered(self, number: Callable[[int], int]) -> "DecisionState":
        """The same, where candidates have other numbers."""
        fit, drawn = self.fit_state, self.drawn
        return DecisionState(
            self.random,
            [replace(each, candidate=number(each.candidate)) for each in self.round],
            fit and replace(fit, noises={number(each): noise for each, noise in fit.noises.items()}),
            replace(
                self.outlier_review,
                outliers={value: number(each) for value, each in self.outlier_review.outliers.items()},
            ),
            self.began,
            drawn
            and replace(
                drawn,
                inducing=[number(each) for each in drawn.inducing],
                variances={number(each): variance for each, variance in drawn.variances.items()},
            ),
        )


# Facts


class Asked(msgspec.Struct, frozen=True):
    """A batch was decided. limits: what was expected of its values, with robust=True."""

    batch: Batch
    candidate: int
    limits: Limits | None = None


class Told(msgspec.Struct, frozen=True):
    """Feedback for a batch, or (a number below 0) for what nobody asked for, by candidate. limits: of its batch."""

    batch: int
    feedback: dict[int, Feedback]
    limits: Limits | None = None


class Closed(msgspec.Struct, frozen=True):
    """The repeats of a batch that did not come will not come."""

    batch: int


class Retired(msgspec.Struct, frozen=True):
    """Candidates are not to be measured any more."""

    candidates: frozenset[int]


class Restored(msgspec.Struct, frozen=True):
    """Candidates that were retired may be measured again."""

    candidates: frozenset[int]


class Recalled(msgspec.Struct, frozen=True):
    """A batch, or an observation, and all that became of it: from a storage."""

    facts: BatchFacts
    candidate: int
    limits: Limits | None = None


class Remembered(msgspec.Struct, frozen=True):
    """Single values of what was recalled, in the order told: with robust=True they are looked at again."""

    told: list[Told]


Fact = Asked | Told | Closed | Retired | Restored | Recalled | Remembered
